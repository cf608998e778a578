/// What an operator is: attributes, type inference, and a plain evaluation that *is* its meaning. Operators do not know
/// the graph; control flow reaches its regions through callbacks.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/memory.h"
#include "base/result.h"
#include "base/threads.h"
#include "ops/attrs.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace strop::ops {

struct Operator;

/// A field of the attributes whose value is not known before run time: operand `operand` supplies it, as an integer or
/// floating tensor. Inference sees the field as late; before evaluation it is filled in.
struct LateField {
  std::string field;
  int32_t operand = -1;
  friend bool operator==(const LateField&, const LateField&) = default;
};

/// Late operands follow the operator's own: how many of `operands` operands are the operator's own.
inline size_t own_operands(size_t operands, std::span<const LateField> late) {
  for (const LateField& field : late) operands = std::min(operands, static_cast<size_t>(field.operand));
  return operands;
}

/// The operator, its attributes and the types it is applied to, while types are inferred. Absent operands have type
/// None.
class InferContext {
 public:
  /// How a region (a nested graph) is inferred: parameter types to result types. Control flow only.
  using RegionInfer = FunctionRef<Result<std::vector<Type>>(size_t region, const std::vector<Type>& parameters)>;

  InferContext(const Attrs& attributes, std::span<const Type> inputs, size_t output_count, std::string unbacked_prefix);

  const Attrs& attrs;
  std::span<const Type> inputs;
  std::vector<Type> outputs;  ///< to be filled in: one per output that the node has
  std::vector<std::optional<Dims>>
      known_inputs;  ///< symbolic contents of small integer operands (rank 0 or 1), if known
  std::vector<std::optional<Dims>> known_outputs;  ///< likewise, where the operator can tell
  std::span<const LateField> late;
  const RegionInfer* regions = nullptr;

  bool has_input(size_t index) const { return index < inputs.size() && !inputs[index].is_none(); }
  bool wants_output(size_t index) const { return index < outputs.size(); }
  /// The operand as a tensor type, or an error that names the operand's index: constraint violated.
  Result<TensorType> tensor(size_t index) const;
  /// As tensor(), and the rank must be known; where it is not, the caller reports unknown rank outputs instead.
  bool is_late(std::string_view field) const;
  /// A dimension known only when the data are; each call gives a new symbol "?…".
  Dim unbacked();

 private:
  std::string unbacked_prefix_;
  int unbacked_count_ = 0;
};

/// One evaluation. Inputs are concrete; late fields are already filled in.
struct EvalContext {
  using RegionCall = FunctionRef<Result<std::vector<Value>>(size_t region, std::vector<Value> parameters)>;

  const Attrs& attrs;
  std::span<const Value> inputs;       ///< None for absent operands
  std::vector<Value>& outputs;         ///< resized to the number of outputs wanted; the operator fills them in
  std::span<const Type> output_types;  ///< concrete where inference could tell
  Threads& threads;
  const RegionCall* regions = nullptr;
  const MemoryLimit* memory = nullptr;  ///< null: none

  /// Asks before `bytes` are allocated whose number the types do not tell.
  Result<void> check_memory(int64_t bytes) const {
    return memory == nullptr ? Result<void>() : memory->check("its result", bytes);
  }
  bool has_input(size_t index) const { return index < inputs.size() && !inputs[index].is_none(); }
  const Tensor& in(size_t index) const { return inputs[index].tensor(); }
  bool wants(size_t index) const { return index < outputs.size(); }
};

/// A concrete example of the operator: drives conformance of every tactic and the benchmarks.
struct WorkedCase {
  std::string name;  ///< unique per operator, for example "last_axis_f32"
  Attrs attrs;
  std::vector<Type> inputs;  ///< static shapes
  size_t output_count = 1;
  /// Inputs are seeded random by dtype (floats normal(0,1), integers small) unless given here by index.
  std::vector<std::pair<size_t, Tensor>> given;
  bool random_positive = false;  ///< floats uniform in (0.1, 2) instead, for domains such as log and sqrt
};

