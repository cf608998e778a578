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

// Output pixels of a row that share one table of pointers: large enough to make its cost small, small enough for L1.
constexpr int64_t kSegment = 32;

/// A kernel and the size of its table: `sliding` ones want input rows and columns, others taps and output pixels.
struct Choice {
  DepthwiseKernels::Function kernel;
  bool sliding;
  int64_t out_rows;  // per tile, at most
  int64_t table_rows, pitch;
};
Choice choice(const ConvPlan& plan) {
  const DepthwiseKernels& kernels = depthwise_kernels(plan.config.target);
  const Window& w = plan.problem.window;
  const int64_t size = w.kernel[2];
  const int64_t stride = w.stride[2];
  const bool slides = plan.method == ConvMethod::Depthwise && plan.group_out == 1 && w.kernel[0] == 1 &&
                      w.kernel[1] == size && (size == 3 || size == 5) && w.dilation[1] == 1 && w.dilation[2] == 1 &&
                      w.stride[1] == stride && stride <= 2;
  if (slides) {
    const auto kernel = size == 3 ? kernels.sliding3[stride - 1] : kernels.sliding5[stride - 1];
    return {kernel, true, 2, stride + size, (kSegment - 1) * stride + size};
  }
  const auto kernel = plan.method == ConvMethod::GroupedDirect ? kernels.grouped
                      : plan.group_out > 1                     ? kernels.multiplied
                                                               : kernels.any;
  return {kernel, false, 1, volume(w.kernel), kSegment};
}

size_t worker_bytes(const ConvPlan& plan) {
  const Choice chosen = choice(plan);
  return align_up(static_cast<size_t>(plan.problem.in_channels) * sizeof(float)) +
         align_up(static_cast<size_t>(chosen.table_rows * chosen.pitch) * sizeof(float*));
}

/// `count` pointers to pixels of one input row, from column `x` on, one every `step` columns.
struct Line {
  int64_t image, d, h, x, step, count;
};
void fill_line(const ConvPlan& plan, const float* input, const float* zero, const Line& line, const float** to) {
  const Extent3& in = plan.problem.in;
  if (line.d < 0 || line.d >= in[0] || line.h < 0 || line.h >= in[1]) {
    std::fill_n(to, line.count, zero);
    return;
  }
  const int64_t begin = line.x >= 0 ? 0 : std::min(line.count, ceil_div(-line.x, line.step));
  const int64_t end = line.x >= in[2] ? begin : std::clamp(ceil_div(in[2] - line.x, line.step), begin, line.count);
  const int64_t stride = plan.problem.in_pixel_stride;
  const float* from = input + (((line.image * in[0] + line.d) * in[1] + line.h) * in[2] + line.x) * stride;
  std::fill(to, to + begin, zero);
  for (int64_t i = begin; i < end; ++i) to[i] = from + i * line.step * stride;
  std::fill(to + end, to + line.count, zero);
}

/// The table for kSegment output pixels from `at` on (those beyond the row get readable pointers, too).
void fill_segment(const ConvPlan& plan, const Choice& chosen, const Place& at, const float* input, const float* zero,
                  const float** table) {
  const Window& w = plan.problem.window;
  const int64_t d = at.d * w.stride[0] - w.pad_begin[0];
  const int64_t h = at.h * w.stride[1] - w.pad_begin[1];
  const int64_t x = at.w * w.stride[2] - w.pad_begin[2];
  for (int64_t row = 0; row < chosen.table_rows; ++row, table += chosen.pitch) {
    if (chosen.sliding) {
      fill_line(plan, input, zero, {at.image, d, h + row, x, 1, chosen.pitch}, table);
      continue;
    }
    const Place tap = place_of(row, w.kernel);
    fill_line(plan, input, zero,
              {at.image, d + tap.d * w.dilation[0], h + tap.h * w.dilation[1], x + tap.w * w.dilation[2], w.stride[2],
               chosen.pitch},
              table);
  }
}

/// What a task knows beside the rows it is working on.
struct Task {
  Range channels;
  int worker;
  float* zero;
  const float** table;
};

