/// What detection models do with their boxes.
#pragma once

#include <limits>

#include "ops/operator.h"

namespace strop::ops {

/// Operands boxes [N, B, 4] and scores [N, C, B], floats. Per image and class, boxes of a score above score_threshold
/// are taken from the best score on (equal scores: the first box first), unless they overlap one already taken by more
/// than iou_threshold (intersection over union), at most max_boxes. Result i64 [selected, 3]: image, class, box, in
/// this order. Boxes are two opposite corners (y1, x1, y2, x2), or with center_format (x, y, width, height) of the
/// centre. max_boxes, iou_threshold and score_threshold are late-able.
struct NonMaxSuppressionAttrs {
  bool center_format = false;
  int64_t max_boxes = 0;
  double iou_threshold = 0;
  double score_threshold = -std::numeric_limits<double>::infinity();
  static constexpr auto fields = std::make_tuple(field("center_format", &NonMaxSuppressionAttrs::center_format),
                                                 field("max_boxes", &NonMaxSuppressionAttrs::max_boxes),
                                                 field("iou_threshold", &NonMaxSuppressionAttrs::iou_threshold),
                                                 field("score_threshold", &NonMaxSuppressionAttrs::score_threshold));
};
extern const Operator kNonMaxSuppression;

}  // namespace strop::ops
