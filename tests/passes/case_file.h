/// One text test of a pass: what the files of this folder say.
///
///   # what is being shown
///   pass: cancel_views            (or several, separated by spaces: run in this order)
///   knobs: passes.fold_growth=64  (optional: other than the defaults)
///   rounds: 3                     (optional: repeat until nothing changes, at most so often)
///   numerics: approximate         (optional: results may differ by rounding; without it they must be equal)
///   inputs: positive | none       (optional: floats from (0.1, 2) instead of normal; none: the graphs are not
///   evaluated)
///   --- before
///   graph …
///   --- after
///   graph …                       (left out: the pass must change nothing)
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace strop::passes {

struct CaseFile {
  std::vector<std::string> passes;
  std::string knobs;
  int rounds = 1;
  bool approximate = false;
  bool positive = false;
  bool evaluated = true;
  std::string before;
  std::string after;  ///< equal to `before` if the file has none
};

/// Error: the line that is not understood.
Result<CaseFile> parse_case(const std::string& text);

}  // namespace strop::passes
