/// The loops that tile programs are made of. A loop handles one instruction over one tile, whose elements are held in
/// one of three forms (lanes), each contiguous.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu_target.h"
#include "tensor/dtype.h"

namespace strop::kernels {

/// How a tile holds the elements of a dtype.
enum class TileLane : uint8_t {
  F32,   ///< float: f32, and every narrower floating type, rounded to it after each instruction
  I32,   ///< int32_t: bool (0 or 1) and the integers that it holds exactly
  Wide,  ///< double for f64; int64_t for i64, u64 (its bits) and u32
};
TileLane lane_of(DType dtype);
inline int64_t lane_bytes(TileLane lane) { return lane == TileLane::Wide ? 8 : 4; }

/// `a`, `b`, `c` are the instruction's operands; unused ones are null. `out` may be one of them.
struct TileLoopArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* out = nullptr;
  int64_t n = 0;      ///< elements
  int64_t first = 0;  ///< index of the tile's first element within the run, for loops with a table
  const void* context = nullptr;
};
using TileLoop = void (*)(const TileLoopArgs& args);

/// The loop of scalar function `fn` ("Add", see ops/scalar_program.h for the meanings) on tiles of `lane`, or null if
/// there is none. `pattern` has a letter per operand: v for a tile, s for one value that stands for all elements.
/// Comparisons and tests give I32. Floating results are not rounded below f32; I32 results are not wrapped.
TileLoop find_function_loop(TileLane lane, std::string_view fn, std::string_view pattern, CpuTarget target);

/// From elements in memory to their lane and back; null where memory already has the lane's form, or for types that no
/// loop knows (see has_memory_loops). Stores round to nearest even, and wrap.
TileLoop find_load_loop(DType dtype, CpuTarget target);
TileLoop find_store_loop(DType dtype, CpuTarget target);
/// Whether memory of the dtype is the lane's form itself.
bool is_lane_form(DType dtype);
bool has_memory_loops(DType dtype);

/// Rounds F32 tiles to f16 or bf16, or wraps I32 tiles to a narrower integer; null for others.
TileLoop find_round_loop(DType dtype, CpuTarget target);
/// I32 to F32, F32 to I32 (toward zero, modulo 2^32; NaN and infinities give 0), F32 to bool.
TileLoop find_int_to_float_loop(CpuTarget target);
TileLoop find_float_to_int_loop(CpuTarget target);
TileLoop find_float_to_bool_loop(CpuTarget target);

/// Repeats a's first value n times. `bytes` is 4 or 8.
TileLoop find_fill_loop(int64_t bytes);

/// Reads elements of `bytes` (1, 2, 4, 8) at a distance, or by a table of offsets. `context` points to a TileGather.
struct TileGather {
  int64_t stride = 0;              ///< elements; a points to the tile's first element
  const int32_t* table = nullptr;  ///< element offsets of the whole run, if not null; a points to the run's base
};
TileLoop find_gather_loop(int64_t bytes);

}  // namespace strop::kernels
