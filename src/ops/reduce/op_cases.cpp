#include "ops/reduce/reduce.h"

namespace strop::ops {
namespace {

ReduceAttrs over(ReduceKind kind, std::vector<int64_t> axes, bool keep_dims = true) {
  ReduceAttrs attrs;
  attrs.kind = kind;
  attrs.axes = to_dims(axes);
  attrs.keep_dims = keep_dims;
  return attrs;
}

// x + y before; max(result, 0) + z after.
ReduceAttrs with_programs(ReduceAttrs attrs) {
  const int32_t x = attrs.prologue.add_input(0, DType::F32);
  const int32_t y = attrs.prologue.add_input(1, DType::F32);
  attrs.prologue.outputs = {attrs.prologue.add(Fn::Add, {x, y})};
  const int32_t result = attrs.epilogue.add_input(0, DType::F32);
  const int32_t z = attrs.epilogue.add_input(1, DType::F32);
  attrs.epilogue.outputs = {attrs.epilogue.add(Fn::Add, {attrs.epilogue.add(Fn::Relu, {result}), z})};
  return attrs;
}

ReduceAttrs without_axes(ReduceKind kind) {
  ReduceAttrs attrs = over(kind, {});
  attrs.all_if_empty = false;
  return attrs;
}

Type f32(const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); }

}  // namespace

std::vector<WorkedCase> reduce_cases() {
  using enum ReduceKind;
  const ReduceAttrs rows = over(Mean, {1});
  return {
      {"sum_rows", over(Sum, {1}), {f32({37, 129})}},
      {"sum_rows_dropped", over(Sum, {-1}, false), {f32({5, 7, 300})}},
      {"sum_columns", over(Sum, {0}), {f32({129, 37})}},
      {"sum_middle", over(Sum, {1}), {f32({5, 33, 19})}},
      {"sum_outer_and_inner", over(Sum, {0, 2}), {f32({6, 17, 21})}},
      {"sum_all", over(Sum, {}), {f32({11, 13, 17})}},
      {"sum_apart", over(Sum, {0, 2, 4}), {f32({3, 4, 5, 6, 7})}},
      {"mean_rows", rows, {f32({37, 129})}},
      {"mean_spatial", over(Mean, {2, 3}), {f32({2, 19, 7, 7})}},
      {"mean_spatial_last", over(Mean, {1, 2}), {f32({2, 7, 7, 40})}},
      {"max_rows", over(Max, {1}), {f32({37, 129})}},
      {"max_columns", over(Max, {0}), {f32({65, 37})}},
      {"min_rows", over(Min, {1}), {f32({9, 70})}},
      {"prod_rows", over(Prod, {1}), {f32({37, 9})}},
      {"l1_rows", over(L1, {1}), {f32({9, 70})}},
      {"l2_rows", over(L2, {1}), {f32({9, 70})}},
      {"l2_columns", over(L2, {0}), {f32({70, 9})}},
      {"log_sum_rows", over(LogSum, {1}), {f32({9, 70})}, 1, {}, true},
      {"log_sum_exp_rows", over(LogSumExp, {1}), {f32({9, 70})}},
      {"log_sum_exp_columns", over(LogSumExp, {0}), {f32({40, 33})}},
      {"sum_square_rows", over(SumSquare, {1}), {f32({9, 70})}},
      {"square_of_each", without_axes(SumSquare), {f32({9, 7})}},
      {"programs_rows", with_programs(rows), {f32({8, 40}), f32({40}), f32({8, 1})}},
      {"programs_columns", with_programs(over(Sum, {0})), {f32({40, 24}), f32({40, 24}), f32({24})}},
      {"one_row", over(Sum, {1}), {f32({1, 5000})}},
      {"empty_sum", over(Sum, {1}), {f32({3, 0})}},
      {"empty_max", over(Max, {1}), {f32({3, 0})}},
      {"no_groups", over(Sum, {1}), {f32({0, 3})}},
      {"scalar", over(Sum, {}), {f32({})}},
      {"sum_i64", over(Sum, {1}), {Type(DType::I64, {4, 9})}},
      {"max_i8", over(Max, {0}), {Type(DType::I8, {9, 5})}},
      {"max_bool", over(Max, {1}), {Type(DType::Bool, {4, 3})}},
      {"mean_f16", rows, {Type(DType::F16, {5, 20})}},
      {"sum_f64", over(Sum, {1}), {Type(DType::F64, {5, 20})}},
  };
}

}  // namespace strop::ops
