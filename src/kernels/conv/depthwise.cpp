// ConvMethod::Depthwise and ConvMethod::GroupedDirect. Packed weights: [taps][inputs per group][output channels,
// rounded up to a multiple of 16], the missing channels zero.
#include "kernels/conv/depthwise_kernels.h"
#include "kernels/conv/methods.h"

namespace strop::kernels::conv {
namespace {

const char* why_not_depthwise(const ConvProblem& problem, CpuTarget) {
  return problem.groups == problem.in_channels ? nullptr : "needs one input channel per group";
}

const char* why_not_grouped(const ConvProblem& problem, CpuTarget) {
  const int64_t group = problem.in_channels / problem.groups;
  if (problem.in_channels != problem.out_channels) return "needs as many output as input channels";
  if (group > 16 || (group & (group - 1)) != 0) return "needs 1, 2, 4, 8 or 16 channels per group";
  return nullptr;
}

void choose(ConvPlan& plan) {
  ConvConfig& config = plan.config;
  if (config.channel_block <= 0) config.channel_block = ceil_div(plan.problem.out_channels, kPanel) * kPanel;
}

int64_t weight_stride(const ConvPlan& plan) { return ceil_div(plan.problem.out_channels, kPanel) * kPanel; }

size_t weight_floats(const ConvPlan& plan) {
  return static_cast<size_t>(volume(plan.problem.window.kernel) * plan.group_in * weight_stride(plan));
}

void pack(const ConvPlan& plan, const float* weights, float* packed) {
  const int64_t taps = volume(plan.problem.window.kernel);
  const int64_t stride = weight_stride(plan);
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t j = 0; j < plan.group_in; ++j, packed += stride) {
      for (int64_t m = 0; m < plan.problem.out_channels; ++m) packed[m] = weights[(m * plan.group_in + j) * taps + t];
      std::fill(packed + plan.problem.out_channels, packed + stride, 0.0F);
    }
  }
}

/// Which kernel, and how many columns of pointers it wants per row of the window (0: kDepthwiseTile per tap).
struct Choice {
  DepthwiseKernels::Function kernel;
  int64_t columns;
};
Choice choice(const ConvPlan& plan) {
  const DepthwiseKernels& kernels = depthwise_kernels(plan.config.target);
  const Window& w = plan.problem.window;
  if (plan.method == ConvMethod::GroupedDirect) return {kernels.grouped, 0};
  if (plan.group_out > 1) return {kernels.multiplied, 0};
  const bool square = w.kernel[0] == 1 && w.kernel[1] == w.kernel[2] && w.dilation[2] == 1 && w.stride[2] <= 2;
  const int64_t columns = (kDepthwiseTile - 1) * w.stride[2] + w.kernel[2];
  if (square && w.kernel[2] == 3) return {kernels.sliding3[w.stride[2] - 1], columns};
  if (square && w.kernel[2] == 5) return {kernels.sliding5[w.stride[2] - 1], columns};
  return {kernels.any, 0};
}

size_t worker_bytes(const ConvPlan& plan) {
  const Window& w = plan.problem.window;
  const int64_t pointers = std::max(volume(w.kernel) * kDepthwiseTile, w.kernel[1] * choice(plan).columns);
  return align_up(static_cast<size_t>(plan.problem.in_channels) * sizeof(float)) +
         align_up(static_cast<size_t>(pointers) * sizeof(float*));
}

/// Pointers to the input of one tile, as DepthwiseTile::rows wants them.
struct Table {
  const float* input;
  const float* zero;
  int64_t columns;
  const float** to;
};

