#include "kernels/pointwise/tile_loop.h"

#include <algorithm>

#include "kernels/pointwise/loop_rows.h"
#include "kernels/pointwise/memory_table.h"

namespace strop::kernels {
namespace {

TileLoop find_row(std::span<const LoopRow> rows, std::string_view fn, std::string_view pattern) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const LoopRow& row) { return row.fn == fn && row.pattern == pattern; });
  return found == rows.end() ? nullptr : found->loop;
}

template <class T>
void fill(const TileLoopArgs& args) {
  std::fill_n(static_cast<T*>(args.out), args.n, *static_cast<const T*>(args.a));
}

template <class T>
void gather(const TileLoopArgs& args) {
  const auto& how = *static_cast<const TileGather*>(args.context);
  const auto* a = static_cast<const T*>(args.a);
  auto* out = static_cast<T*>(args.out);
  if (how.table != nullptr) {
    for (int64_t i = 0; i < args.n; ++i) out[i] = a[how.table[args.first + i]];
  } else {
    for (int64_t i = 0; i < args.n; ++i) out[i] = a[i * how.stride];
  }
}

}  // namespace

TileLane lane_of(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::I64:
    case DType::U64:
    case DType::U32: return TileLane::Wide;
    default: return is_float(dtype) ? TileLane::F32 : TileLane::I32;
  }
}

TileLoop find_function_loop(TileLane lane, std::string_view fn, std::string_view pattern, CpuTarget target) {
  if (lane == TileLane::I32) return find_row(i32_rows(target), fn, pattern);
  if (lane != TileLane::F32) return nullptr;
  const TileLoop loop = find_row(f32_arithmetic_rows(target), fn, pattern);
  return loop != nullptr ? loop : find_row(f32_math_rows(target), fn, pattern);
}

bool is_lane_form(DType dtype) {
  return dtype == DType::F32 || dtype == DType::I32 || dtype == DType::F64 || dtype == DType::I64 ||
         dtype == DType::U64;
}

bool has_memory_loops(DType dtype) {
  return is_lane_form(dtype) || find_load_loop(dtype, CpuTarget::Portable) != nullptr;
}

TileLoop find_load_loop(DType dtype, CpuTarget target) {
  const MemoryTable& table = memory_table(target);
  switch (dtype) {
    case DType::F16: return table.load_f16;
    case DType::BF16: return table.load_bf16;
    case DType::U8: return table.load_u8;
    case DType::I8: return table.load_i8;
    case DType::U16: return table.load_u16;
    case DType::I16: return table.load_i16;
    case DType::Bool: return table.load_bool;
    case DType::U32: return table.load_u32;
    default: return nullptr;
  }
}

TileLoop find_store_loop(DType dtype, CpuTarget target) {
  const MemoryTable& table = memory_table(target);
  switch (dtype) {
    case DType::F16: return table.store_f16;
    case DType::BF16: return table.store_bf16;
    case DType::U8:
    case DType::I8: return table.store_8;
    case DType::U16:
    case DType::I16: return table.store_16;
    case DType::Bool: return table.store_bool;
    case DType::U32: return table.store_u32;
    default: return nullptr;
  }
}

TileLoop find_round_loop(DType dtype, CpuTarget target) {
  const MemoryTable& table = memory_table(target);
  switch (dtype) {
    case DType::F16: return table.round_f16;
    case DType::BF16: return table.round_bf16;
    case DType::U8: return table.wrap_u8;
    case DType::I8: return table.wrap_i8;
    case DType::U16: return table.wrap_u16;
    case DType::I16: return table.wrap_i16;
    default: return nullptr;
  }
}

TileLoop find_int_to_float_loop(CpuTarget target) { return memory_table(target).int_to_float; }
TileLoop find_float_to_int_loop(CpuTarget target) { return memory_table(target).float_to_int; }
TileLoop find_float_to_bool_loop(CpuTarget target) { return memory_table(target).float_to_bool; }

TileLoop find_fill_loop(int64_t bytes) { return bytes == 8 ? &fill<uint64_t> : &fill<uint32_t>; }

TileLoop find_gather_loop(int64_t bytes) {
  switch (bytes) {
    case 1: return &gather<uint8_t>;
    case 2: return &gather<uint16_t>;
    case 4: return &gather<uint32_t>;
    default: return &gather<uint64_t>;
  }
}

}  // namespace strop::kernels
