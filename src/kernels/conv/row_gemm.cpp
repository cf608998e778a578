// ConvMethod::RowGemm. Packed weights: panel_weight_floats in methods.h.
#include <cstring>

#include "kernels/conv/methods.h"

namespace strop::kernels::conv {
namespace {

constexpr int64_t kKBlock = 256;
constexpr int64_t kPixelBlock = 224;
constexpr int64_t kMostRowFloats = 512;  // of one row of the window

const char* why_not(const ConvProblem& problem, CpuTarget) {
  const Window& w = problem.window;
  if (problem.groups != 1) return "one group only";
  if (w.kernel[0] != 1 || w.stride[0] != 1 || w.pad_begin[0] != 0 || w.pad_end[0] != 0)
    return "one- and two-dimensional only";
  if (w.dilation[2] != 1) return "needs dilation 1 along rows";
  if (problem.in_channels > 16) return "for at most 16 input channels";
  if (problem.in_channels * w.kernel[2] > kMostRowFloats) return "a row of the window is too long";
  return nullptr;
}

/// The pixels of one block: `rows` output rows of one image, columns [first, first + width).
struct Patch {
  int64_t image, row, rows, first, width;
};

/// Input floats that one output row segment of `width` pixels needs.
int64_t row_floats(const ConvPlan& plan, int64_t width) {
  const Window& w = plan.problem.window;
  return ((width - 1) * w.stride[2] + w.kernel[2]) * plan.problem.in_channels;
}
int64_t input_rows(const ConvPlan& plan, int64_t rows) {
  const Window& w = plan.problem.window;
  return (rows - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
}

/// Rows of one image and columns per block; whole rows unless a row alone is too long.
int64_t block_width(const ConvPlan& plan) {
  return ceil_div(plan.out[2], ceil_div(plan.out[2], plan.config.pixel_block));
}
int64_t block_rows(const ConvPlan& plan) {
  const int64_t most = std::max<int64_t>(plan.config.pixel_block / block_width(plan), 1);
  return std::min(most, plan.out[1]);
}

void choose(ConvPlan& plan) {
  if (plan.config.k_block <= 0) plan.config.k_block = kKBlock;
  if (plan.config.pixel_block <= 0) plan.config.pixel_block = kPixelBlock;
}

Sections sections_of(const ConvPlan& plan) {
  const int64_t depth = plan.problem.window.kernel[2] * plan.problem.in_channels;
  return {plan.problem.window.kernel[1], depth, std::max(plan.config.k_block, depth)};  // rows are never cut
}

size_t worker_bytes(const ConvPlan& plan) {
  if (plan.out_pixels == 0) return 0;
  const int64_t rows = block_rows(plan);
  const int64_t width = block_width(plan);
  return align_up(static_cast<size_t>(input_rows(plan, rows) * row_floats(plan, width)) * sizeof(float)) +
         align_up(static_cast<size_t>(plan.problem.window.kernel[1] * rows * width) * sizeof(float*));
}

/// Copies input columns [begin, end) of one row to channels-last, dense memory.
void copy_row(const ConvPlan& plan, const float* input, const Place& at, int64_t end, float* to) {
  const ConvProblem& p = plan.problem;
  const int64_t channels = p.in_channels;
  const int64_t count = end - at.w;
  const int64_t row = (at.image * p.in[0] + at.d) * p.in[1] + at.h;
  if (!p.nchw_input) {
    const float* from = input + (row * p.in[2] + at.w) * p.in_pixel_stride;
    if (p.in_pixel_stride == channels) {
      std::memcpy(to, from, static_cast<size_t>(count * channels) * sizeof(float));
      return;
    }
    for (int64_t i = 0; i < count; ++i) std::copy_n(from + i * p.in_pixel_stride, channels, to + i * channels);
    return;
  }
  const int64_t plane = volume(p.in);
  const float* from = input + at.image * channels * plane + (at.d * p.in[1] + at.h) * p.in[2] + at.w;
  if (channels == 3) {  // by far the most frequent
    for (int64_t i = 0; i < count; ++i) {
      to[3 * i] = from[i];
      to[3 * i + 1] = from[plane + i];
      to[3 * i + 2] = from[2 * plane + i];
    }
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < count; ++i) to[i * channels + c] = from[c * plane + i];
  }
}

/// Fills `to` with the padded input of the patch, [input_rows, row_floats].
void copy_patch(const ConvPlan& plan, const float* input, const Patch& patch, float* to) {
  const ConvProblem& p = plan.problem;
  const Window& w = p.window;
  const int64_t floats = row_floats(plan, patch.width);
  const int64_t columns = floats / p.in_channels;
  const int64_t left = patch.first * w.stride[2] - w.pad_begin[2];
  const int64_t begin = std::clamp<int64_t>(left, 0, p.in[2]);
  const int64_t end = std::clamp<int64_t>(left + columns, begin, p.in[2]);
  const int64_t top = patch.row * w.stride[1] - w.pad_begin[1];
  for (int64_t r = 0; r < input_rows(plan, patch.rows); ++r, to += floats) {
    const int64_t h = top + r;
    if (h < 0 || h >= p.in[1] || begin == end) {
      std::fill_n(to, floats, 0.0F);
      continue;
    }
    std::fill_n(to, (begin - left) * p.in_channels, 0.0F);
    copy_row(plan, input, {patch.image / p.in[0], patch.image % p.in[0], h, begin}, end,
             to + (begin - left) * p.in_channels);
    std::fill(to + (end - left) * p.in_channels, to + floats, 0.0F);
  }
}

void run_patch(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Patch& patch,
               int worker) {
  const Window& w = plan.problem.window;
  const IndirectKernels& kernels = indirect_kernels(plan.config.target);
  const int64_t floats = row_floats(plan, patch.width);
  const int64_t pixels = patch.rows * patch.width;
  Scratch scratch(buffers.workspace, worker_bytes(plan), worker);
  auto* input = scratch.take<float>(input_rows(plan, patch.rows) * floats);
  auto* table = scratch.take<const float*>(w.kernel[1] * pixels);
  copy_patch(plan, buffers.input, patch, input);
  for (int64_t kh = 0; kh < w.kernel[1]; ++kh) {
    for (int64_t r = 0; r < patch.rows; ++r) {
      const float* from = input + (r * w.stride[1] + kh * w.dilation[1]) * floats;
      const float** to = table + kh * pixels + r * patch.width;
      for (int64_t i = 0; i < patch.width; ++i) to[i] = from + i * w.stride[2] * plan.problem.in_channels;
    }
  }
  const int64_t first_pixel = (patch.image * plan.out[1] + patch.row) * plan.out[2] + patch.first;
  IndirectBlock block{};
  block.row_pitch = pixels;
  block.pixels = pixels;
  block.channels = plan.problem.out_channels;
  block.panel_floats = volume(w.kernel) * plan.problem.in_channels * kPanel;
  block.out_stride = plan.problem.out_pixel_stride;
  block.out = buffers.output + first_pixel * block.out_stride;
  set_epilogue(block, plan, epilogue, first_pixel, 0);
  const Sections sections = sections_of(plan);
  for (int64_t i = 0; i < sections.count(); ++i) {
    const Section section = sections[i];
    block.rows = table + section.tap * pixels;
    block.taps = section.taps;
    block.depth = section.depth;
    block.weights = buffers.weights + section.tap * section.depth * kPanel;
    block.first = i == 0;
    block.last = i + 1 == sections.count();
    kernels.block(block);
  }
  finish_block(
      plan, buffers, epilogue,
      {.first_pixel = first_pixel, .first_channel = 0, .pixels = pixels, .channels = block.channels, .worker = worker});
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const int64_t images = plan.problem.batch * plan.out[0];
  const int64_t columns = ceil_div(plan.out[2], block_width(plan));
  int64_t row_blocks = ceil_div(plan.out[1], block_rows(plan));
  if (threads.count() > 1 && images * columns * row_blocks < threads.count()) {
    row_blocks = std::min(plan.out[1], ceil_div(threads.count(), images * columns));
  }
  const double work = static_cast<double>(plan.out_pixels * plan.problem.out_channels) *
                      static_cast<double>(plan.problem.in_channels * volume(plan.problem.window.kernel));
  run_tasks(threads, images * row_blocks * columns, work, [&](int64_t index, int worker) {
    const Range width = nth_range(plan.out[2], columns, index % columns);
    const Range rows = nth_range(plan.out[1], row_blocks, index / columns % row_blocks);
    run_patch(plan, buffers, epilogue,
              {index / columns / row_blocks, rows.begin, rows.end - rows.begin, width.begin, width.end - width.begin},
              worker);
  });
}

}  // namespace

const Method kRowGemm{why_not, choose, panel_weight_floats, pack_panel_weights, worker_bytes, run};

}  // namespace strop::kernels::conv
