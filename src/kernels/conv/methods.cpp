#include "kernels/conv/methods.h"

#include <cmath>

namespace strop::kernels::conv {
namespace {

// Multiply-adds below which waking threads costs more than it brings (some 10 µs of one core).
constexpr double kWorthThreads = 2e5;
constexpr int64_t kTasksPerThread = 4;  // even out threads of unequal speed

}  // namespace

Scratch::Scratch(void* workspace, size_t worker_bytes, int worker) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  next_ = reinterpret_cast<std::byte*>((address + kAlign - 1) / kAlign * kAlign) +
          worker_bytes * static_cast<size_t>(worker);
  end_ = next_ + worker_bytes;
}

Place place_of(int64_t pixel, const Extent3& out) {
  Place place{};
  place.w = pixel % out[2];
  pixel /= out[2];
  place.h = pixel % out[1];
  pixel /= out[1];
  place.d = pixel % out[0];
  place.image = pixel / out[0];
  return place;
}

Partition partition(int64_t items, int64_t most_items, int64_t panels, int64_t most_panels, int threads) {
  Partition p{items, ceil_div(items, most_items), panels, ceil_div(panels, most_panels)};
  if (threads == 1) return p;
  const int64_t wanted = int64_t{threads} * kTasksPerThread;
  // Channels first: a block of pixels keeps its input in the caches; then smaller blocks of pixels.
  if (p.item_blocks * p.channel_blocks < wanted) {
    p.channel_blocks =
        std::clamp(ceil_div(wanted, p.item_blocks), p.channel_blocks, std::max(panels / 2, p.channel_blocks));
  }
  if (p.item_blocks * p.channel_blocks < wanted) {
    p.item_blocks = std::clamp(ceil_div(wanted, p.channel_blocks), p.item_blocks, std::max(items / 2, p.item_blocks));
  }
  return p;
}

void run_tasks(Threads& threads, int64_t tasks, double multiply_adds, FunctionRef<void(int64_t, int)> task) {
  if (threads.count() == 1 || tasks == 1 || multiply_adds < kWorthThreads) {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
  } else {
    threads.run(tasks, task);
  }
}

Sections::Sections(int64_t taps, int64_t depth, int64_t k_block) : taps_(taps), depth_(depth) {
  // A section may be half as long again as k_block: cheaper than a short last one.
  depth_blocks_ = 2 * depth <= 3 * k_block ? 1 : ceil_div(depth, k_block);
  if (depth_blocks_ > 1) {
    tap_blocks_ = taps;
  } else {
    tap_blocks_ = 2 * taps * depth <= 3 * k_block ? 1 : std::min(taps, ceil_div(taps * depth, k_block));
  }
}

Section Sections::operator[](int64_t index) const {
  const Range taps = nth_range(taps_, tap_blocks_, index / depth_blocks_);
  const Range depth = nth_range(depth_, depth_blocks_, index % depth_blocks_);
  return {taps.begin, taps.end - taps.begin, depth.begin, depth.end - depth.begin};
}

void set_epilogue(IndirectBlock& block, const ConvPlan& plan, const ConvEpilogue& epilogue, int64_t pixel,
                  int64_t channel) {
  block.bias = epilogue.bias ? epilogue.bias + channel : nullptr;
  block.residual_stride = residual_stride(plan, epilogue);
  block.residual = epilogue.residual ? epilogue.residual + pixel * block.residual_stride + channel : nullptr;
  block.clamp = clamps(epilogue);
  block.lo = epilogue.lo;
  block.hi = epilogue.hi;
}

void finish_block(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, ConvBlock block) {
  if (!epilogue.apply) return;
  block.pixel_stride = plan.problem.out_pixel_stride;
  block.out = buffers.output + block.first_pixel * block.pixel_stride + block.first_channel;
  epilogue.apply(epilogue.context, block);
}

size_t panel_weight_floats(const ConvPlan& plan) {
  return static_cast<size_t>(plan.problem.groups * ceil_div(plan.group_out, kPanel) * kPanel * plan.group_in *
                             volume(plan.problem.window.kernel));
}

void pack_panels(const PanelSource& source, const int64_t* taps, int64_t tap_count, float* packed) {
  for (int64_t panel = 0; panel < source.outs; panel += kPanel) {
    const int64_t present = std::min(kPanel, source.outs - panel);
    for (int64_t t = 0; t < tap_count; ++t) {
      for (int64_t c = 0; c < source.ins; ++c, packed += kPanel) {
        const float* from = source.weights + panel * source.out_stride + c * source.in_stride + taps[t];
        for (int64_t m = 0; m < kPanel; ++m) packed[m] = m < present ? from[m * source.out_stride] : 0.0F;
      }
    }
  }
}

void pack_panel_weights(const ConvPlan& plan, const float* weights, float* packed) {
  const int64_t taps = volume(plan.problem.window.kernel);
  const int64_t group_floats = ceil_div(plan.group_out, kPanel) * kPanel * plan.group_in * taps;
  std::vector<int64_t> all(static_cast<size_t>(taps));
  for (int64_t t = 0; t < taps; ++t) all[static_cast<size_t>(t)] = t;
  for (int64_t g = 0; g < plan.problem.groups; ++g) {
    const PanelSource source{weights + g * plan.group_out * plan.group_in * taps, plan.group_out, plan.group_in,
                             plan.group_in * taps, taps};
    pack_panels(source, all.data(), taps, packed + g * group_floats);
  }
}

void fill_table(const ConvPlan& plan, const TableRequest& request, const float** table) {
  const Window& w = plan.problem.window;
  const Extent3& in = plan.problem.in;
  const int64_t stride = plan.problem.in_pixel_stride;
  const int64_t step = w.stride[2] * stride;
  for (int64_t pixel = 0; pixel < request.pixels;) {
    const Place at = place_of(request.first + pixel, plan.out);
    const int64_t run = std::min(plan.out[2] - at.w, request.pixels - pixel);
    for (int64_t t = 0; t < request.taps; ++t) {
      const int64_t tap = request.tap + t;
      const int64_t kw = tap % w.kernel[2];
      const int64_t kh = tap / w.kernel[2] % w.kernel[1];
      const int64_t kd = tap / w.kernel[2] / w.kernel[1];
      const int64_t d = at.d * w.stride[0] - w.pad_begin[0] + kd * w.dilation[0];
      const int64_t h = at.h * w.stride[1] - w.pad_begin[1] + kh * w.dilation[1];
      const int64_t x = at.w * w.stride[2] - w.pad_begin[2] + kw * w.dilation[2];
      const float** to = table + t * request.pitch + pixel;
      if (d < 0 || d >= in[0] || h < 0 || h >= in[1]) {
        std::fill(to, to + run, request.zero);
        continue;
      }
      // Pixels [begin, end) of the run have their input inside the row.
      const int64_t begin = x >= 0 ? 0 : std::min(run, ceil_div(-x, w.stride[2]));
      const int64_t end = x >= in[2] ? begin : std::max(begin, std::min(run, ceil_div(in[2] - x, w.stride[2])));
      const float* from = request.input + (((at.image * in[0] + d) * in[1] + h) * in[2] + x) * stride;
      std::fill(to, to + begin, request.zero);
      for (int64_t i = begin; i < end; ++i) to[i] = from + i * step;
      std::fill(to + end, to + run, request.zero);
    }
    pixel += run;
  }
}

}  // namespace strop::kernels::conv
