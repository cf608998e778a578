/// Strop's C++ API: build an engine from an ONNX model, save and load it, run it, verify it.
///
///   auto engine = strop::build("model.onnx").value();
///   engine.save("model.strop").value();
///   auto context = engine.context().value();
///   context.bind("x", input).value();
///   context.bind("y", output).value();
///   context.run().value();
///
/// Nothing throws; every fallible call returns Result<T>. There are no globals: threads, log and cancellation belong to
/// a Runtime. An Engine is immutable and may be shared by many threads; a Context belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strop/export.h"
#include "strop/result.h"
#include "strop/types.h"

namespace strop {

/// "0.1.0"
STROP_API const char* version();

// ---------------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------------

/// Somebody's memory seen as a tensor. Does not own it.
struct STROP_API TensorView {
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape;
  /// The first element, aligned to the element; std::string objects for String. Of dense tensors byte_size(dtype,
  /// count) bytes.
  void* data = nullptr;
  /// Per axis, the elements from one index to the next; empty: dense row-major. An image whose rows are padded to 512
  /// elements: {512, 1}. Not for String and types narrower than a byte.
  std::vector<int64_t> strides = {};

  int64_t count() const;
};

/// A dense tensor that owns its memory (64-byte aligned). Movable; copies copy the bytes.
class STROP_API HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, std::vector<int64_t> shape);  ///< zero-filled; empty strings
  /// A dense tensor in memory that exists already and that `memory` keeps alive.
  HostTensor(TensorView view, std::shared_ptr<void> memory) : view_(std::move(view)), memory_(std::move(memory)) {}
  HostTensor(const HostTensor& other);
  HostTensor(HostTensor&&) noexcept = default;
  HostTensor& operator=(const HostTensor& other);
  HostTensor& operator=(HostTensor&&) noexcept = default;

  DType dtype() const { return view_.dtype; }
  const std::vector<int64_t>& shape() const { return view_.shape; }
  int64_t count() const { return view_.count(); }
  int64_t bytes() const { return byte_size(view_.dtype, count()); }
  const TensorView& view() const { return view_; }
  template <class T>
  T* data() {
    return static_cast<T*>(view_.data);
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(view_.data);
  }

 private:
  TensorView view_;
  std::shared_ptr<void> memory_;
};

/// Reads .npy, one-array .npz, or a TensorProto .pb. Errors name the file.
STROP_API Result<HostTensor> load_tensor(const std::string& path);
/// Every array of an .npz by name, or the one of the other formats under "".
STROP_API Result<std::map<std::string, HostTensor>> load_tensors(const std::string& path);
/// Writes .npy (format 1.0), atomically. bf16 and float8 are written as their bits (u16, u8).
STROP_API Result<void> save_npy(const std::string& path, const TensorView& tensor);
/// Seeded random content by dtype: floats normal(0, 1), integers in [0, 10), bool either. Same seed, same bytes.
STROP_API HostTensor random_tensor(DType dtype, const std::vector<int64_t>& shape, uint64_t seed);

// ---------------------------------------------------------------------------------------------------------------------
// Runtime
// ---------------------------------------------------------------------------------------------------------------------

/// Threads of the caller's, for kernels to run on. Must not throw.
class STROP_API ThreadPool {
 public:
  virtual ~ThreadPool();
  /// How many threads work at a time, the calling one included: at least 1, and always the same number.
  virtual int size() const = 0;
  /// Calls work(index) once for each index in [0, count), count <= size(), and returns when all calls have returned.
  /// They may run on any threads, at the same time or one after another: none waits for another. Contexts that run at
  /// the same time call this at the same time.
  virtual void run(int count, const std::function<void(int index)>& work) = 0;
};

