/// What stands behind the handles of strop.h, and the border where a Bug becomes an Error.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/result.h"
#include "base/threads.h"
#include "engine/engine_file.h"
#include "runtime/executor.h"
#include "runtime/memory.h"
#include "runtime/program.h"
#include "strop/strop.h"

namespace strop {

struct Runtime::Impl {
  std::shared_ptr<Threads> threads;
  std::unique_ptr<Log> log;
  CancelToken cancel;
  std::shared_ptr<runtime::Memory> memory;          ///< null: the system's
  int64_t memory_limit_bytes = 0;                   ///< as the caller gave it; 0: not
  std::shared_ptr<const MemoryLimit> memory_limit;  ///< of runs; null: none
};

struct Engine::Impl {
  Runtime runtime;
  engine::EngineImage image;
  std::shared_ptr<const runtime::Program> program;

  /// Of the file it came from, or computed when first asked for; copies share the answer.
  const engine::Digests& digests() const;
  struct KnownDigests {
    std::once_flag once;
    engine::Digests value;
  };
  std::shared_ptr<KnownDigests> known_digests = std::make_shared<KnownDigests>();
};

namespace api {

/// Runs `work` and turns what it throws into an Error: Bug → Internal, bad_alloc → OutOfMemory.
template <class F>
auto guarded(F&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Bug& bug) {
    return Error{ErrorCode::Internal, std::string("this is a bug of Strop, please report it: ") + bug.what()};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::OutOfMemory, "not enough memory"};
  } catch (const std::exception& other) {
    return Error{ErrorCode::Internal, std::string("this is a bug of Strop, please report it: ") + other.what()};
  }
}

/// An engine around an image: looks up operators and tactics.
Result<Engine> make_engine(engine::EngineImage image, const Runtime& runtime);

/// What an open dimension of the engine is taken as where nobody says: the profile's optimum; without one, the size
/// nearest 1 that the engine was built for.
int64_t usual_size(const engine::EngineImage& image, const std::string& symbol);

/// Concrete input types: given shapes first, then the model's constants; other symbols have their usual_size.
Result<std::vector<Type>> input_types(const engine::EngineImage& image,
                                      const std::map<std::string, std::vector<int64_t>>& shapes);

/// A Tensor over the caller's memory; strings are copied, and strided tensors, which have to be legal.
Tensor borrow(const TensorView& view);
TensorView view_of(const Tensor& tensor);
/// The tensor as a HostTensor that shares its bytes, which must be writable.
HostTensor to_host(Tensor tensor);
/// As strop::compare. Another dtype counts as another shape.
OutputError compare(const Tensor& actual, const Tensor& reference);

/// The tensors of a value: itself, or a sequence's items as "name[0]", "name[1]", …; an empty optional has none.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};
std::vector<NamedTensor> flatten(const std::string& name, const Value& value);

}  // namespace api
}  // namespace strop
