#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/attention/attention_kernels.h"

namespace strop::kernels {
namespace {

constexpr int64_t kKeyBlock = 256;
constexpr int64_t kFewRows = 4;  // up to this many queries, keys are not packed
constexpr float kLowest = -std::numeric_limits<float>::infinity();

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Scratch of one call, in floats.
struct Layout {
  int64_t keys = 0, values = 0, scores = 0, sums = 0, state = 0;  // starts
  int64_t total = 0;
  int64_t value_width = 0;  // e in whole panels
};

Layout layout_of(const AttentionShape& shape) {
  const int64_t panel = attention_kernels(shape.target).panel;
  const int64_t block = std::min(round_up(shape.n, panel), kKeyBlock);
  const int64_t rows = std::min(shape.m, kAttentionMaxRows);
  Layout layout;
  layout.value_width = round_up(shape.e, panel);
  layout.values = round_up(block * shape.d, 16);
  layout.scores = layout.values + round_up(block * layout.value_width, 16);
  layout.sums = layout.scores + std::min(rows, kAttentionRowBlock) * kKeyBlock;
  layout.state = layout.sums + rows * layout.value_width;
  layout.total = layout.state + 2 * rows;
  return layout;
}

/// One call: queries [first, first + count) of a head against blocks of keys.
class Attend {
 public:
  Attend(const AttentionShape& shape, const AttentionHead& head, int64_t first, int64_t count, float* scratch)
      : shape_(shape),
        head_(head),
        kernels_(attention_kernels(shape.target)),
        layout_(layout_of(shape)),
        first_(first),
        count_(count) {
    keys_ = scratch + layout_.keys;
    values_ = scratch + layout_.values;
    scores_ = scratch + layout_.scores;
    sums_ = scratch + layout_.sums;
    most_ = scratch + layout_.state;
    weight_ = most_ + count;
  }

  void run() {
    std::fill_n(sums_, count_ * layout_.value_width, 0.0f);
    std::fill_n(most_, count_, kLowest);
    std::fill_n(weight_, count_, 0.0f);
    const int64_t end = last_key(first_ + count_ - 1);
    for (int64_t key = 0; key < end; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, end - key);
      const bool few = count_ <= kFewRows && shape_.k_column == 1;
      if (!few) pack_block(key, keys);
      for (int64_t row = 0; row < count_; row += kAttentionRowBlock) {
        const int64_t rows = std::min(kAttentionRowBlock, count_ - row);
        if (last_key(first_ + row + rows - 1) <= key) continue;
        few ? few_rows(row, rows, key, keys) : row_block(row, rows, key, keys);
      }
    }
    finish();
  }

 private:
  // Keys that query i sees: [0, last_key(i)).
  int64_t last_key(int64_t i) const {
    return shape_.causal ? std::clamp<int64_t>(i + shape_.causal_offset + 1, 0, shape_.n) : shape_.n;
  }

  void pack_block(int64_t key, int64_t keys) {
    // Keys are the columns of what queries are multiplied with.
    kernels_.pack({head_.k + key * shape_.k_row, shape_.k_column, shape_.k_row, shape_.d, keys}, keys_,
                  shape_.d * kernels_.panel);
    kernels_.pack({head_.v + key * shape_.v_row, shape_.v_row, 1, keys, shape_.e}, values_, keys * kernels_.panel);
  }

  void row_block(int64_t row, int64_t rows, int64_t key, int64_t keys) {
    const int64_t padded = round_up(keys, kernels_.panel);
    const float* q = head_.q + (first_ + row) * shape_.q_row;
    kernels_.multiply(
        {q, shape_.q_row, keys_, scores_, kKeyBlock, rows, padded, shape_.d, shape_.d * kernels_.panel, false});
    for (int64_t r = 0; r < rows; ++r) softmax_row(row + r, key, keys, padded, scores_ + r * kKeyBlock);
    kernels_.multiply({scores_, kKeyBlock, values_, sums_ + row * layout_.value_width, layout_.value_width, rows,
                       layout_.value_width, keys, keys * kernels_.panel, true});
  }