/// Memory of the caller's, for arenas and for outputs that are not bound. Used from several threads at once; must not
/// throw.
class STROP_API Allocator {
 public:
  virtual ~Allocator();
  /// bytes > 0, alignment a power of two. Null: there is none left; the call that needed it ends with OutOfMemory.
  virtual void* allocate(size_t bytes, size_t alignment) = 0;
  /// What allocate gave, with the same numbers.
  virtual void deallocate(void* memory, size_t bytes, size_t alignment) noexcept = 0;
};

struct RuntimeOptions {
  int threads = 0;  ///< kernels' workers, the calling thread included; 0: one per CPU this process may use
  std::function<void(LogLevel, std::string_view)> log = {};  ///< empty: warnings and errors go to stderr
  std::shared_ptr<ThreadPool> thread_pool = {};              ///< instead of Strop's own; `threads` does not matter then
  std::shared_ptr<Allocator> allocator = {};                 ///< null: the system's memory
  /// What the process's resident memory (without mapped files) may grow to. A run that needs more ends with OutOfMemory
  /// before it allocates, and says which node needs how much; so does a build, unless its own limit is another. 0:
  /// three quarters of the machine's (or the control group's) memory for runs, any for builds. Negative: any.
  int64_t memory_limit_bytes = 0;
};

/// Owns the threads and the log. Cheap to copy (shared). Engines and contexts keep theirs alive.
class STROP_API Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});
  int threads() const;
  int64_t memory_limit_bytes() const;  ///< as it was given
  /// Makes builds and runs in progress, and later ones, end with ErrorCode::Cancelled. Safe from a signal handler.
  void cancel() noexcept;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Building
// ---------------------------------------------------------------------------------------------------------------------

enum class DeviceKind : uint8_t { Auto, Cpu, Cuda };

struct Device {
  DeviceKind kind = DeviceKind::Auto;
  int index = 0;
  static Device cpu() { return {DeviceKind::Cpu, 0}; }
  static Device cuda(int index = 0) { return {DeviceKind::Cuda, index}; }
};

enum class Precision : uint8_t { Fp32, Tf32, Fp16, Bf16, Int8, Fp8, Mixed };

/// Minimum, optimum and maximum shape of one input; equal ones fix it. An empty list leaves the model's own dimension
/// open. The optimum is what steps are measured at, and what an open dimension is taken as where nobody gives a shape.
struct ShapeProfile {
  std::vector<int64_t> min = {}, opt = {}, max = {};
};

/// How an input or output of an engine differs from the model's. Conversions are those of ONNX's Cast and Transpose and
/// become part of the engine, fused with their neighbours where that is possible.
struct PortFormat {
  DType dtype = DType::Undefined;  ///< Undefined: the model's. Real numbers and Bool convert into each other
  /// "nhwc" (4 dimensions) or "ndhwc" (5): channels last, where the model has them second, as ONNX's operators do.
  /// "nchw", "ncdhw" and "": in the model's order.
  std::string layout = {};
};

/// Where a build is: for progress displays.
struct Progress {
  std::string_view stage = {};  ///< "import", "passes", "select", "measure", "write"
  std::string_view item = {};   ///< the pass or node
  int64_t done = 0;
  int64_t total = 0;  ///< 0: not known
};

struct BuildOptions {
  Device device = {};  ///< Auto: CUDA if usable, else CPU
  Precision precision = Precision::Fp32;
  std::map<std::string, ShapeProfile> shapes = {};  ///< by input name; of the engine's inputs, as `io` makes them
  std::map<std::string, PortFormat> io = {};        ///< by name of an input or output
  std::string route = {};                           ///< "knob=value …"
  /// 0..5: how long tactics are timed against each other; 0 chooses by estimate and measures nothing.
  int effort = 3;
  std::string timing_cache = {};   ///< a file: measured times are read from it and added to it; "": none
  bool timing_cache_only = false;  ///< measure nothing; an error says which times the cache lacks
  /// A lockfile to rebuild from, byte for byte: it decides shapes, io, outputs, route and times, and the build fails if
  /// the model is another one or the engine comes out differently. "": none.
  std::string lockfile = {};
  std::string write_lockfile = {};        ///< where to write the lockfile of this build; "": nowhere
  std::vector<std::string> outputs = {};  ///< tensors to return instead of the model's outputs; any intermediate
  std::string target = {};                ///< another instruction set or GPU than this machine's; "" for this one
  /// What the process's resident memory (without mapped files) may grow to while building; 0: what the runtime was
  /// given. Tactics whose measuring needs more are chosen by estimate; weights that do not fit are an error that names
  /// the node.
  int64_t memory_limit_bytes = 0;
  std::function<void(const Progress&)> progress = {};

