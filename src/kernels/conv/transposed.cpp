// ConvMethod::Transposed. Output pixel o receives input pixel i through tap k where o + pad = i * stride + k *
// dilation, so the taps that meet o depend on its phase (o + pad) mod stride, axis by axis. Every tap belongs to one
// phase.
//
// Packed weights: [groups][phases][panels of 16 output channels][taps of the phase][input channel][16].
#include <vector>

#include "kernels/conv/methods.h"

namespace strop::kernels::conv {
namespace {

constexpr int64_t kKBlock = 256;
constexpr int64_t kPixelBlock = 192;

const char* always(const ConvProblem&, CpuTarget) { return nullptr; }

void choose(ConvPlan& plan) {
  if (plan.config.k_block <= 0) plan.config.k_block = kKBlock;
  if (plan.config.pixel_block <= 0) plan.config.pixel_block = kPixelBlock;
}

/// The taps of one axis that belong to a phase: first, first + step, ..., `count` of them.
struct AxisTaps {
  int64_t first, step, count;
};
AxisTaps axis_taps(const Window& w, size_t axis, int64_t phase) {
  AxisTaps taps{0, 1, 0};
  int64_t previous = -1;
  for (int64_t k = 0; k < w.kernel[axis]; ++k) {
    if (k * w.dilation[axis] % w.stride[axis] != phase) continue;
    if (taps.count == 0) taps.first = k;
    if (taps.count == 1) taps.step = k - previous;  // the same ever after: the phase is periodic in k
    previous = k;
    ++taps.count;
  }
  return taps;
}

/// The taps of a phase, and where its weights start, in taps from the first phase.
struct PhaseTaps {
  AxisTaps axis[3];
  int64_t count, before;
};
PhaseTaps phase_taps(const Window& w, const Extent3& phase) {
  PhaseTaps taps{};
  taps.count = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    taps.axis[axis] = axis_taps(w, axis, phase[axis]);
    taps.count *= taps.axis[axis].count;
  }
  for (int64_t d = 0; d <= phase[0]; ++d) {
    const int64_t depth = axis_taps(w, 0, d).count;
    if (d < phase[0]) {
      taps.before += depth * w.kernel[1] * w.kernel[2];
      continue;
    }
    for (int64_t h = 0; h < phase[1]; ++h) taps.before += depth * axis_taps(w, 1, h).count * w.kernel[2];
    for (int64_t x = 0; x < phase[2]; ++x) taps.before += depth * taps.axis[1].count * axis_taps(w, 2, x).count;
  }
  return taps;
}

void pack(const ConvPlan& plan, const float* weights, float* packed) {
  const Window& w = plan.problem.window;
  const int64_t taps = volume(w.kernel);
  const int64_t panels = ceil_div(plan.group_out, kPanel);
  std::vector<int64_t> list;
  for (int64_t g = 0; g < plan.problem.groups; ++g) {
    const PanelSource source{weights + g * plan.group_in * plan.group_out * taps, plan.group_out, plan.group_in, taps,
                             plan.group_out * taps};
    for (int64_t phase = 0; phase < volume(w.stride); ++phase) {
      const Place at = place_of(phase, w.stride);
      const PhaseTaps part = phase_taps(w, {at.d, at.h, at.w});
      list.clear();
      for (int64_t i = 0; i < part.count; ++i) {
        const Place tap = place_of(i, {part.axis[0].count, part.axis[1].count, part.axis[2].count});
        const int64_t kd = part.axis[0].first + tap.d * part.axis[0].step;
        const int64_t kh = part.axis[1].first + tap.h * part.axis[1].step;
        const int64_t kw = part.axis[2].first + tap.w * part.axis[2].step;
        list.push_back((kd * w.kernel[1] + kh) * w.kernel[2] + kw);
      }
      pack_panels(source, list.data(), part.count, packed);
      packed += part.count * panels * plan.group_in * kPanel;
    }
  }
}

size_t worker_bytes(const ConvPlan& plan) {
  return align_up(static_cast<size_t>(plan.group_in) * sizeof(float)) +
         align_up(static_cast<size_t>(volume(plan.problem.window.kernel) * plan.config.pixel_block) * sizeof(float*));
}

/// Columns [columns.begin, columns.end) of one output row, one group, some of its channels.
struct Task {
  int64_t row, group;
  Range columns, channels;
  int worker;
};

/// The output pixels of a task that share a phase: columns first, first + stride, ...
struct PhasePixels {
  Place at;  ///< the first one
  int64_t count;
};

/// The input coordinate that tap k sends to output o, which has its phase; may lie outside.
int64_t source(const Window& w, size_t axis, int64_t o, int64_t k) {
  return (o + w.pad_begin[axis] - k * w.dilation[axis]) / w.stride[axis];  // exact
}

void fill_phase_table(const ConvPlan& plan, const PhaseTaps& taps, const PhasePixels& pixels, const float* input,
                      const float* zero, const float** table) {
  const Window& w = plan.problem.window;
  const Extent3& in = plan.problem.in;
  for (int64_t i = 0; i < taps.count; ++i) {
    const Place tap = place_of(i, {taps.axis[0].count, taps.axis[1].count, taps.axis[2].count});
    const int64_t d = source(w, 0, pixels.at.d, taps.axis[0].first + tap.d * taps.axis[0].step);
    const int64_t h = source(w, 1, pixels.at.h, taps.axis[1].first + tap.h * taps.axis[1].step);
    const int64_t x = source(w, 2, pixels.at.w, taps.axis[2].first + tap.w * taps.axis[2].step);
    const bool inside = d >= 0 && d < in[0] && h >= 0 && h < in[1];
    const int64_t row = ((pixels.at.image * in[0] + d) * in[1] + h) * in[2];
    for (int64_t p = 0; p < pixels.count; ++p) {  // the next pixel of a phase is one input pixel on
      const bool used = inside && x + p >= 0 && x + p < in[2];
      *table++ = used ? input + (row + x + p) * plan.problem.in_pixel_stride : zero;
    }
  }
}

void run_phase(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task,
               const PhasePixels& pixels) {
  const Window& w = plan.problem.window;
  const auto phase = [&](size_t axis, int64_t o) {
    const int64_t p = (o + w.pad_begin[axis]) % w.stride[axis];
    return p < 0 ? p + w.stride[axis] : p;
  };
  const PhaseTaps taps = phase_taps(w, {phase(0, pixels.at.d), phase(1, pixels.at.h), phase(2, pixels.at.w)});
  Scratch scratch(buffers.workspace, worker_bytes(plan), task.worker);
  auto* zero = scratch.take<float>(plan.group_in);
  auto* table = scratch.take<const float*>(taps.count * pixels.count);
  fill_phase_table(plan, taps, pixels, buffers.input + task.group * plan.group_in, zero, table);

  const int64_t pixel = task.row * plan.out[2] + pixels.at.w;
  const int64_t channel = task.group * plan.group_out + task.channels.begin;
  const int64_t panels = ceil_div(plan.group_out, kPanel);
  IndirectBlock block{};
  block.row_pitch = pixels.count;
  block.pixels = pixels.count;
  block.panel_floats = taps.count * plan.group_in * kPanel;
  block.channels = task.channels.end - task.channels.begin;
  block.out = buffers.output + pixel * plan.problem.out_pixel_stride + channel;
  set_epilogue(block, plan, epilogue, pixel, channel);
  block.out_stride = plan.problem.out_pixel_stride * w.stride[2];
  block.residual_stride *= w.stride[2];
  const float* weights = buffers.weights +
                         (task.group * volume(w.kernel) + taps.before) * panels * plan.group_in * kPanel +
                         task.channels.begin / kPanel * block.panel_floats;
  const Sections sections(std::max<int64_t>(taps.count, 1), plan.group_in, plan.config.k_block);
  const int64_t count = taps.count == 0 ? 1 : sections.count();
  for (int64_t i = 0; i < count; ++i) {
    const Section section = sections[i];
    block.rows = table + section.tap * pixels.count;
    block.taps = taps.count == 0 ? 0 : section.taps;
    block.depth = section.depth;
    block.row_offset = section.offset;
    block.weights = weights + (section.tap * plan.group_in + section.offset) * kPanel;
    block.first = i == 0;
    block.last = i + 1 == count;
    indirect_kernels(plan.config.target).block(block);
  }
}

void run_task(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, const Task& task) {
  Scratch scratch(buffers.workspace, worker_bytes(plan), task.worker);
  std::fill_n(scratch.take<float>(plan.group_in), plan.group_in, 0.0F);
  const int64_t step = plan.problem.window.stride[2];
  const int64_t first = task.row * plan.out[2];
  Place at = place_of(first, plan.out);
  for (int64_t i = 0; i < step && task.columns.begin + i < task.columns.end; ++i) {
    at.w = task.columns.begin + i;
    run_phase(plan, buffers, epilogue, task, {at, ceil_div(task.columns.end - at.w, step)});
  }
  finish_block(plan, buffers, epilogue,
               {.first_pixel = first + task.columns.begin,
                .first_channel = task.group * plan.group_out + task.channels.begin,
                .pixels = task.columns.end - task.columns.begin,
                .channels = task.channels.end - task.channels.begin,
                .worker = task.worker});
}

void run(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  const int64_t panels = ceil_div(plan.group_out, kPanel);
  const int64_t most_panels = plan.config.channel_block > 0 ? ceil_div(plan.config.channel_block, kPanel) : panels;
  const int64_t groups = plan.problem.groups;
  const int64_t rows = plan.out_pixels / plan.out[2];
  // No phase of a block has more than pixel_block pixels.
  const int64_t columns = ceil_div(plan.out[2], plan.config.pixel_block * plan.problem.window.stride[2]);
  const Partition cut =
      partition(rows, 1, panels, most_panels, static_cast<int>(ceil_div(threads.count(), groups * columns)));
  const double work = static_cast<double>(plan.out_pixels * plan.problem.out_channels) *
                      static_cast<double>(plan.group_in * volume(plan.problem.window.kernel)) /
                      static_cast<double>(volume(plan.problem.window.stride));
  run_tasks(threads, rows * columns * groups * cut.channel_blocks, work, [&](int64_t index, int worker) {
    const Range part = nth_range(panels, cut.channel_blocks, index % cut.channel_blocks);
    const int64_t rest = index / cut.channel_blocks;
    run_task(plan, buffers, epilogue,
             {rest / groups / columns,
              rest % groups,
              nth_range(plan.out[2], columns, rest / groups % columns),
              {part.begin * kPanel, std::min(part.end * kPanel, plan.group_out)},
              worker});
  });
}

}  // namespace

const Method kTransposed{always, choose, panel_weight_floats, pack, worker_bytes, run};

}  // namespace strop::kernels::conv
