// ConvMethod::Winograd2 and Winograd4: F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (2015). Input tiles of n x n pixels, n = m + 2, are transformed to n * n values per channel; for each of
// those n * n values one matrix multiplication [tiles, in channels] x [in channels, out channels] sums over channels;
// its results are transformed back to m x m output pixels.
//
// Packed weights: [n * n values][panels of 16 output channels][input channel][16], G g G^T computed in double.
#include "kernels/conv/methods.h"
#include "kernels/conv/winograd_kernels.h"

namespace strop::kernels::conv {
namespace {

constexpr int64_t kKBlock = 512;
// Bytes of transformed input and sums per block. Larger than L2 on purpose: each value's part is used while in L1 and
// L2, and more tiles per block mean that the weights, n * n / 9 times the direct method's, are read less often.
constexpr int64_t kBlockBytes = 1 << 20;
// Keeps the n * n streams of the transforms from falling on the same cache sets.
constexpr int64_t kSkew = 16;

const char* why_not(const ConvProblem& problem, CpuTarget) {
  const Window& w = problem.window;
  if (problem.groups != 1) return "one group only";
  if (w.kernel != Extent3{1, 3, 3}) return "3x3 windows only";
  if (w.stride != Extent3{1, 1, 1}) return "stride 1 only";
  if (w.dilation[1] != 1 || w.dilation[2] != 1) return "dilation 1 only";
  if (w.pad_begin[0] != 0 || w.pad_end[0] != 0) return "no padding along depth";
  return nullptr;
}

int64_t tile_size(const ConvPlan& plan) { return plan.method == ConvMethod::Winograd2 ? 2 : 4; }
int64_t values(const ConvPlan& plan) { return (tile_size(plan) + 2) * (tile_size(plan) + 2); }
int64_t panel_count(const ConvPlan& plan) { return ceil_div(plan.problem.out_channels, kPanel); }

/// Tiles per row of tiles, rows of tiles per image, all tiles.
struct Tiling {
  int64_t cols, rows, count;
};
Tiling tiling(const ConvPlan& plan) {
  const int64_t cols = ceil_div(plan.out[2], tile_size(plan));
  const int64_t rows = ceil_div(plan.out[1], tile_size(plan));
  return {cols, rows, plan.problem.batch * plan.out[0] * rows * cols};
}

void choose(ConvPlan& plan) {
  ConvConfig& config = plan.config;
  if (config.k_block <= 0) config.k_block = kKBlock;
  if (config.pixel_block <= 0) {
    const int64_t per_tile =
        values(plan) * (plan.problem.in_channels + panel_count(plan) * kPanel) * static_cast<int64_t>(sizeof(float));
    const int64_t rows = indirect_kernels(config.target).tile_rows;
    config.pixel_block = std::max<int64_t>(kBlockBytes / per_tile / rows, 2) * rows;
  }
}

size_t weight_floats(const ConvPlan& plan) {
  return static_cast<size_t>(values(plan) * panel_count(plan) * kPanel * plan.problem.in_channels);
}

/// Row i of G of F(m, 3); G is [m + 2, 3].
std::array<double, 3> g_row(int64_t m, int64_t i) {
  if (m == 2) {
    constexpr std::array<double, 3> kG2[4] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    return kG2[i];
  }
  if (i == 5) return {0, 0, 1};
  constexpr double kPoints[5] = {0, kPointA, -kPointA, kPointB, -kPointB};
  double scale = 1;  // the product of the distances to the other points
  for (int64_t j = 0; j < 5; ++j) scale *= j == i ? 1 : kPoints[i] - kPoints[j];
  return {1 / scale, kPoints[i] / scale, kPoints[i] * kPoints[i] / scale};
}

double transformed(const float* weights, const std::array<double, 3>& left, const std::array<double, 3>& right) {
  double sum = 0;
  for (size_t y = 0; y < 3; ++y) {
    for (size_t x = 0; x < 3; ++x) sum += left[y] * static_cast<double>(weights[3 * y + x]) * right[x];
  }
  return sum;
}

void pack(const ConvPlan& plan, const float* weights, float* packed) {
  const int64_t n = tile_size(plan) + 2;
  const int64_t ins = plan.problem.in_channels;
  for (int64_t f = 0; f < n * n; ++f) {
    const auto left = g_row(n - 2, f / n);
    const auto right = g_row(n - 2, f % n);
    for (int64_t panel = 0; panel < panel_count(plan); ++panel) {
      for (int64_t c = 0; c < ins; ++c) {
        for (int64_t m = panel * kPanel; m < (panel + 1) * kPanel; ++m) {
          const bool exists = m < plan.problem.out_channels;
          *packed++ = exists ? static_cast<float>(transformed(weights + (m * ins + c) * 9, left, right)) : 0.0F;
        }
      }
    }
  }
}

/// A worker's memory.
struct Space {
  float* zero;           // [in channels]
  float* input;          // [values][tiles][in channels], values `input_pitch` apart
  float* sums;           // [values][tiles][channels of the task, padded], values `sums_pitch` apart
  const float** rows;    // [tiles], of value 0
  const float** pixels;  // [values]
  int64_t input_pitch, sums_pitch;
};
Space take_space(const ConvPlan& plan, Scratch& scratch, int64_t tiles, int64_t channels) {
  Space s{};
  s.input_pitch = tiles * plan.problem.in_channels + kSkew;
  s.sums_pitch = tiles * channels + kSkew;
  s.zero = scratch.take<float>(plan.problem.in_channels);
  s.input = scratch.take<float>(values(plan) * s.input_pitch);
  s.sums = scratch.take<float>(values(plan) * s.sums_pitch);
  s.rows = scratch.take<const float*>(tiles);
  s.pixels = scratch.take<const float*>(values(plan));
  return s;
}

size_t worker_bytes(const ConvPlan& plan) {
  const int64_t tiles = std::min(plan.config.pixel_block, tiling(plan).count);
  const int64_t channels = panel_count(plan) * kPanel;
  const int64_t floats = values(plan) * (tiles * (plan.problem.in_channels + channels) + 2 * kSkew);
  return align_up(static_cast<size_t>(plan.problem.in_channels) * sizeof(float)) +
         align_up(static_cast<size_t>(floats) * sizeof(float)) + kAlign +
         align_up(static_cast<size_t>(tiles) * sizeof(float*)) +
         align_up(static_cast<size_t>(values(plan)) * sizeof(float*));
}

struct Task {
  Range tiles, channels;
  int worker;
};

/// A tile's place: image (and depth), first output row and column.
struct TilePlace {
  int64_t image, row, col;
};
TilePlace tile_place(const ConvPlan& plan, int64_t tile) {
  const Tiling t = tiling(plan);
  const int64_t m = tile_size(plan);
  return {tile / t.cols / t.rows, tile / t.cols % t.rows * m, tile % t.cols * m};
}

void transform_inputs(const ConvPlan& plan, const float* input, const Task& task, const Space& space) {
  const ConvProblem& p = plan.problem;
  const int64_t n = tile_size(plan) + 2;
  const WinogradKernels& kernels = winograd_kernels(plan.config.target, n - 2);
  std::fill_n(space.zero, p.in_channels, 0.0F);
  WinogradInput tile{space.pixels, p.in_channels, space.input, space.input_pitch};
  for (int64_t t = task.tiles.begin; t < task.tiles.end; ++t, tile.to += p.in_channels) {
    const TilePlace at = tile_place(plan, t);
    const float* image = input + at.image * p.in[1] * p.in[2] * p.in_pixel_stride;
    for (int64_t i = 0; i < n * n; ++i) {
      const int64_t h = at.row - p.window.pad_begin[1] + i / n;
      const int64_t w = at.col - p.window.pad_begin[2] + i % n;
      const bool inside = h >= 0 && h < p.in[1] && w >= 0 && w < p.in[2];
      space.pixels[i] = inside ? image + (h * p.in[2] + w) * p.in_pixel_stride : space.zero;
    }
    kernels.input(tile);
  }
}

void multiply(const ConvPlan& plan, const float* weights, const Task& task, const Space& space) {
  const int64_t ins = plan.problem.in_channels;
  const int64_t tiles = task.tiles.end - task.tiles.begin;
  for (int64_t t = 0; t < tiles; ++t) space.rows[t] = space.input + t * ins;
  IndirectBlock block{};
  block.rows = space.rows;
  block.row_pitch = tiles;
  block.pixels = tiles;
  block.taps = 1;
  block.panel_floats = ins * kPanel;
  block.channels = ceil_div(task.channels.end - task.channels.begin, kPanel) * kPanel;
  block.out_stride = block.channels;
  const Sections sections(1, ins, plan.config.k_block);
  for (int64_t f = 0; f < values(plan); ++f) {
    const float* panels = weights + (f * panel_count(plan) + task.channels.begin / kPanel) * block.panel_floats;
    block.out = space.sums + f * space.sums_pitch;
    for (int64_t i = 0; i < sections.count(); ++i) {
      const Section section = sections[i];
      block.depth = section.depth;
      block.row_offset = f * space.input_pitch + section.offset;
      block.weights = panels + section.offset * kPanel;
      block.first = i == 0;
      indirect_kernels(plan.config.target).block(block);
    }
  }
}

void transform_outputs(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task,
                       const Space& space) {
  const int64_t m = tile_size(plan);
  const WinogradKernels& kernels = winograd_kernels(plan.config.target, m);
  WinogradOutput tile{};
  tile.from = space.sums;
  tile.pitch = space.sums_pitch;
  tile.channels = task.channels.end - task.channels.begin;
  tile.pixel_stride = plan.problem.out_pixel_stride;
  tile.row_stride = tile.pixel_stride * plan.out[2];
  tile.bias = epilogue.bias ? epilogue.bias + task.channels.begin : nullptr;
  tile.residual_pixel_stride = residual_stride(plan, epilogue);
  tile.residual_row_stride = tile.residual_pixel_stride * plan.out[2];
  tile.lo = epilogue.lo;
  tile.hi = epilogue.hi;
  const int64_t padded = ceil_div(tile.channels, kPanel) * kPanel;
  for (int64_t t = task.tiles.begin; t < task.tiles.end; ++t, tile.from += padded) {
    const TilePlace at = tile_place(plan, t);
    const int64_t pixel = (at.image * plan.out[1] + at.row) * plan.out[2] + at.col;
    tile.rows = std::min(m, plan.out[1] - at.row);
    tile.cols = std::min(m, plan.out[2] - at.col);
    tile.out = buffers.output + pixel * tile.pixel_stride + task.channels.begin;
    tile.residual =
        epilogue.residual ? epilogue.residual + pixel * tile.residual_pixel_stride + task.channels.begin : nullptr;
    kernels.output(tile);
  }
}

/// Reports the finished pixels, row by row of every run of neighbouring tiles.
void report(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task) {
  if (!epilogue.apply) return;
  const int64_t m = tile_size(plan);
  const int64_t cols = tiling(plan).cols;
  for (int64_t t = task.tiles.begin; t < task.tiles.end;) {
    const int64_t run = std::min(task.tiles.end - t, cols - t % cols);
    const TilePlace at = tile_place(plan, t);
    for (int64_t row = at.row; row < std::min(at.row + m, plan.out[1]); ++row) {
      finish_block(plan, buffers, epilogue,
                   {.first_pixel = (at.image * plan.out[1] + row) * plan.out[2] + at.col,
                    .first_channel = task.channels.begin,
                    .pixels = std::min(run * m, plan.out[2] - at.col),
                    .channels = task.channels.end - task.channels.begin,
                    .worker = task.worker});
    }
    t += run;
  }
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const Tiling all = tiling(plan);
  const int64_t panels = panel_count(plan);
  const int64_t most_panels = plan.config.channel_block > 0 ? ceil_div(plan.config.channel_block, kPanel) : panels;
  int64_t blocks = ceil_div(all.count, plan.config.pixel_block);
  int64_t parts = ceil_div(panels, most_panels);
  if (threads.count() > 1 && blocks * parts < 2 * threads.count()) {
    // Tiles first, as every part of the channels transforms the input anew; but not too few per block of weights.
    const int64_t rows = indirect_kernels(plan.config.target).tile_rows;
    blocks = std::max(blocks, std::min<int64_t>(all.count / (4 * rows), 2 * threads.count()));
    if (blocks * parts < threads.count()) parts = std::min<int64_t>(panels, ceil_div(threads.count(), blocks));
  }
  const double work = static_cast<double>(plan.out_pixels * plan.problem.out_channels) *
                      static_cast<double>(plan.problem.in_channels) * 3;
  run_tasks(threads, blocks * parts, work, [&](int64_t index, int worker) {
    const Range part = nth_range(panels, parts, index % parts);
    const Task task{nth_range(all.count, blocks, index / parts),
                    {part.begin * kPanel, std::min(part.end * kPanel, plan.problem.out_channels)},
                    worker};
    Scratch scratch(buffers.workspace, worker_bytes(plan), worker);
    const Space space = take_space(plan, scratch, task.tiles.end - task.tiles.begin, (part.end - part.begin) * kPanel);
    transform_inputs(plan, buffers.input, task, space);
    multiply(plan, buffers.weights, task, space);
    transform_outputs(plan, buffers, epilogue, task, space);
    report(plan, buffers, epilogue, task);
  });
}

}  // namespace

const Method kWinograd2{why_not, choose, weight_floats, pack, worker_bytes, run};
const Method kWinograd4{why_not, choose, weight_floats, pack, worker_bytes, run};

}  // namespace strop::kernels::conv
