/// Conversion loops of one CPU target. Private to this folder.
#pragma once

#include "kernels/cpu_target.h"
#include "kernels/pointwise/tile_loop.h"

namespace strop::kernels {

struct MemoryTable {
  TileLoop load_f16, load_bf16, load_u8, load_i8, load_u16, load_i16, load_bool, load_u32;
  TileLoop store_f16, store_bf16, store_8, store_16, store_bool, store_u32;
  TileLoop round_f16, round_bf16, wrap_u8, wrap_i8, wrap_u16, wrap_i16;
  TileLoop int_to_float, float_to_int, float_to_bool;
};

const MemoryTable& memory_table(CpuTarget target);

}  // namespace strop::kernels