DepthwiseTile tile_of(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue,
                      const Task& task) {
  DepthwiseTile tile{};
  tile.taps = volume(plan.problem.window.kernel);
  tile.weights = buffers.weights;
  tile.weight_stride = weight_stride(plan);
  tile.begin = task.channels.begin;
  tile.end = task.channels.end;
  tile.group = plan.method == ConvMethod::GroupedDirect ? plan.group_in : plan.group_out;
  tile.pixel_stride = plan.problem.out_pixel_stride;
  tile.row_stride = tile.pixel_stride * plan.out[2];
  tile.bias = epilogue.bias;
  tile.residual_pixel_stride = residual_stride(plan, epilogue);
  tile.residual_row_stride = tile.residual_pixel_stride * plan.out[2];
  tile.lo = epilogue.lo;
  tile.hi = epilogue.hi;
  return tile;
}

/// `rows` (1 or 2) whole output rows.
void run_rows(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task,
              const Range& rows) {
  const Choice chosen = choice(plan);
  DepthwiseTile tile = tile_of(plan, buffers, epilogue, task);
  tile.out_rows = rows.end - rows.begin;
  tile.row_pitch = chosen.pitch;
  const int64_t first = rows.begin * plan.out[2];
  const int64_t step = chosen.sliding ? kSlidingPixels : kDepthwisePixels;
  const int64_t pointers = chosen.sliding ? plan.problem.window.stride[2] : 1;  // per output pixel
  const int64_t segments = ceil_div(plan.out[2], kSegment);
  Place at = place_of(first, plan.out);
  for (int64_t s = 0; s < segments; ++s) {
    const Range segment = nth_range(plan.out[2], segments, s);
    const int64_t end = segment.end - segment.begin;
    at.w = segment.begin;
    fill_segment(plan, chosen, at, buffers.input, task.zero, task.table);
    for (int64_t i = 0; i < end; i += step) {
      // The last tile overlaps its neighbour rather than being a partial one: computing a pixel twice is cheaper.
      const int64_t start = std::max<int64_t>(std::min(i, end - step), 0);
      const int64_t pixel = first + segment.begin + start;
      tile.rows = task.table + start * pointers;
      tile.pixels = std::min(step, end - start);
      tile.out = buffers.output + pixel * tile.pixel_stride;
      tile.residual = epilogue.residual ? epilogue.residual + pixel * tile.residual_pixel_stride : nullptr;
      chosen.kernel(tile);
    }
  }
  finish_block(plan, buffers, epilogue,
               {.first_pixel = first,
                .first_channel = task.channels.begin,
                .pixels = tile.out_rows * plan.out[2],
                .channels = task.channels.end - task.channels.begin,
                .worker = task.worker});
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const Choice chosen = choice(plan);
  const int64_t channels = plan.problem.out_channels;
  const int64_t panels = ceil_div(channels, kPanel);
  // The items that tasks are made of: as many rows of one image as a kernel computes at once.
  const int64_t per_image = ceil_div(plan.out[1], chosen.out_rows);
  const int64_t items = plan.problem.batch * plan.out[0] * per_image;
  const Partition cut = partition(items, std::max<int64_t>(items / 8, 1), panels,
                                  ceil_div(plan.config.channel_block, kPanel), threads.count());
  const double work = static_cast<double>(plan.out_pixels * channels) *
                      static_cast<double>(plan.group_in * volume(plan.problem.window.kernel));
  run_tasks(threads, cut.item_blocks * cut.channel_blocks, work, [&](int64_t index, int worker) {
    const Range part = nth_range(panels, cut.channel_blocks, index % cut.channel_blocks);
    const Range block = nth_range(items, cut.item_blocks, index / cut.channel_blocks);
    Scratch scratch(buffers.workspace, worker_bytes(plan), worker);
    Task task{{part.begin * kPanel, std::min(part.end * kPanel, channels)}, worker, nullptr, nullptr};
    task.zero = scratch.take<float>(plan.problem.in_channels);
    task.table = scratch.take<const float*>(chosen.table_rows * chosen.pitch);
    std::fill_n(task.zero, plan.problem.in_channels, 0.0F);
    for (int64_t item = block.begin; item < block.end; ++item) {
      const int64_t image = item / per_image * plan.out[1];
      const int64_t row = item % per_image * chosen.out_rows;
      run_rows(plan, buffers, epilogue, task, {image + row, image + std::min(row + chosen.out_rows, plan.out[1])});
    }
  });
}

}  // namespace

const Method kDepthwise{why_not_depthwise, choose, weight_floats, pack, worker_bytes, run};
const Method kGroupedDirect{why_not_grouped, choose, weight_floats, pack, worker_bytes, run};

}  // namespace strop::kernels::conv
