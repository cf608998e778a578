/// The plan: what an engine does, as data. Steps over values, nested blocks for control flow, a shape program that
/// turns dynamic dimensions into sizes, and the table of weights. Pure data: no pointers, no tactics, no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dim.h"
#include "tensor/type.h"

namespace strop::plan {

/// Index of a register of a block's shape program; kNone where there is none.
using Reg = int32_t;
inline constexpr int32_t kNone = -1;

/// A register whose value depends on a symbol that is not bound yet.
inline constexpr int64_t kUnknown = INT64_MIN;

enum class ShapeOp : uint8_t { Constant, Symbol, Add, Mul, FloorDiv, Mod, Min, Max };

/// Register i holds the result of instruction i. Operands are earlier registers. Symbol reads symbols[value].
struct ShapeInstr {
  ShapeOp op = ShapeOp::Constant;
  int64_t value = 0;
  Reg a = kNone;
  Reg b = kNone;
  friend bool operator==(const ShapeInstr&, const ShapeInstr&) = default;
};

/// Integer arithmetic on dimensions, run on the host once per new shape.
struct ShapeProgram {
  std::vector<std::string> symbols;  ///< names; unbacked ones start with '?'
  std::vector<ShapeInstr> instrs;

  /// Appends what computes `dim` (reusing equal registers) and returns its register.
  Reg lower(const Dim& dim);
  /// Computes every register. `symbol_values` and `registers` have the sizes of symbols and instrs; unknown symbols are
  /// kUnknown and make what depends on them kUnknown. Error: overflow or division by zero, naming the register.
  Result<void> evaluate(const std::vector<int64_t>& symbol_values, std::vector<int64_t>& registers) const;
};

/// A type with dimensions as registers.
struct TypeDesc {
  TypeKind kind = TypeKind::Tensor;
  DType dtype = DType::Undefined;        ///< Tensor only
  std::optional<std::vector<Reg>> dims;  ///< Tensor only; nullopt: rank unknown
  Layout layout;
  std::string element;  ///< Sequence and Optional: the element type's text
};

/// Where a value's bytes are.
enum class Storage : uint8_t {
  None,    ///< never read
  Input,   ///< the caller's buffer of block input `index`
  Output,  ///< the caller's buffer of block output `index`, or one from the output allocator
  Weight,  ///< weights[index], read-only
  Arena,   ///< the context's arena
  View,    ///< inside value `base`
  Host,    ///< made by its step at run time: sequences, optionals, strings, sizes known only when the data are
};

struct ValueDesc {
  std::string name;  ///< ONNX tensor name, or ""
  TypeDesc type;
  Storage storage = Storage::None;
  int32_t index = kNone;        ///< Input, Output, Weight
  int32_t base = kNone;         ///< View: the value it lies in
  Reg offset_elements = kNone;  ///< View: first element within base; kNone: 0
  Reg pitch = kNone;            ///< View, operand or result of launches: elements between rows of the last dimension;
                                ///< kNone: dense
  int32_t device = 0;
  bool in_place = false;  ///< View because its step overwrites its operand
  bool whole = false;     ///< View of all elements of its base under other dimensions
};

enum class StepKind : uint8_t {
  Launch,   ///< a tactic, prepared once per shape
  Generic,  ///< the operator's own evaluation on values whose shapes are known only at run time; control flow
  Copy,     ///< value to value, same type; between devices or into an output
  Signal,   ///< an event on (device, stream) is recorded
  Wait,     ///< the stream waits for the event
};

/// A condition on dimensions, checked once per shape.
enum class Relation : uint8_t { Equal, LessEqual, Less, Divides };
struct ShapeCheck {
  Reg a = kNone;
  Relation relation = Relation::Equal;
  Reg b = kNone;
};

/// One way to run a step, for the class of shapes where all conditions hold. The last variant of a step has none.
struct Variant {
  std::vector<ShapeCheck> when;
  std::string tactic;
  int32_t tactic_version = 1;
  std::string config;
  std::vector<int32_t> packed;  ///< per operand: the weight that replaces it, or kNone
};

/// A candidate that was considered for a step: for inspection only.
struct Candidate {
  std::string tactic;
  std::string config;
  std::optional<double> time_us;
  std::optional<double> spread_us;
  std::string refused;  ///< why it does not apply; "" if it does
};

/// One attribute of an operator: generic named fields, dimensions as registers.
struct AttrDesc {
  std::string name;
  std::string text;  ///< canonical text of the value; dimensions as expressions over the block's symbols
};

struct LateDesc {
  std::string field;
  int32_t operand = kNone;
};

struct Step {
  StepKind kind = StepKind::Launch;
  std::string op;               ///< operator's name
  int32_t attrs = kNone;        ///< index into Plan::attrs
  std::vector<int32_t> inputs;  ///< values; kNone for absent operands
  std::vector<int32_t> outputs;
  std::vector<LateDesc> late;
  std::vector<int32_t> blocks;    ///< regions
  std::vector<Variant> variants;  ///< Launch, Generic
  std::vector<std::string> onnx_nodes;
  int32_t device = 0;
  int32_t stream = 0;
  int32_t event = kNone;  ///< Signal, Wait
  std::string why;
  std::vector<Candidate> candidates;
};

struct PortDesc {
  std::string name;
  int32_t value = kNone;
  TypeDesc type;
};

/// How an input dimension binds a symbol: symbols[symbol] = dims(inputs[input])[axis].
struct SymbolBinding {
  int32_t symbol = kNone;
  int32_t input = kNone;
  int32_t axis = 0;
};

struct SymbolRange {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

/// A graph's plan. Block 0 is the model; the others are regions.
struct Block {
  std::string name;
  ShapeProgram shapes;
  std::vector<SymbolBinding> bindings;
  std::vector<int32_t> inherited;   ///< per symbol: the enclosing block's symbol it takes its value from, or kNone
  std::vector<SymbolRange> ranges;  ///< per symbol: the profile
  std::vector<ShapeCheck> checks;   ///< what a legal shape satisfies
  std::vector<PortDesc> inputs;
  std::vector<PortDesc> outputs;
  std::vector<ValueDesc> values;
  std::vector<Step> steps;
};

struct WeightDesc {
  std::string name;
  DType dtype = DType::U8;  ///< U8 for packed forms
  std::vector<int64_t> dims;
  std::vector<std::string> origins;  ///< ONNX initializers it was computed from
  std::string recipe;                ///< how; "" for the initializer itself
};

struct DeviceDesc {
  std::string kind = "cpu";  ///< "cpu", "cuda"
  std::string target;        ///< instruction set or "sm_90a"
};

struct Plan {
  std::vector<DeviceDesc> devices;
  std::vector<Block> blocks;
  std::vector<WeightDesc> weights;
  std::vector<std::vector<AttrDesc>> attrs;
};

/// Every index and register in range, every value written before it is read, nothing read-only written, views acyclic
/// and in bounds where static, sizes known where memory is planned, types complete. The error says which block, step
/// and field. Reading a file ends with this.
Result<void> verify(const Plan& plan);

}  // namespace strop::plan