  /// Options that measure nothing (effort 0), for builds that have to be quick rather than their engines.
  static BuildOptions by_estimate() {
    BuildOptions options;
    options.effort = 0;
    return options;
  }
};

/// One input or output of an engine.
struct PortInfo {
  std::string name = {};
  std::string kind = "tensor";          ///< "tensor", "sequence", "optional"
  DType dtype = DType::Undefined;       ///< of the tensor or the innermost element
  std::vector<std::string> shape = {};  ///< "3", "batch", "2*seq + 1"; empty with known_rank false
  bool known_rank = true;
  /// Of an input that was built for a range of shapes: its limits (INT64_MAX: none) and optimum. Else empty lists.
  ShapeProfile profile = {};
};

struct MemoryInfo {
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound_bytes = 0;  ///< the largest live set: no plan can need less
  int64_t intermediate_bytes = 0;       ///< the sum of all intermediates, nothing shared
  int64_t workspace_bytes = 0;
  int64_t weight_bytes = 0;
};

class Context;

struct ContextOptions {
  int max_cached_shapes = 16;  ///< shape plans kept; the least recently used goes
  /// Gives the memory of an output that is not bound, once its shape is known: during each run, before the step that
  /// writes it, on the thread that runs. The memory stays the caller's: byte_size(dtype, elements) bytes, aligned to
  /// the element, no part of an input or another output, valid until the next run. Null: there is none; run ends with
  /// OutOfMemory. Not asked for strings, sequences and optionals. Empty: outputs come from the runtime's allocator.
  std::function<void*(std::string_view name, DType dtype, const std::vector<int64_t>& shape)> allocate_output = {};
};

struct LoadOptions {
  /// Ed25519 public key (32 bytes): the engine must carry a signature by it. Empty: signatures are not looked at.
  std::string required_key = {};
};

struct SaveOptions {
  std::string signing_key = {};  ///< Ed25519 private key (32 bytes); empty: unsigned
};

/// A compiled model. Immutable, cheap to copy (shared), usable from several threads.
class STROP_API Engine {
 public:
  /// Maps the file: weights are read from it while contexts run. Errors: InvalidEngine for one that is damaged, newer,
  /// or for another instruction set.
  static Result<Engine> load(const std::string& path, const Runtime& runtime = Runtime(),
                             const LoadOptions& options = {});
  /// From what an engine file holds. The bytes are copied.
  static Result<Engine> load_from_memory(std::span<const std::byte> bytes, const Runtime& runtime = Runtime(),
                                         const LoadOptions& options = {});
  /// Written to a temporary file in the same folder, synced, renamed: there is never half an engine.
  Result<void> save(const std::string& path, const SaveOptions& options = {}) const;

  Result<Context> context(const ContextOptions& options = {}) const;

  std::vector<PortInfo> inputs() const;
  std::vector<PortInfo> outputs() const;
  /// Concrete shapes of all inputs, by name: the given ones, what follows from them for dimensions of the same name,
  /// and for dimensions that stay open the profile's optimum, without one the size nearest 1 that the engine was built
  /// for. Error: an input of unknown rank that is not given, or no tensor.
  Result<std::map<std::string, std::vector<int64_t>>> input_shapes(
      const std::map<std::string, std::vector<int64_t>>& given = {}) const;
  /// The same engine, plan and weights shared, with its contexts on the threads of another runtime.
  Engine on(const Runtime& runtime) const;
  std::string device() const;       ///< "cpu (avx2)"
  std::string plan_digest() const;  ///< hex; covers what runs: steps, kernels, weights
  std::string file_digest() const;  ///< hex; covers everything
  /// Steps, tactics, reasons, memory, source nodes: the document that `strop inspect --json` prints. Memory figures are
  /// for the given input shapes, those that are not given as input_shapes() has them.
  Result<std::string> inspect_json(const std::map<std::string, std::vector<int64_t>>& shapes = {}) const;

