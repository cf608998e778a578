// The C API: errors, structs, tensors, runtimes.
#include "api/c_api.h"

#include <cstddef>
#include <cstdlib>

namespace strop::c {
namespace {

strop_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return STROP_INVALID_ARGUMENT;
    case ErrorCode::InvalidModel: return STROP_INVALID_MODEL;
    case ErrorCode::Unsupported: return STROP_UNSUPPORTED;
    case ErrorCode::InvalidEngine: return STROP_INVALID_ENGINE;
    case ErrorCode::NotFound: return STROP_NOT_FOUND;
    case ErrorCode::Io: return STROP_IO;
    case ErrorCode::OutOfMemory: return STROP_OUT_OF_MEMORY;
    case ErrorCode::Device: return STROP_DEVICE;
    case ErrorCode::Cancelled: return STROP_CANCELLED;
    case ErrorCode::Internal: return STROP_INTERNAL;
  }
  return STROP_INTERNAL;
}

// A size beyond this was never meant as one.
constexpr size_t kLargestError = size_t{1} << 16;

void describe(strop_error* error, strop_code code, std::string_view message) {
  constexpr size_t kMessage = offsetof(strop_error, message);
  if (error == nullptr || error->size <= kMessage || error->size > kLargestError) return;
  error->code = code;
  auto* text = reinterpret_cast<char*>(error) + kMessage;
  size_t length = std::min(message.size(), error->size - kMessage - 1);
  while (length > 0 && length < message.size() && (message[length] & 0xC0) == 0x80) --length;  // no half of a character
  std::memcpy(text, message.data(), length);
  text[length] = '\0';
}

class CallerPool final : public ThreadPool {
 public:
  CallerPool(const strop_thread_pool& pool, std::shared_ptr<void> keep) : pool_(pool), keep_(std::move(keep)) {}
  int size() const override { return pool_.threads; }
  void run(int count, const std::function<void(int)>& work) override {
    using Work = std::function<void(int)>;
    pool_.run(
        pool_.user, count, [](void* state, int32_t index) { (*static_cast<const Work*>(state))(index); },
        const_cast<Work*>(&work));
  }

 private:
  strop_thread_pool pool_;
  std::shared_ptr<void> keep_;
};

class CallerAllocator final : public Allocator {
 public:
  CallerAllocator(const strop_allocator& allocator, std::shared_ptr<void> keep)
      : allocator_(allocator), keep_(std::move(keep)) {}
  void* allocate(size_t bytes, size_t alignment) override {
    return allocator_.allocate(allocator_.user, bytes, alignment);
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    allocator_.deallocate(allocator_.user, memory, bytes, alignment);
  }

 private:
  strop_allocator allocator_;
  std::shared_ptr<void> keep_;
};

Result<RuntimeOptions> runtime_options(const strop_runtime_options& given, const std::shared_ptr<void>& keep) {
  RuntimeOptions options;
  if (given.threads < 0) return error(ErrorCode::InvalidArgument, "{} threads cannot be", given.threads);
  options.threads = given.threads;
  options.memory_limit_bytes = given.memory_limit_bytes;
  if (given.log != nullptr) {
    options.log = [log = given.log, user = given.log_user, keep](LogLevel level, std::string_view message) {
      log(user, static_cast<strop_log_level>(level), message.data(), message.size());
    };
  }
  if (given.thread_pool != nullptr) {
    STROP_ASSIGN(const strop_thread_pool pool,
                 read_struct<strop_thread_pool>(given.thread_pool, STROP_THREAD_POOL_INIT, "strop_thread_pool"));
    if (pool.run == nullptr || pool.threads < 1)
      return error(ErrorCode::InvalidArgument, "strop_thread_pool needs 'run' and at least one thread");
    options.thread_pool = std::make_shared<CallerPool>(pool, keep);
  }
  if (given.allocator != nullptr) {
    STROP_ASSIGN(const strop_allocator allocator,
                 read_struct<strop_allocator>(given.allocator, STROP_ALLOCATOR_INIT, "strop_allocator"));
    if (allocator.allocate == nullptr || allocator.deallocate == nullptr)
      return error(ErrorCode::InvalidArgument, "strop_allocator needs 'allocate' and 'deallocate'");
    options.allocator = std::make_shared<CallerAllocator>(allocator, keep);
  }
  return options;
}

}  // namespace

strop_code report(strop_error* error, const Result<void>& result) noexcept {
  const strop_code code = result.ok() ? STROP_OK : code_of(result.error().code);
  describe(error, code, result.ok() ? std::string_view() : std::string_view(result.error().message));
  return code;
}

strop_code report_exception(strop_error* error, strop_code code, const char* message) noexcept {
  describe(error, code, message);
  return code;
}

