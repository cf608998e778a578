#include "ops/pointwise/cpu_generic.h"

#include <algorithm>

namespace strop::ops {
namespace {

using kernels::TileLane;

constexpr int64_t kBlock = 128;

/// count elements of a tile, or its only one repeated, as the reference holds them.
void widen(const GenericInstr::Side& side, const void* tile, int64_t first, int64_t count, ScalarValue* out) {
  const int64_t step = side.repeated ? 0 : 1;
  const int64_t begin = first * step;
  switch (kernels::lane_of(side.dtype)) {
    case TileLane::F32:
      for (int64_t i = 0; i < count; ++i) out[i].number = static_cast<const float*>(tile)[begin + i * step];
      return;
    case TileLane::I32:
      for (int64_t i = 0; i < count; ++i) out[i].integer = static_cast<const int32_t*>(tile)[begin + i * step];
      return;
    case TileLane::Wide:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<const ScalarValue*>(tile)[begin + i * step];
      return;
  }
}

void narrow(DType dtype, const ScalarValue* values, int64_t first, int64_t count, void* tile) {
  switch (kernels::lane_of(dtype)) {
    case TileLane::F32:
      for (int64_t i = 0; i < count; ++i) static_cast<float*>(tile)[first + i] = static_cast<float>(values[i].number);
      return;
    case TileLane::I32:
      for (int64_t i = 0; i < count; ++i)
        static_cast<int32_t*>(tile)[first + i] = static_cast<int32_t>(values[i].integer);
      return;
    case TileLane::Wide: std::copy(values, values + count, static_cast<ScalarValue*>(tile) + first); return;
  }
}

/// Whether the tiles already are what the reference computes on.
bool is_direct(const GenericInstr& generic) {
  if (kernels::lane_of(generic.instr.dtype) != TileLane::Wide) return false;
  for (int k = 0; k < arity(generic.instr.fn); ++k) {
    const auto& side = generic.args[static_cast<size_t>(k)];
    if (side.repeated || kernels::lane_of(side.dtype) != TileLane::Wide) return false;
  }
  return true;
}

}  // namespace

void generic_loop(const kernels::TileLoopArgs& args) {
  const auto& generic = *static_cast<const GenericInstr*>(args.context);
  if (is_direct(generic)) {
    return evaluate_block(generic.instr, generic.operand,
                          {static_cast<const ScalarValue*>(args.a), static_cast<const ScalarValue*>(args.b),
                           static_cast<const ScalarValue*>(args.c), static_cast<ScalarValue*>(args.out), args.n});
  }
  ScalarValue values[4][kBlock];
  const void* tiles[] = {args.a, args.b, args.c};
  const int count = arity(generic.instr.fn);
  for (int64_t first = 0; first < args.n; first += kBlock) {
    const int64_t length = std::min(kBlock, args.n - first);
    for (int k = 0; k < count; ++k) widen(generic.args[static_cast<size_t>(k)], tiles[k], first, length, values[k]);
    evaluate_block(generic.instr, generic.operand,
                   {values[0], count > 1 ? values[1] : nullptr, count > 2 ? values[2] : nullptr, values[3], length});
    narrow(generic.instr.dtype, values[3], first, length, args.out);
  }
}

}  // namespace strop::ops
