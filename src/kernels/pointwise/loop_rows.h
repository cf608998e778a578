/// Tables of function loops, one per source file and CPU target. Private to this folder.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu_target.h"
#include "kernels/pointwise/tile_loop.h"

namespace strop::kernels {

struct LoopRow {
  std::string_view fn;
  std::string_view pattern;
  TileLoop loop;
};

std::span<const LoopRow> f32_arithmetic_rows(CpuTarget target);
std::span<const LoopRow> f32_math_rows(CpuTarget target);
std::span<const LoopRow> i32_rows(CpuTarget target);

}  // namespace strop::kernels