  struct Impl;
  explicit Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// An ONNX model: a file, or its bytes. A path converts to it.
class STROP_API Model {
 public:
  Model(std::string path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  Model(const char* path) : path_(path) {}             // NOLINT(google-explicit-constructor)
  /// `bytes` are what a model file holds. External data are looked for in `folder`; without one, a model that has
  /// external data is refused.
  static Model from_memory(std::string bytes, std::string folder = "");

  const std::string& path() const { return path_; }                           ///< "" where the model is in memory
  const std::shared_ptr<const std::string>& bytes() const { return bytes_; }  ///< null where it is a file
  const std::string& folder() const { return folder_; }

 private:
  Model() = default;
  std::string path_;
  std::shared_ptr<const std::string> bytes_;
  std::string folder_;
};

/// Compiles a model. Errors: InvalidModel, Unsupported (naming node and cause), InvalidArgument (options).
STROP_API Result<Engine> build(const Model& model, const BuildOptions& options = {},
                               const Runtime& runtime = Runtime());

// ---------------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------------

struct StepTime {
  int64_t step = 0;  ///< index in inspect's list
  double time_us = 0;
};

/// One user of an engine, with its own memory. Belongs to one thread at a time.
class STROP_API Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Says where an input is read from or an output is written to, until bound again. The memory must stay valid while
  /// runs use it. Outputs need not be bound: they are then allocated and found through output(). Where an input and an
  /// output have the same name, it is the input's.
  ///
  /// Dense tensors are used where they are. Strided ones and strings cost a copy: inputs before each run, outputs after
  /// it. Strides of inputs may be 0 or negative; those of outputs are positive and no element lies within another.
  /// An output's memory may not overlap an input's or another output's: run() refuses.
  ///
  /// Errors: no such name, another dtype, data that are missing or not aligned, strides that make no sense.
  Result<void> bind(std::string_view name, const TensorView& tensor);
  Result<void> bind(std::string_view name, const HostTensor& tensor) { return bind(name, tensor.view()); }
  /// The same by position in Engine::inputs() or Engine::outputs().
  Result<void> bind_input(size_t index, const TensorView& tensor);
  Result<void> bind_output(size_t index, const TensorView& tensor);
  /// Forgets everything that was bound and the last run's outputs. Plans, arena and buffers stay.
  void reset();

