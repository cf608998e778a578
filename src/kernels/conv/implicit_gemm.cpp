// ConvMethod::ImplicitGemm. Packed weights: panel_weight_floats in methods.h.
#include "kernels/conv/methods.h"

namespace strop::kernels::conv {
namespace {

// 256 x 16 floats of weights are half of L1; 256 x 192 floats of input are less than half of an L2 of 512 KiB.
constexpr int64_t kKBlock = 256;
constexpr int64_t kPixelBlock = 192;
// Larger windows get fewer pixels per block, so that the table stays small.
constexpr int64_t kMostTableEntries = 16384;

const char* always(const ConvProblem&, CpuTarget) { return nullptr; }

Sections sections_of(const ConvPlan& plan) {
  return {volume(plan.problem.window.kernel), plan.group_in, plan.config.k_block};
}

void choose(ConvPlan& plan) {
  ConvConfig& config = plan.config;
  if (config.k_block <= 0) config.k_block = kKBlock;
  if (config.pixel_block <= 0) {
    const int64_t fit = kMostTableEntries / sections_of(plan).most_taps();
    config.pixel_block = std::clamp<int64_t>(fit, indirect_kernels(config.target).tile_rows, kPixelBlock);
  }
}

size_t worker_bytes(const ConvPlan& plan) {
  const int64_t tile = indirect_kernels(plan.config.target).tile_rows;
  const int64_t pitch = ceil_div(plan.config.pixel_block, tile) * tile;
  return align_up(static_cast<size_t>(sections_of(plan).most_taps() * pitch) * sizeof(float*)) +
         align_up(static_cast<size_t>(plan.group_in) * sizeof(float));
}

/// One task: some pixels by some channels of one group.
struct Task {
  int64_t group;
  Range pixels, channels;
  int worker;
};

void run_task(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task) {
  const IndirectKernels& kernels = indirect_kernels(plan.config.target);
  const Sections sections = sections_of(plan);
  const int64_t pixels = task.pixels.end - task.pixels.begin;
  const int64_t first_channel = task.group * plan.group_out + task.channels.begin;
  const int64_t panel_floats = volume(plan.problem.window.kernel) * plan.group_in * kPanel;

  Scratch scratch(buffers.workspace, worker_bytes(plan), task.worker);
  auto* zero = scratch.take<float>(plan.group_in);
  std::fill_n(zero, plan.group_in, 0.0F);
  auto* table = scratch.take<const float*>(sections.most_taps() * pixels);

  IndirectBlock block{};
  block.rows = table;
  block.row_pitch = pixels;
  block.pixels = pixels;
  block.panel_floats = panel_floats;
  block.channels = task.channels.end - task.channels.begin;
  block.out_stride = plan.problem.out_pixel_stride;
  block.out = buffers.output + task.pixels.begin * block.out_stride + first_channel;
  set_epilogue(block, plan, epilogue, task.pixels.begin, first_channel);
  const float* weights =
      buffers.weights + (task.group * ceil_div(plan.group_out, kPanel) + task.channels.begin / kPanel) * panel_floats;
  TableRequest request{buffers.input + task.group * plan.group_in, zero, task.pixels.begin, pixels, -1, 0, pixels};
  for (int64_t i = 0; i < sections.count(); ++i) {
    const Section section = sections[i];
    if (section.tap != request.tap) {
      request.tap = section.tap;
      request.taps = section.taps;
      fill_table(plan, request, table);
    }
    block.taps = section.taps;
    block.depth = section.depth;
    block.row_offset = section.offset;
    block.weights = weights + (section.tap * plan.group_in + section.offset) * kPanel;
    block.first = i == 0;
    block.last = i + 1 == sections.count();
    kernels.block(block);
  }
  finish_block(plan, buffers, epilogue,
               {.first_pixel = task.pixels.begin,
                .first_channel = first_channel,
                .pixels = pixels,
                .channels = block.channels,
                .worker = task.worker});
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const int64_t tile = indirect_kernels(plan.config.target).tile_rows;
  const int64_t panels = ceil_div(plan.group_out, kPanel);
  const int64_t most_panels = plan.config.channel_block > 0 ? ceil_div(plan.config.channel_block, kPanel) : panels;
  const int64_t groups = plan.problem.groups;
  const int wanted = static_cast<int>(ceil_div(threads.count(), groups));
  const Partition cut =
      partition(ceil_div(plan.out_pixels, tile), ceil_div(plan.config.pixel_block, tile), panels, most_panels, wanted);
  const double work = static_cast<double>(plan.out_pixels * plan.problem.out_channels) *
                      static_cast<double>(plan.group_in * volume(plan.problem.window.kernel));
  run_tasks(threads, cut.item_blocks * groups * cut.channel_blocks, work, [&](int64_t index, int worker) {
    const Range tiles = nth_range(cut.items, cut.item_blocks, index / cut.channel_blocks / groups);
    const Range part = nth_range(panels, cut.channel_blocks, index % cut.channel_blocks);
    run_task(plan, buffers, epilogue,
             {index / cut.channel_blocks % groups,
              {tiles.begin * tile, std::min(tiles.end * tile, plan.out_pixels)},
              {part.begin * kPanel, std::min(part.end * kPanel, plan.group_out)},
              worker});
  });
}

}  // namespace

const Method kImplicitGemm{always, choose, panel_weight_floats, pack_panel_weights, worker_bytes, run};

}  // namespace strop::kernels::conv
