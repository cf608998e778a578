/// Operators with regions. A region's parameters are the operator's own, then the captured outer values, which are also
/// the operator's last operands and the same for every region.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "base/function_ref.h"
#include "ops/attrs.h"
#include "ops/operator.h"

namespace strop::ops {

/// Operands: condition (bool, one element), captures. Regions: 0 runs if it is true, 1 if it is false; parameters: the
/// captures. Results: those of the region that ran.
extern const Operator kIf;

/// Operands: trip count (one i64; absent: no limit), condition (one bool; absent: true), carried values, captures.
/// Region: [iteration i64, condition bool, carried…, captures…] to [condition, carried…, collected…]. Results: the
/// carried values after the last iteration, then the collected ones of all iterations, stacked along a new first axis.
struct LoopAttrs {
  int64_t carried = 0;
  bool counted = false;                      ///< the condition is always true: only the trip count ends the loop
  std::vector<std::string> collected_types;  ///< type text per collected value of one iteration: for no iterations
  static constexpr auto fields =
      std::make_tuple(field("carried", &LoopAttrs::carried), field("counted", &LoopAttrs::counted),
                      field("collected_types", &LoopAttrs::collected_types));
};
extern const Operator kLoop;

/// Ends the run with an error: what stands in a branch of If that cannot run at the sizes its operands have. No
/// operands; results of the given types (their text), which are never made.
struct FailAttrs {
  std::string message;
  std::vector<std::string> types;
  static constexpr auto fields =
      std::make_tuple(field("message", &FailAttrs::message), field("types", &FailAttrs::types));
};
extern const Operator kFail;

/// Operands: states, scanned values, captures. Region: [states…, slice of each scanned value…, captures…] to [states…,
/// collected…]. Results: the last states, then the collected values stacked along their axis.
/// Batched (opset 8): an operand with the sequence lengths comes first (absent: full length); states and scanned values
/// have the batch as their first axis, the sequence as the second, and each batch entry is scanned by itself.
struct ScanAttrs {
  int64_t states = 0;
  int64_t scanned = 0;
  std::vector<int64_t> input_axes;           ///< per scanned value
  std::vector<int64_t> input_backward;       ///< per scanned value, 0 or 1: read from the end
  std::vector<int64_t> output_axes;          ///< per collected value
  std::vector<int64_t> output_backward;      ///< per collected value, 0 or 1: written from the end
  std::vector<std::string> collected_types;  ///< as in LoopAttrs
  bool batched = false;
  static constexpr auto fields = std::make_tuple(
      field("states", &ScanAttrs::states), field("scanned", &ScanAttrs::scanned),
      field("input_axes", &ScanAttrs::input_axes), field("input_backward", &ScanAttrs::input_backward),
      field("output_axes", &ScanAttrs::output_axes), field("output_backward", &ScanAttrs::output_backward),
      field("collected_types", &ScanAttrs::collected_types), field("batched", &ScanAttrs::batched));
};
extern const Operator kScan;

// -- What the three share --

/// The types of carried values while a loop is inferred. A value whose dimension changes from one iteration to the next
/// gets a symbol for it; which one depends only on the value's place and axis, so that import (which must build the
/// body for the final types) and inference agree on the names.
class CarriedTypes {
 public:
  /// `fresh` gives the symbols; it is called a fixed number of times for given `initial` types.
  CarriedTypes(std::vector<Type> initial, FunctionRef<Dim()> fresh);

  const std::vector<Type>& types() const { return types_; }
  /// Widens the types so that they also hold what the body returns; true if they changed. Error: another kind or dtype.
  Result<bool> widen(std::span<const Type> returned);

 private:
  std::vector<Type> types_;
  std::vector<Dims> slots_;  // per value and axis of the initial type
};

/// A type that holds both: equal dimensions stay, others become what `fresh` returns; different ranks become unknown.
/// An optional holds its element too. Error: incompatible kinds or dtypes.
Result<Type> common_type(const Type& a, const Type& b, FunctionRef<Dim()> fresh);

/// What a region returns, as seen from outside: dimensions with unbacked symbols that no operand of the node has are
/// replaced, because they mean something inside only.
Type seen_outside(const Type& type, InferContext& ctx);

/// The type of one iteration's slice, given the type of the scanned value; and back.
Type without_axis(const Type& type, int64_t axis);
Result<Type> with_axis(const Type& type, int64_t axis, const Dim& size);

/// Element `index` along `axis`, which disappears.
Tensor take(const Tensor& tensor, int64_t axis, int64_t index);
/// The tensors along a new axis. Error: their dimensions or dtypes differ. At least one.
int64_t total_bytes(const std::vector<Tensor>& tensors);
Result<Tensor> stack(const std::vector<Tensor>& tensors, int64_t axis);
/// What stack would give for no tensors of this type; dimensions that are not constant are 0.
Result<Tensor> stack_nothing(const std::string& type_text, int64_t axis);

}  // namespace strop::ops