  /// Runs once and returns when the outputs are there. At shapes seen before, with bound outputs, allocates nothing.
  Result<void> run();
  /// The result of the last run. The view is valid until the next run or bind.
  Result<TensorView> output(std::string_view name) const;
  /// One run with the time of each step.
  Result<std::vector<StepTime>> profile();
  /// At the shapes of the last run.
  MemoryInfo memory() const;

  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Judging
// ---------------------------------------------------------------------------------------------------------------------

/// How two tensors differ. Norms are of the difference; rel_l2 is its l2 over the reference's (0 if both are 0).
struct OutputError {
  std::string name = {};
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape = {};
  int64_t l0 = 0;  ///< elements that differ
  double l1 = 0;   ///< mean absolute difference
  double l2 = 0;
  double linf = 0;
  double rel_l2 = 0;
  double cos = 1;          ///< cosine similarity
  int64_t nan = 0;         ///< positions where exactly one is NaN
  int64_t inf = 0;         ///< positions where infinities disagree
  bool same_shape = true;  ///< false: another shape or type; the norms are then infinite
};
STROP_API OutputError compare(const TensorView& actual, const TensorView& reference);

enum class Metric : uint8_t { L0, L1, L2, Linf, RelL2, Cos };

/// What a metric allows where nobody says otherwise. RelL2: 1e-4. Cos: 0.999999995, the cosine that a relative error of
/// 1e-4 leaves. L0: 0, all elements equal. L1 1e-4, Linf 1e-3 and L2 1e-2 are absolute: they mean about as much for
/// outputs of magnitude 1, L2 of ten thousand elements; give limits that fit other outputs.
STROP_API double default_limit(Metric metric);

struct VerifyOptions {
  Metric metric = Metric::RelL2;
  /// At most, from 0; for Cos at least, from -1 to 1. Empty: default_limit(metric).
  std::optional<double> limit = {};
  uint64_t seed = 0;
  /// Of the random inputs; dimensions that stay open as in Engine::input_shapes.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  /// Pairs to check: one map of inputs each. Empty: one seeded random pair.
  std::vector<std::map<std::string, HostTensor>> inputs = {};
  /// Expected outputs per pair, instead of the reference interpreter's.
  std::vector<std::map<std::string, HostTensor>> references = {};
};

struct VerifyReport {
  bool pass = false;
  int64_t pairs = 0;
  std::vector<OutputError> outputs = {};  ///< the worst pair for each output
};

/// Runs the engine and compares with the reference interpreter on the model (or with options.references).
STROP_API Result<VerifyReport> verify(const Engine& engine, const Model& model, const VerifyOptions& options = {});

enum class CaseResult : uint8_t { Passed, Failed, Unsupported, Skipped };

struct ConformanceCase {
  std::string name = {};
  CaseResult result = CaseResult::Failed;
  std::string reason = {};
};

struct ConformanceOptions {
  BuildOptions build = BuildOptions::by_estimate();
  double rtol = 1e-3;
  double atol = 1e-7;
  std::string filter = {};                                   ///< only cases whose name contains it
  std::function<void(const ConformanceCase&)> on_case = {};  ///< after each; may cancel the runtime
};

/// Runs a folder of ONNX backend tests: each folder NAME/model.onnx with NAME/test_data_set_*/{input,output}_K.pb, or
/// flat files light_NAME.onnx with light_NAME_output_K.pb. Unsupported is decided before any input is read. Build
/// options that cannot be met are an error before the first case. A cancelled runtime ends it with Cancelled: on_case
/// has seen the cases that were done.
STROP_API Result<std::vector<ConformanceCase>> run_conformance(const std::string& folder,
                                                               const ConformanceOptions& options = {},
                                                               const Runtime& runtime = Runtime());

// ---------------------------------------------------------------------------------------------------------------------
// Asking
// ---------------------------------------------------------------------------------------------------------------------

/// Merges timing caches into `output`, which keeps what it holds. Errors: NotFound; a file that is no timing cache.
STROP_API Result<void> merge_timing_caches(const std::vector<std::string>& inputs, const std::string& output);
/// The document of `strop cache show FILE --json`: {"file", "entries", "unusable_lines", "problems": [{"problem",
/// "threads", "candidates": [{"tactic", "version", "config", "us", "spread_us", "samples"}], "device", "software"}]}.
STROP_API Result<std::string> timing_cache_json(const std::string& path);

struct KnobDescription {
  std::string name = {}, help = {}, default_value = {}, effect = {}, when = {};
  std::vector<std::string> values = {};
};
STROP_API std::vector<KnobDescription> knobs();

/// The document of `strop inspect MODEL --json`: inputs, outputs, operators, nodes, unsupported ones.
STROP_API Result<std::string> inspect_model_json(const Model& model, const BuildOptions& options = {},
                                                 const Runtime& runtime = Runtime());

/// What this machine offers, and with an engine file whether it still fits: a JSON document. Errors: the file cannot be
/// read.
STROP_API Result<std::string> doctor_json(const std::string& engine_path = "");

}  // namespace strop