Result<void> require(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return error(ErrorCode::InvalidArgument, "{} is null", what);
}

Result<void> check_size(size_t given, size_t oldest, size_t newest, const char* type) {
  if (given >= oldest && given <= newest) return {};
  if (given > newest && given < 2 * newest + 256) {
    return error(ErrorCode::InvalidArgument, "{} has {} bytes, this library knows {}: its caller has a newer strop_c.h",
                 type, given, newest);
  }
  return error(ErrorCode::InvalidArgument, "{} has no valid size: initialise it with its _INIT macro", type);
}

char* to_c_string(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Result<TensorView> read_tensor(const strop_tensor* tensor, std::vector<std::string>& strings) {
  STROP_TRY(require(tensor, "the tensor"));
  STROP_ASSIGN(const strop_tensor given, read_struct<strop_tensor>(tensor, STROP_TENSOR_INIT, "strop_tensor"));
  constexpr int32_t kMostAxes = 64;
  if (given.dtype <= STROP_UNDEFINED || given.dtype > STROP_I2)
    return error(ErrorCode::InvalidArgument, "{} is no element type", given.dtype);
  if (given.rank < 0 || given.rank > kMostAxes)
    return error(ErrorCode::InvalidArgument, "a tensor has 0 to {} dimensions, not {}", kMostAxes, given.rank);
  if (given.rank > 0) STROP_TRY(require(given.dims, "the tensor's 'dims'"));
  TensorView view;
  view.dtype = static_cast<DType>(given.dtype);
  view.shape.assign(given.dims, given.dims + given.rank);
  if (given.strides != nullptr) view.strides.assign(given.strides, given.strides + given.rank);
  view.data = given.data;
  if (view.dtype != DType::String) return view;
  int64_t count = 1;
  for (const int64_t dim : view.shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return error(ErrorCode::InvalidArgument, "a tensor of strings cannot have a dimension of {}", dim);
  }
  if (count > 0) STROP_TRY(require(given.data, "the tensor's 'data'"));
  const auto* texts = static_cast<const strop_text*>(given.data);
  for (int64_t i = 0; i < count; ++i) {
    if (texts[i].bytes > 0) STROP_TRY(require(texts[i].data, "a string's 'data'"));
    strings.emplace_back(texts[i].bytes > 0 ? std::string(texts[i].data, texts[i].bytes) : std::string());
  }
  view.data = strings.data();
  return view;
}

}  // namespace strop::c

using strop::Result;
using strop::c::guarded;

const char* strop_version(void) { return strop::version(); }

const char* strop_code_name(strop_code code) {
  if (code == STROP_OK) return "ok";
  if (code < STROP_OK || code > STROP_INTERNAL) return "unknown";
  return strop::to_string(static_cast<strop::ErrorCode>(code - STROP_INVALID_ARGUMENT));
}

void strop_string_free(char* text) { std::free(text); }

const char* strop_dtype_name(strop_dtype dtype) {
  if (dtype <= STROP_UNDEFINED || dtype > STROP_I2) return nullptr;
  return strop::to_string(static_cast<strop::DType>(dtype)).data();  // of a literal, and so terminated
}

int64_t strop_dtype_bytes(strop_dtype dtype, int64_t count) {
  const bool known = dtype > STROP_UNDEFINED && dtype <= STROP_I2 && dtype != STROP_STRING;
  constexpr int64_t kMost = INT64_MAX / 128;  // bits of the widest element
  return known && count >= 0 && count <= kMost ? strop::byte_size(static_cast<strop::DType>(dtype), count) : -1;
}

strop_code strop_runtime_create(const strop_runtime_options* options, strop_runtime** runtime, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(strop::c::require(runtime, "'runtime'"));
    STROP_ASSIGN(const strop_runtime_options given, strop::c::read_struct<strop_runtime_options>(
                                                        options, STROP_RUNTIME_OPTIONS_INIT, "strop_runtime_options"));
    // Only a runtime that was made releases: after a failure the caller still has what it gave.
    const auto made = std::make_shared<bool>(false);
    std::shared_ptr<void> keep(nullptr, [made, release = given.release, user = given.release_user](void*) {
      if (*made && release != nullptr) release(user);
    });
    STROP_ASSIGN(strop::RuntimeOptions read, strop::c::runtime_options(given, keep));
    *runtime = new strop_runtime{strop::Runtime(std::move(read)), keep};
    *made = true;
    return {};
  });
}

int32_t strop_runtime_threads(const strop_runtime* runtime) {
  return runtime != nullptr ? runtime->runtime.threads() : 0;
}

void strop_runtime_cancel(strop_runtime* runtime) {
  if (runtime != nullptr) runtime->runtime.cancel();
}

void strop_runtime_free(strop_runtime* runtime) { delete runtime; }
