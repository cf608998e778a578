/// A tactic: one way to solve a problem on one device. Tactics see a problem, never a graph.
///
/// Life: `why_not` says whether it applies (for the whole range of shapes), `configs` what can be tuned, `packs`/`pack`
/// turn constant operands into the form it wants (at build time), `prepare` makes a Launch for concrete shapes (once
/// per shape; may allocate), and Launch::run does the work (allocates nothing).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "device/device.h"
#include "ops/operator.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace strop::tactics {

/// How a tactic's answer relates to the reference: Exact computes the same roundings, Reassociated differs by the order
/// of accumulation in the declared type, Reduced computes in a narrower type.
enum class Numerics : uint8_t { Exact, Reassociated, Reduced };

using DeviceKind = device::Kind;

struct Range {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

/// One operator with types, no graph around it. Dimensions may be symbolic: then the problem stands for every value in
/// the symbols' ranges. In `prepare` all are constant.
struct Problem {
  const ops::Operator* op = nullptr;
  ops::Attrs attrs;
  std::vector<Type> inputs;  ///< None for absent operands; late operands not included
  std::vector<Type> outputs;
  std::vector<const Tensor*> constants;  ///< per input: the value if known at build time, else null (may be empty)
  std::map<std::string, Range> ranges;   ///< of symbols; unlisted: [0, inf)

  bool has_input(size_t index) const { return index < inputs.size() && !inputs[index].is_none(); }
  const TensorType& in(size_t index) const { return inputs[index].tensor; }
  const TensorType& out(size_t index = 0) const { return outputs[index].tensor; }
  bool is_constant(size_t index) const { return index < constants.size() && constants[index] != nullptr; }
  /// Constant dimensions of operand/output; requires is_static().
  std::vector<int64_t> in_dims(size_t index) const { return *as_constants(in(index).dims()); }
  std::vector<int64_t> out_dims(size_t index = 0) const { return *as_constants(out(index).dims()); }
};

/// A tactic's parameters: named integers. The text form ("mr=6,nc=1024"; "" for none) is part of cache keys. Every
/// tactic has one parameter more, kThreadsParameter, that those who prepare and launch it obey.
struct Config {
  using Item = std::pair<std::string, int64_t>;
  std::vector<Item> values;
  int64_t get(std::string_view name, int64_t fallback) const;
  std::string to_string() const;
  static Result<Config> parse(std::string_view text);
  friend bool operator==(const Config&, const Config&) = default;
};

/// The parameter that says how many workers the step uses: 1; absent: all there are.
inline constexpr std::string_view kThreadsParameter = "threads";
inline bool runs_alone(const Config& config) { return config.get(kThreadsParameter, 0) == 1; }
/// The config with a tactic's own parameters only.
Config without_threads(const Config& config);

/// Memory of one operand or result at launch. Elements are row-major over the problem's dims; consecutive rows of the
/// last dimension are `pitch` elements apart (dense when equal to it). Tactics that do not say they accept a pitch get
/// dense ones.
struct Buffer {
  void* data = nullptr;  ///< null for absent operands; the packed form where the tactic packed the operand
  int64_t pitch = 0;     ///< elements; 0: dense
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct LaunchArgs {
  std::span<const Buffer> inputs;
  std::span<const Buffer> outputs;
  void* workspace = nullptr;  ///< 64-byte aligned, Launch::workspace_bytes() long
  Threads& threads;
  device::Stream* stream = nullptr;     ///< what the work is enqueued on; null on the CPU
  const MemoryLimit* memory = nullptr;  ///< for what the reference evaluation allocates; null: none
};

/// A prepared problem: everything that depends on shapes only has been computed.
class Launch {
 public:
  virtual ~Launch() = default;
  virtual int64_t workspace_bytes() const { return 0; }
  /// Errors depend on data only (an index out of range). Thread-safe: one Launch may run in several contexts at once.
  virtual Result<void> run(const LaunchArgs& args) const = 0;
};

struct PrepareArgs {
  const Problem& problem;  ///< all dimensions constant
  const Config& config;
  int threads = 1;                              ///< workers that run will have
  uint32_t packed_inputs = 0;                   ///< bit i: operand i arrives in the tactic's packed form
  std::span<const int64_t> input_pitches = {};  ///< per operand, 0: dense; only where accepted
  std::span<const int64_t> output_pitches = {};

  bool packed(size_t operand) const { return operand < 32 && (packed_inputs >> operand & 1) != 0; }
};

/// A constant operand that the tactic wants in another form.
struct PackRequest {
  int32_t operand = -1;
  int64_t bytes = 0;
  std::string recipe;  ///< says the layout, for the engine's record, for example "gemm_b nr=16 kc=256"
};

struct Tactic {
  std::string_view name;  ///< "<op>.<device>.<method>", for example "MatMul.cpu.packed_gemm"
  int version = 1;        ///< raised when its results or packing change
  DeviceKind device = DeviceKind::Cpu;
  Numerics numerics = Numerics::Reassociated;
  std::string_view op;  ///< operator's name

  /// Null optional: applies. Otherwise the reason, for the whole range of the problem's dimensions.
  std::optional<std::string> (*why_not)(const Problem& problem) = nullptr;
  /// At least one; the first is the heuristics' choice.
  std::vector<Config> (*configs)(const Problem& problem) = [](const Problem&) { return std::vector<Config>{Config{}}; };
  /// Expected cost relative to other tactics of the operator, lower is better; used where nothing is measured (effort
  /// 0).
  double (*rank)(const Problem& problem) = [](const Problem&) { return 1.0; };
  std::vector<PackRequest> (*packs)(const Problem& problem, const Config& config) = [](const Problem&, const Config&) {
    return std::vector<PackRequest>{};
  };
  /// Writes the packed form of `source` (a constant operand) to `packed`.
  void (*pack)(const Problem& problem, const Config& config, const PackRequest& request, const Tensor& source,
               std::span<std::byte> packed) = nullptr;
  Result<std::unique_ptr<Launch>> (*prepare)(const PrepareArgs& args) = nullptr;

  uint32_t pitched_inputs = 0;   ///< bit i: operand i may have a pitch
  bool pitched_output = false;   ///< output 0 may have a pitch
  uint32_t in_place_inputs = 0;  ///< bit i: output 0 may be operand i's buffer when shapes and dtypes are equal
};

/// Every tactic of one build of Strop: a value passed in. Order: as registered; each operator's last resort is last.
class TacticList {
 public:
  TacticList() = default;
  void add(std::span<const Tactic* const> tactics);
  const Tactic* find(std::string_view name) const;
  std::vector<const Tactic*> for_op(std::string_view op, DeviceKind device) const;
  std::span<const Tactic* const> all() const { return tactics_; }

 private:
  std::vector<const Tactic*> tactics_;
};

/// All CPU tactics that ship with Strop.
const TacticList& builtin_cpu_tactics();

/// The name of the tactic that never refuses, for any operator: it runs the operator's own evaluation
/// ("<op>.cpu.reference"). It is not in the list: the runtime makes it for every operator. It allocates.
std::string reference_tactic_name(std::string_view op);
std::unique_ptr<Launch> make_reference_launch(const Problem& problem);

}  // namespace strop::tactics
