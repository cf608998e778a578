/// A prologue or epilogue (see ops/fused.h) of a kernel that works line by line: a line is the last axes of a dense
/// tensor, contiguous in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/pointwise/cpu_tiles.h"
#include "tactics/tactic.h"

namespace strop::tactics {

/// Where a program is found in a problem.
struct LineSite {
  const ops::ScalarProgram& program;
  const TensorType& base;    ///< of the program's operand 0, before it
  int64_t line_axes = 1;     ///< how many last axes are a line
  size_t first_operand = 1;  ///< index of the program's operand 1 among the problem's inputs
};

/// Null: the program can run on lines. Otherwise the reason: it does not give f32, or an operand varies along a part of
/// the line only.
std::optional<std::string> line_program_why_not(const Problem& problem, const LineSite& site);

/// The most last axes (at least 1) for which the program can run on lines; 1 if it cannot at all.
int64_t widest_line(const Problem& problem, LineSite site);

/// The program prepared for concrete dimensions. Empty: does nothing.
class LineProgram {
 public:
  LineProgram() = default;
  LineProgram(const Problem& problem, const LineSite& site);
  bool empty() const { return tiles_ == nullptr; }

  /// A part of a line, and operand 0 there.
  struct Part {
    int64_t line = 0;
    int64_t begin = 0, count = 0;  ///< elements of the line
    const void* in = nullptr;      ///< operand 0's element `begin`
    float* out = nullptr;          ///< may be `in` where operand 0 is f32
  };
  void run(const LaunchArgs& args, const Part& part) const;

 private:
  struct Operand {
    size_t input = 0;
    int64_t element_bytes = 4;
    bool along = false;            ///< varies along the line
    int64_t step = 0;              ///< elements between lines, if there is no table
    std::vector<int64_t> offsets;  ///< per line
  };
  std::shared_ptr<const kernels::TileProgram> tiles_;
  std::vector<Operand> operands_;  // 1, 2, …
};

/// Where a kernel finds the values of a line: in `out` after running the program, or in `in` itself if it is empty.
inline const float* line_values(const LineProgram& program, const LaunchArgs& args, const LineProgram::Part& part) {
  if (program.empty()) return static_cast<const float*>(part.in);
  program.run(args, part);
  return part.out;
}

}  // namespace strop::tactics
