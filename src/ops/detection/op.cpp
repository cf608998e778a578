#include <algorithm>
#include <array>
#include <numeric>

#include "ops/detection/detection.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

Result<void> infer_non_max_suppression(InferContext& ctx) {
  STROP_ASSIGN(const TensorType boxes, ctx.tensor(0));
  STROP_ASSIGN(const TensorType scores, ctx.tensor(1));
  // (C1) floats.
  if (!is_float(boxes.dtype) || !is_float(scores.dtype)) {
    return violates("(C1) boxes {} and scores {} must be floating point", to_string(boxes), to_string(scores));
  }
  // (C2) shapes.
  if ((boxes.has_rank() && boxes.rank() != 3) || (scores.has_rank() && scores.rank() != 3)) {
    return violates("(C2) boxes {} and scores {} must have rank 3", to_string(boxes), to_string(scores));
  }
  const auto differ = [](const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && !(a == b); };
  if (boxes.has_rank() && differ(boxes.dim(2), Dim(4)))
    return violates("(C2) boxes have {} numbers, not 4", boxes.dim(2).to_string());
  if (boxes.has_rank() && scores.has_rank() &&
      (differ(boxes.dim(0), scores.dim(0)) || differ(boxes.dim(1), scores.dim(2)))) {
    return violates("(C2) boxes {} and scores {} do not match", to_string(boxes), to_string(scores));
  }
  ctx.outputs[0] = Type(DType::I64, {ctx.unbacked(), Dim(3)});
  return {};
}

struct Box {
  double top = 0, left = 0, bottom = 0, right = 0;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_of(const double* numbers, bool center_format) {
  if (center_format) {
    const double half_width = numbers[2] / 2, half_height = numbers[3] / 2;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height, numbers[0] + half_width};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]), std::max(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3])};
}

// Boxes without area overlap nothing.
bool overlap(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0)) return false;
  const double intersection = height * width;
  return intersection / (a.area() + b.area() - intersection) > threshold;
}

std::vector<int64_t> select(const NonMaxSuppressionAttrs& attrs, const std::vector<Box>& boxes, const double* scores) {
  std::vector<int64_t> candidates;
  for (int64_t i = 0; i < std::ssize(boxes); ++i) {
    if (scores[i] > attrs.score_threshold) candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> selected;
  for (const int64_t candidate : candidates) {
    if (std::ssize(selected) >= attrs.max_boxes) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    const bool covered = std::any_of(selected.begin(), selected.end(), [&](int64_t taken) {
      return overlap(boxes[static_cast<size_t>(taken)], box, attrs.iou_threshold);
    });
    if (!covered) selected.push_back(candidate);
  }
  return selected;
}

Result<void> evaluate_non_max_suppression(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<NonMaxSuppressionAttrs>();
  const std::vector<double> numbers = load_f64(ctx.in(0));
  const std::vector<double> scores = load_f64(ctx.in(1));
  const int64_t images = ctx.in(1).dim(0), classes = ctx.in(1).dim(1), count = ctx.in(1).dim(2);
  std::vector<std::vector<int64_t>> selected(static_cast<size_t>(images * classes));
  ctx.threads.run(images * classes, [&](int64_t task, int) {
    std::vector<Box> boxes;
    for (int64_t i = 0; i < count; ++i) {
      boxes.push_back(box_of(numbers.data() + (task / classes * count + i) * 4, attrs.center_format));
    }
    selected[static_cast<size_t>(task)] = select(attrs, boxes, scores.data() + task * count);
  });
  std::vector<int64_t> rows;
  for (int64_t task = 0; task < images * classes; ++task) {
    for (const int64_t box : selected[static_cast<size_t>(task)])
      rows.insert(rows.end(), {task / classes, task % classes, box});
  }
  const int64_t row_count = std::ssize(rows) / 3;
  ctx.outputs[0] = store_i64(DType::I64, {row_count, 3}, rows);
  return {};
}

std::vector<WorkedCase> non_max_suppression_cases() {
  const std::vector<Type> types = {Type(DType::F32, {2, 40, 4}), Type(DType::F32, {2, 3, 40})};
  return {{"corners_f32", NonMaxSuppressionAttrs{false, 5, 0.3, 0.0}, types},
          {"centers_f32", NonMaxSuppressionAttrs{true, 100, 0.1, -1.0}, types, 1, {}, true}};
}

}  // namespace

const Operator kNonMaxSuppression = {
    .name = "NonMaxSuppression",
    .make_attrs = [] { return Attrs(NonMaxSuppressionAttrs{}); },
    .infer = infer_non_max_suppression,
    .evaluate = evaluate_non_max_suppression,
    .cases = non_max_suppression_cases,
};

std::span<const Operator* const> detection_operators() {
  static constexpr std::array kOperators = {&kNonMaxSuppression};
  return kOperators;
}

}  // namespace strop::ops
