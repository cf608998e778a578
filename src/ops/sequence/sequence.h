/// Sequences of tensors, and optional values.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// A sequence of the operands (none: empty); `element` is the type of an empty one's elements.
struct SequenceConstructAttrs {
  Type element;
  static constexpr auto fields = std::make_tuple(field("element", &SequenceConstructAttrs::element));
};
extern const Operator kSequenceConstruct;

/// Operands: sequence, position (one integer, negative from the end). Result: the element there.
extern const Operator kSequenceAt;
/// Operands: sequence, tensor, position in [-n, n] (absent: n). Result: the sequence with the tensor before that
/// position.
extern const Operator kSequenceInsert;
/// Operands: sequence, position (absent: the last). Result: the sequence without that element.
extern const Operator kSequenceErase;
/// Operand: sequence. Result: its length, an i64 scalar.
extern const Operator kSequenceLength;

/// Operands: tensor, split (an integer: parts of that size, the last one smaller; a vector: sizes; absent: parts of 1,
/// whose axis disappears unless keep_axis). Result: the parts along `axis`.
struct SplitToSequenceAttrs {
  int64_t axis = 0;
  bool keep_axis = true;
  static constexpr auto fields =
      std::make_tuple(field("axis", &SplitToSequenceAttrs::axis), field("keep_axis", &SplitToSequenceAttrs::keep_axis));
};
extern const Operator kSplitToSequence;

/// Operand: sequence. Result: its elements side by side along `axis`, which is a new one if told.
struct ConcatFromSequenceAttrs {
  int64_t axis = 0;
  bool new_axis = false;
  static constexpr auto fields = std::make_tuple(field("axis", &ConcatFromSequenceAttrs::axis),
                                                 field("new_axis", &ConcatFromSequenceAttrs::new_axis));
};
extern const Operator kConcatFromSequence;

/// Operands: `mapped` sequences of one length or tensors, the first a sequence; captures. Region: [an element of each
/// sequence or the tensor itself…, captures…] to tensors. Results: per tensor, the sequence of all.
struct SequenceMapAttrs {
  int64_t mapped = 0;
  static constexpr auto fields = std::make_tuple(field("mapped", &SequenceMapAttrs::mapped));
};
extern const Operator kSequenceMap;

/// The type of an element of any of a sequence's places, as its place is read: dimensions that are not constant may
/// differ from place to place.
Type element_type(const Type& sequence, InferContext& ctx);

/// An optional that holds the operand, or without an operand an empty one of type `element`.
struct OptionalAttrs {
  Type element;
  static constexpr auto fields = std::make_tuple(field("element", &OptionalAttrs::element));
};
extern const Operator kOptional;
/// What an optional holds; anything else is passed on.
extern const Operator kOptionalGetElement;
/// Whether there is an operand and it holds something, as a bool scalar.
extern const Operator kOptionalHasElement;

}  // namespace strop::ops