struct Operator {
  std::string_view name;                           ///< "Softmax"
  Attrs (*make_attrs)() = [] { return Attrs(); };  ///< defaults; fixes the struct's type
  /// Fills ctx.outputs (and known_outputs) or returns an error whose message names the violated constraint: "(C2) …".
  /// Must be total over legal inputs: unknown rank in gives unknown rank out, late fields give unbacked dimensions.
  Result<void> (*infer)(InferContext& ctx) = nullptr;
  /// The meaning: accumulates in double (or exactly in integers), rounds once to the output's dtype.
  /// An error is one that depends on data (index out of range, division of shapes): it becomes the user's error.
  Result<void> (*evaluate)(EvalContext& ctx) = nullptr;
  std::vector<WorkedCase> (*cases)() = [] { return std::vector<WorkedCase>(); };

  // Facts that passes and the planner may use; the defaults are the safe ones.
  bool is_deterministic = true;  ///< false: random; never folded or merged
  bool is_view = false;          ///< output 0 is operand 0's bytes under another shape (Reshape, Identity)
  /// Where output 0 lies inside operand 0's row-major elements, if it is a contiguous part of them: the first element.
  /// Null: operand 0 as a whole if is_view, else no view.
  std::optional<Dim> (*view_offset)(const Attrs& attrs, const TensorType& operand, const TensorType& result) = nullptr;
  /// The axis along which output 0 is all operands side by side, for operators that only concatenate.
  std::optional<int64_t> (*concat_axis)(const Attrs& attrs, int64_t rank) = nullptr;
  int in_place_operand = -1;  ///< output 0 may overwrite this operand's buffer elementwise, if shapes are equal
  bool has_regions = false;
};

/// The operators that exist: a value passed in, so that custom operators can join. Names are unique.
class Catalogue {
 public:
  Catalogue() = default;
  explicit Catalogue(std::span<const Operator* const> operators);
  void add(const Operator& op);                       ///< must outlive the catalogue; a duplicate name is a bug
  const Operator* find(std::string_view name) const;  ///< null if unknown
  std::span<const Operator* const> all() const { return operators_; }

 private:
  std::vector<const Operator*> operators_;
};

/// Every operator that ships with Strop, in the order of families.h.
const Catalogue& builtin_operators();

// -- Used by many operators' inference --

/// NumPy broadcasting of symbolic shapes: equal dims stay, 1 gives way. Different symbols: the result is max(a, b), and
/// equality (or one of them being 1) is checked when shapes are known. Error: "(C…) cannot broadcast 3 with 4 in axis
/// 1".
Result<Dims> broadcast(const Dims& a, const Dims& b);
/// axis in [-rank, rank) made non-negative, or an error naming `what`.
Result<int64_t> normalize_axis(int64_t axis, int64_t rank, std::string_view what);

// -- Running an operator on values --

/// The operator's inference, and what holds for every operator: no result has a dimension below 0, or more than
/// kMaxElements elements. Errors: the operator's; a result's shape that cannot be.
Result<void> infer(const Operator& op, InferContext& ctx);

/// Infers on concrete types, fills late fields from their operands, evaluates. The generic path of the interpreter, of
/// constant folding and of last-resort execution.
struct EvalRequest {
  const Operator& op;
  const Attrs& attrs;
  std::span<const LateField> late;
  std::span<const Value> inputs;  ///< late operands included, at their index
  size_t output_count = 1;
  Threads& threads;
  const EvalContext::RegionCall* regions = nullptr;
  const MemoryLimit* memory = nullptr;  ///< null: none. The error says what the evaluation needs
};
Result<std::vector<Value>> evaluate(const EvalRequest& request);

/// The attributes with every late field replaced by its operand's value.
Result<Attrs> bind_late(const Attrs& attrs, std::span<const LateField> late, std::span<const Value> inputs);

}  // namespace strop::ops