  void few_rows(int64_t row, int64_t rows, int64_t key, int64_t keys) {
    const int64_t padded = round_up(keys, kernels_.panel);
    for (int64_t r = 0; r < rows; ++r) {
      kernels_.dot_rows(head_.q + (first_ + row + r) * shape_.q_row, head_.k + key * shape_.k_row, shape_.k_row, keys,
                        shape_.d, scores_);
      softmax_row(row + r, key, keys, padded, scores_);
      float* sums = sums_ + (row + r) * layout_.value_width;
      for (int64_t j = 0; j < keys; ++j) {
        kernels_.add_scaled(head_.v + (key + j) * shape_.v_row, shape_.e, scores_[j], sums);
      }
    }
  }

  // Scores of one query and block of keys become weights relative to the running maximum; what was summed up before is
  // scaled to it.
  void softmax_row(int64_t row, int64_t key, int64_t keys, int64_t padded, float* s) {
    const int64_t i = first_ + row;
    const int64_t seen = std::clamp<int64_t>(last_key(i) - key, 0, keys);
    const float scale = finish_scores(i, key, seen, s);
    std::fill(s + seen, s + padded, kLowest);
    const float before = most_[row];
    const float block = kernels_.max_row(s, padded) * scale;
    const float most = std::isnan(before) || before > block ? before : block;
    const float shift = most == kLowest ? 0 : most;  // -inf - -inf would be NaN: such keys count for nothing yet
    const float factor = before == most && std::isfinite(most) ? 1 : std::exp(before - shift);
    const float sum = kernels_.exp_row(s, padded, scale, shift);
    weight_[row] = weight_[row] * factor + sum;
    most_[row] = most;
    if (factor != 1 && key > 0) {
      float* sums = sums_ + row * layout_.value_width;
      kernels_.scale(sums, layout_.value_width, factor, sums);
    }
  }

  // Caps and masks the products of query i. Returns what they are still to be multiplied with.
  float finish_scores(int64_t i, int64_t key, int64_t seen, float* s) const {
    if (head_.masks.empty() && shape_.softcap == 0 && shape_.scale > 0) return shape_.scale;
    ScoreChange change{shape_.scale, shape_.softcap, nullptr};
    bool pending = true;  // the change; a first mask of floats joins it
    for (const AttentionMask& mask : head_.masks) {
      const int64_t at = i * mask.row + key * mask.column;
      const bool floats = !mask.is_bool && mask.column == 1;
      if (floats) change.mask = static_cast<const float*>(mask.data) + at;
      if (pending || floats) kernels_.change_scores(s, seen, change);
      pending = false;
      change = {};
      if (!floats) apply_mask(mask, at, seen, s);
    }
    if (pending) kernels_.change_scores(s, seen, change);
    return 1;
  }

  void apply_mask(const AttentionMask& mask, int64_t at, int64_t seen, float* s) const {
    if (!mask.is_bool) {
      const float value = static_cast<const float*>(mask.data)[at];
      for (int64_t j = 0; j < seen; ++j) s[j] += value;
      return;
    }
    const uint8_t* bytes = static_cast<const uint8_t*>(mask.data) + at;
    if (mask.column == 1) {
      kernels_.apply_bool_mask(s, bytes, seen);
    } else if (bytes[0] == 0) {
      std::fill_n(s, seen, kLowest);
    }
  }

  void finish() {
    for (int64_t row = 0; row < count_; ++row) {
      float* out = head_.out + (first_ + row) * shape_.out_row;
      if (most_[row] == kLowest && shape_.n > 0) {
        std::fill_n(out, shape_.e, shape_.zero_if_masked ? 0.0f : std::numeric_limits<float>::quiet_NaN());
      } else {
        kernels_.scale(sums_ + row * layout_.value_width, shape_.e, shape_.n > 0 ? 1 / weight_[row] : 0.0f, out);
      }
    }
  }

  const AttentionShape& shape_;
  const AttentionHead& head_;
  const AttentionKernels& kernels_;
  const Layout layout_;
  const int64_t first_, count_;
  float* keys_;
  float* values_;
  float* scores_;
  float* sums_;
  float* most_;
  float* weight_;
};

}  // namespace

int64_t attention_workspace_bytes(const AttentionShape& shape) {
  return round_up(layout_of(shape).total * static_cast<int64_t>(sizeof(float)), 64);
}

void attend(const AttentionShape& shape, const AttentionHead& head, int64_t first, int64_t count, void* workspace) {
  STROP_CHECK(count <= kAttentionMaxRows && (shape.k_row == 1 || shape.k_column == 1 || shape.n <= 1 || shape.d <= 1),
              "bad call");
  if (count > 0) Attend(shape, head, first, count, static_cast<float*>(workspace)).run();
}

}  // namespace strop::kernels
