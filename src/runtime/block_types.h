/// The types of a block's values as operators and tactics see them: dimensions as expressions over the block's symbols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tactics/tactic.h"

namespace strop::runtime {

class BlockTypes {
 public:
  /// The inverse of ShapeProgram::lower for every register. A register whose expression grows beyond what any model
  /// needs becomes a symbol of its own, of which nothing is known. Throws DimOverflow.
  explicit BlockTypes(const plan::Block& block);

  /// None for kNone and for values without a type.
  Type of(int32_t value) const;
  Type type(const plan::TypeDesc& desc) const;
  /// The ranges that the block's symbols keep to.
  const std::map<std::string, tactics::Range>& ranges() const { return ranges_; }

 private:
  const plan::Block& block_;
  Dims registers_;
  std::map<std::string, tactics::Range> ranges_;
};

}  // namespace strop::runtime