void fill_tile_table(const ConvPlan& plan, const Place& at, int64_t pixels, Table table) {
  const Window& w = plan.problem.window;
  const Extent3& in = plan.problem.in;
  const int64_t stride = plan.problem.in_pixel_stride;
  const int64_t left = at.w * w.stride[2] - w.pad_begin[2];
  // Sliding kernels read neighbouring columns; the missing pixels of a short tile read the zero row.
  const int64_t steps = table.columns ? 1 : w.kernel[2];
  const int64_t wide = table.columns ? table.columns : kDepthwiseTile;
  const int64_t jump = table.columns ? 1 : w.stride[2];
  const int64_t used = table.columns ? (pixels - 1) * w.stride[2] + w.kernel[2] : pixels;
  for (int64_t kd = 0; kd < w.kernel[0]; ++kd) {
    const int64_t d = at.d * w.stride[0] - w.pad_begin[0] + kd * w.dilation[0];
    for (int64_t kh = 0; kh < w.kernel[1]; ++kh) {
      const int64_t h = at.h * w.stride[1] - w.pad_begin[1] + kh * w.dilation[1];
      const bool inside = d >= 0 && d < in[0] && h >= 0 && h < in[1];
      const float* row = table.input + ((at.image * in[0] + d) * in[1] + h) * in[2] * stride;
      for (int64_t kw = 0; kw < steps; ++kw) {
        for (int64_t i = 0; i < wide; ++i) {
          const int64_t x = left + kw * w.dilation[2] + i * jump;
          *table.to++ = inside && i < used && x >= 0 && x < in[2] ? row + x * stride : table.zero;
        }
      }
    }
  }
}

/// One output row, channels [channels.begin, channels.end).
void run_row(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, int64_t row,
             const Range& channels, int worker) {
  const Choice chosen = choice(plan);
  Scratch scratch(buffers.workspace, worker_bytes(plan), worker);
  auto* zero = scratch.take<float>(plan.problem.in_channels);
  auto* pointers = scratch.take<const float*>(1);
  DepthwiseTile tile{};
  tile.rows = pointers;
  tile.taps = volume(plan.problem.window.kernel);
  tile.weights = buffers.weights;
  tile.weight_stride = weight_stride(plan);
  tile.begin = channels.begin;
  tile.end = channels.end;
  tile.group = plan.method == ConvMethod::GroupedDirect ? plan.group_in : plan.group_out;
  tile.out_stride = plan.problem.out_pixel_stride;
  tile.bias = epilogue.bias;
  tile.residual_stride = residual_stride(plan, epilogue);
  tile.lo = epilogue.lo;
  tile.hi = epilogue.hi;
  const int64_t first = row * plan.out[2];
  Place at = place_of(first, plan.out);
  for (; at.w < plan.out[2]; at.w += kDepthwiseTile) {
    tile.pixels = std::min<int64_t>(kDepthwiseTile, plan.out[2] - at.w);
    fill_tile_table(plan, at, tile.pixels, {buffers.input, zero, chosen.columns, pointers});
    tile.out = buffers.output + (first + at.w) * tile.out_stride;
    tile.residual = epilogue.residual ? epilogue.residual + (first + at.w) * tile.residual_stride : nullptr;
    chosen.kernel(tile);
  }
  finish_block(plan, buffers, epilogue,
               {.first_pixel = first,
                .first_channel = channels.begin,
                .pixels = plan.out[2],
                .channels = channels.end - channels.begin,
                .worker = worker});
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const int64_t channels = plan.problem.out_channels;
  const int64_t panels = ceil_div(channels, kPanel);
  const int64_t rows = plan.out_pixels / plan.out[2];
  const int64_t most_rows = std::max<int64_t>(rows / 16, 1);
  const Partition cut =
      partition(rows, most_rows, panels, ceil_div(plan.config.channel_block, kPanel), threads.count());
  const double work = static_cast<double>(plan.out_pixels * channels) *
                      static_cast<double>(plan.group_in * volume(plan.problem.window.kernel));
  run_tasks(threads, cut.item_blocks * cut.channel_blocks, work, [&](int64_t index, int worker) {
    Scratch scratch(buffers.workspace, worker_bytes(plan), worker);
    std::fill_n(scratch.take<float>(plan.problem.in_channels), plan.problem.in_channels, 0.0F);
    const Range part = nth_range(panels, cut.channel_blocks, index % cut.channel_blocks);
    const Range block = nth_range(rows, cut.item_blocks, index / cut.channel_blocks);
    for (int64_t row = block.begin; row < block.end; ++row) {
      run_row(plan, buffers, epilogue, row, {part.begin * kPanel, std::min(part.end * kPanel, channels)}, worker);
    }
  });
}

}  // namespace

const Method kDepthwise{why_not_depthwise, choose, weight_floats, pack, worker_bytes, run};
const Method kGroupedDirect{why_not_grouped, choose, weight_floats, pack, worker_bytes, run};

}  // namespace strop::kernels::conv
