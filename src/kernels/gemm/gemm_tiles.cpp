#include <algorithm>

#include "kernels/gemm/gemm_run.h"

namespace strop::kernels::gemm {
namespace {

// Columns of C that one call of the callback sees at most, rows being limited by mc: the block stays in L2.
constexpr int64_t kCallbackColumns = 128;

/// Panels of B, all `width` columns wide.
struct Panels {
  const float* b;
  int64_t ldb;
  int64_t panel_stride;
  int64_t width;
};

/// B for a range of columns: whole panels, and the narrower one at the right edge of the matrix.
struct PanelsOfB {
  int64_t col;  ///< first column
  int64_t k;    ///< first row
  Panels whole;
  Panels last;
};

/// A rectangle of one item's C.
struct Region {
  int64_t batch, row, rows, col, cols;
};

/// Part of the range of k.
struct Section {
  int64_t begin, length;
};

/// Packs the region's columns, for k in the section.
void pack_columns(const Call& call, const Region& columns, const Section& k, float* packed) {
  const GemmProblem& p = call.problem;
  const float* b = call.b + columns.batch * p.stride_b;
  b += p.trans_b ? columns.col * p.ldb + k.begin : k.begin * p.ldb + columns.col;
  pack_panels({k.length, columns.cols, p.trans_b, p.ldb, b, packed}, call.config.nr, *call.kernels);
}

/// Panels of `columns` that were packed by pack_b or pack_panels for the section.
PanelsOfB packed_panels(const Call& call, const Region& columns, const Section& k, const float* packed) {
  const int64_t nr = call.config.nr;
  const int64_t last_cols = columns.cols % nr;  // not 0 only at the right edge of the matrix
  const int64_t last_width = round_up(last_cols, call.kernels->lanes);
  const float* last = packed + (columns.cols - last_cols) * k.length;
  return {columns.col, k.begin, {packed, nr, nr * k.length, nr}, {last, last_width, 0, last_width}};
}

/// Finds the panels of B for a task, all of k; for BSource::PerTask see pack_portion.
PanelsOfB find_b(const Call& call, const Region& task, int worker) {
  const GemmProblem& p = call.problem;
  const Section all{0, p.k};
  if (call.plan.b_source == BSource::Shared) return packed_panels(call, task, all, call.shared + task.col * p.k);
  const float* b = call.b + task.batch * p.stride_b;
  if (call.plan.b_source == BSource::Packed) return packed_panels(call, task, all, b + task.col * p.k);
  Region last = task;
  last.cols = task.cols % call.config.nr;
  last.col = task.col + task.cols - last.cols;
  float* scratch = call.b_scratch(worker);
  if (last.cols > 0) pack_columns(call, last, all, scratch);
  PanelsOfB panels = packed_panels(call, last, all, scratch);
  panels.col = task.col;
  panels.whole = {b + task.col, p.ldb, call.config.nr, call.config.nr};
  return panels;
}

/// BSource::PerTask: B for some columns and one section of k, packed while it is needed and no earlier, so that it is
/// read from cache.
PanelsOfB pack_portion(const Call& call, const Region& columns, const Section& k, int worker) {
  float* scratch = call.b_scratch(worker);
  pack_columns(call, columns, k, scratch);
  return packed_panels(call, columns, k, scratch);
}

/// Sets A for a block: in place, or interleaved in the worker's scratch.
void prepare_a(const Call& call, const Region& block, const Section& k, int worker, BlockArgs& args) {
  const GemmProblem& p = call.problem;
  const float* a = call.a + block.batch * p.stride_a;
  a += p.trans_a ? k.begin * p.lda + block.row : block.row * p.lda + k.begin;
  args.packed_a = call.plan.copy_a;
  args.lda = p.lda;
  args.a = a;
  if (!call.plan.copy_a) return;
  float* copy = call.a_scratch(worker);
  call.kernels->pack_a({a, p.lda, p.trans_a, block.rows, call.config.mr, k.length, copy});
  args.a = copy;
}

/// The target of a block's sums and level one of the epilogue: everything that is added joins the first section of k,
/// later sections add to C, the last one clamps. C is read before it is written, so that the residual may be C.
void set_output(const Call& call, const Region& region, const Section& k, BlockArgs& args) {
  const GemmProblem& p = call.problem;
  const GemmEpilogue& e = call.epilogue;
  args.c = call.c + region.batch * p.stride_c + region.row * p.ldc + region.col;
  args.ldc = p.ldc;
  args.bias = args.row_bias = args.add = nullptr;
  if (k.begin > 0) {
    args.add = args.c;
    args.ld_add = p.ldc;
  } else {
    if (e.bias) args.bias = e.bias + region.col;
    if (e.row_bias) args.row_bias = e.row_bias + region.row;
    if (e.residual) args.add = e.residual + region.batch * e.stride_r + region.row * e.ldr + region.col;
    args.ld_add = e.ldr;
  }
  args.clamp = k.begin + k.length == p.k && call.has_clamp();
  args.lo = e.lo;
  args.hi = e.hi;
}

/// Panels, and where a region begins in them.
struct PanelsFrom {
  const Panels& panels;
  int64_t first;    ///< the region's first panel
  int64_t first_k;  ///< the panels' first row of B
};

/// `region` must lie within whole panels or be (part of) the narrow one.
void multiply_panels(const Call& call, const Region& region, const Section& k, const PanelsFrom& from, BlockArgs args) {
  const Panels& panels = from.panels;
  set_output(call, region, k, args);
  args.b = panels.b + from.first * panels.panel_stride + (k.begin - from.first_k) * panels.ldb;
  args.ldb = panels.ldb;
  args.panel_stride = panels.panel_stride;
  args.panels = ceil_div(region.cols, panels.width);
  args.vectors = panels.width / call.kernels->lanes;
  args.cols = std::min(region.cols, panels.width);
  call.kernels->block(args);
}

/// One block of A times the columns of `block`, over one section of k; calls back for finished columns.
void multiply_block(const Call& call, const Region& block, const PanelsOfB& b, const Section& k, int worker) {
  const int64_t nr = call.config.nr;
  const GemmEpilogue& epilogue = call.epilogue;
  BlockArgs args{};
  prepare_a(call, block, k, worker, args);
  args.rows = block.rows;
  args.mr = call.config.mr;
  args.split_k = call.problem.m <= 3 && !args.packed_a;
  args.k = k.length;
  const bool call_back = epilogue.apply != nullptr && k.begin + k.length == call.problem.k;
  const int64_t step = call_back ? std::max<int64_t>(kCallbackColumns / nr, 1) * nr : block.cols;
  for (int64_t j = 0; j < block.cols; j += step) {
    Region part = block;
    part.col += j;
    part.cols = std::min(step, block.cols - j);
    const int64_t panel = (part.col - b.col) / nr;
    const int64_t whole_cols = part.cols / nr * nr;
    if (whole_cols > 0) {
      multiply_panels(call, {part.batch, part.row, part.rows, part.col, whole_cols}, k, {b.whole, panel, b.k}, args);
    }
    if (whole_cols < part.cols) {
      const Region edge{part.batch, part.row, part.rows, part.col + whole_cols, part.cols - whole_cols};
      multiply_panels(call, edge, k, {b.last, 0, b.k}, args);
    }
    if (call_back) {
      const GemmProblem& p = call.problem;
      float* c = call.c + part.batch * p.stride_c + part.row * p.ldc + part.col;
      epilogue.apply(epilogue.context, {c, p.ldc, part.batch, part.row, part.col, part.rows, part.cols, worker});
    }
  }
}

void compute_task(const Call& call, const Region& task, int worker) {
  const GemmConfig& config = call.config;
  const int64_t k = call.problem.k;
  const int64_t nc = call.plan.cols_per_portion;
  const bool pack = call.plan.b_source == BSource::PerTask;
  PanelsOfB b{};
  if (!pack) b = find_b(call, task, worker);
  for (int64_t jc = 0; jc < task.cols; jc += nc) {
    const Region columns{task.batch, task.row, task.rows, task.col + jc, std::min(nc, task.cols - jc)};
    int64_t begin = 0;
    do {  // once even if k is 0
      const Section section{begin, std::min(config.kc, k - begin)};
      if (pack) b = pack_portion(call, columns, section, worker);
      for (int64_t ic = 0; ic < task.rows; ic += config.mc) {
        const int64_t rows = std::min(config.mc, task.rows - ic);
        multiply_block(call, {task.batch, task.row + ic, rows, columns.col, columns.cols}, b, section, worker);
      }
      begin += section.length;
    } while (begin < k);
  }
}

void multiply(const Call& call, int64_t first_batch, int64_t batches, Threads& threads) {
  const Plan& plan = call.plan;
  const int64_t per_item = plan.grid_m * plan.grid_n;
  const int64_t grain = batches == call.problem.batch ? plan.unit_grain : 1;
  parallel_for(threads, batches * per_item, grain, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t in_item = unit % per_item;
      Region task{};
      task.batch = first_batch + unit / per_item;
      task.row = in_item % plan.grid_m * plan.rows_per_task;  // neighbouring tasks share columns of B
      task.col = in_item / plan.grid_m * plan.cols_per_task;
      task.rows = std::min(plan.rows_per_task, call.problem.m - task.row);
      task.cols = std::min(plan.cols_per_task, call.problem.n - task.col);
      compute_task(call, task, worker);
    }
  });
}

void pack_shared(const Call& call, int64_t batch, Threads& threads) {
  const GemmProblem& p = call.problem;
  const int64_t nr = call.config.nr;
  const int64_t panels = ceil_div(p.n, nr);
  const int64_t grain = ceil_div(panels, call.plan.grid_m * call.plan.grid_n);
  parallel_for(threads, panels, grain, [&](int64_t begin, int64_t end, int) {
    const int64_t col = begin * nr;
    pack_columns(call, {batch, 0, p.m, col, std::min(end * nr, p.n) - col}, {0, p.k}, call.shared + col * p.k);
  });
}

}  // namespace

void run_tiles(const Call& call, Threads& threads) {
  const GemmProblem& p = call.problem;
  if (call.plan.b_source != BSource::Shared) return multiply(call, 0, p.batch, threads);
  if (p.stride_b == 0) {
    pack_shared(call, 0, threads);
    return multiply(call, 0, p.batch, threads);
  }
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    pack_shared(call, batch, threads);
    multiply(call, batch, 1, threads);
  }
}

}  // namespace strop::kernels::gemm
