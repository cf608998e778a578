/// What the convolution methods share. Private to conv/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/function_ref.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/indirect_kernels.h"

namespace strop::kernels::conv {

/// One method: the functions behind conv.h's.
struct Method {
  const char* (*why_not)(const ConvProblem& problem, CpuTarget target);
  /// Fills in plan.config's zeros; everything else is set.
  void (*choose)(ConvPlan& plan);
  size_t (*weight_floats)(const ConvPlan& plan);
  void (*pack)(const ConvPlan& plan, const float* weights, float* packed);
  size_t (*worker_bytes)(const ConvPlan& plan);
  void (*run)(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads);
};
extern const Method kImplicitGemm;
extern const Method kRowGemm;
extern const Method kDepthwise;
extern const Method kGroupedDirect;
extern const Method kWinograd2;
extern const Method kWinograd4;
extern const Method kTransposed;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr size_t kAlign = 64;
constexpr size_t align_up(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
constexpr int64_t volume(const Extent3& e) { return e[0] * e[1] * e[2]; }

/// Hands out aligned pieces of one worker's part of the workspace.
class Scratch {
 public:
  Scratch(void* workspace, size_t worker_bytes, int worker);
  template <class T>
  T* take(int64_t count) {
    auto* piece = reinterpret_cast<T*>(next_);
    next_ += align_up(static_cast<size_t>(count) * sizeof(T));
    STROP_CHECK(next_ <= end_, "a worker's scratch memory is too small");
    return piece;
  }

 private:
  std::byte* next_;
  std::byte* end_;
};

/// An output pixel's place.
struct Place {
  int64_t image, d, h, w;
};
Place place_of(int64_t pixel, const Extent3& out);

/// How the work is cut: every task is one of `pixel_blocks` runs of tiles and one of `channel_blocks` runs of panels.
struct Partition {
  int64_t items = 0;  ///< tiles, rows…
  int64_t item_blocks = 1;
  int64_t panels = 0;
  int64_t channel_blocks = 1;
};
/// At most `most_items` items and `most_panels` panels per task; fewer as long as the threads want more tasks.
Partition partition(int64_t items, int64_t most_items, int64_t panels, int64_t most_panels, int threads);

struct Range {
  int64_t begin, end;
};
inline Range nth_range(int64_t count, int64_t parts, int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

/// Runs the tasks, inline if the whole is too little work to wake threads for.
void run_tasks(Threads& threads, int64_t tasks, double multiply_adds, FunctionRef<void(int64_t, int)> task);

/// A part of the sum: some taps with all their channels, or some channels of one tap.
struct Section {
  int64_t tap, taps, offset, depth;
};
/// The sections of a sum over taps x depth, each about k_block long.
class Sections {
 public:
  Sections(int64_t taps, int64_t depth, int64_t k_block);
  int64_t count() const { return tap_blocks_ * depth_blocks_; }
  int64_t most_taps() const { return ceil_div(taps_, tap_blocks_); }
  Section operator[](int64_t index) const;

 private:
  int64_t taps_, depth_, tap_blocks_, depth_blocks_;
};

/// The epilogue's members that a kernel wants, at a place.
inline bool clamps(const ConvEpilogue& e) {
  return e.lo > -std::numeric_limits<float>::infinity() || e.hi < std::numeric_limits<float>::infinity();
}
inline int64_t residual_stride(const ConvPlan& plan, const ConvEpilogue& e) {
  return e.residual_pixel_stride ? e.residual_pixel_stride : plan.problem.out_channels;
}
/// Sets bias, residual, clamp, lo and hi of `block` for the output from this pixel and channel on.
void set_epilogue(IndirectBlock& block, const ConvPlan& plan, const ConvEpilogue& epilogue, int64_t pixel,
                  int64_t channel);
/// Calls epilogue.apply, if there is one.
void finish_block(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, ConvBlock block);

/// Packed weights of a matrix multiplication: [groups][panels of 16 output channels][tap][input channel][16], the last
/// panel's missing channels zero.
size_t panel_weight_floats(const ConvPlan& plan);
void pack_panel_weights(const ConvPlan& plan, const float* weights, float* packed);
/// A path from weights [outs, ins, taps] (strides out_stride, in_stride, 1) to one group's panels over the listed taps.
struct PanelSource {
  const float* weights;
  int64_t outs, ins, out_stride, in_stride;
};
void pack_panels(const PanelSource& source, const int64_t* taps, int64_t tap_count, float* packed);

/// The table of an IndirectBlock: for `pixels` output pixels from `first` on and taps [tap, tap + taps) the address of
/// the input pixel at `input` (batch's first pixel, group's first channel), or `zero` in the padding.
struct TableRequest {
  const float* input;
  const float* zero;
  int64_t first, pixels, tap, taps;
  int64_t pitch;
};
void fill_table(const ConvPlan& plan, const TableRequest& request, const float** table);

}  // namespace strop::kernels::conv
