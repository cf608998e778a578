// libFuzzer target of the engine file's reader: any bytes must be read or refused, and what is read must load and plan
// (engine_loading.h) or be refused there. Reading throws nothing; while loading, a failed check of ours is a refusal
// too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "base/check.h"
#include "engine/engine_file.h"
#include "engine/plan_codec.h"
#include "fuzz/engine_input.h"
#include "fuzz/engine_loading.h"
#include "fuzz/plan_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace strop;  // NOLINT(google-build-using-namespace): a program of one file

// A file without a disk: the reader maps what a path names.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("engine", MFD_CLOEXEC)) {}
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string write(const std::string& bytes) const {
    const bool done = ::ftruncate(descriptor_, 0) == 0 &&
                      ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    STROP_CHECK(done, "writing to memory failed");
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The sections with a changed plan, and notes that still fit it: or nothing, where the plan cannot be decoded.
std::string with_changed_plan(std::string_view input, uint32_t seed) {
  auto sections = fuzz::sections_of(input);
  if (!sections) return {};
  auto decoded = engine::decode_plan(bytes_of(sections->plan));
  if (!decoded.ok()) return {};
  const bool notes_fit = engine::decode_notes(bytes_of(sections->notes), decoded->plan).ok();
  fuzz::mutate(*decoded, seed);
  sections->plan = text_of(engine::encode_plan(decoded->plan, decoded->places));
  if (notes_fit) sections->notes = text_of(engine::encode_notes(decoded->plan));
  return fuzz::to_input(*sections);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (random() % 4 != 0) {
    const std::string changed = with_changed_plan(text_of(data, size), seed);
    if (!changed.empty() && changed.size() <= max_size) {
      std::memcpy(data, changed.data(), changed.size());
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MemoryFile file;
  const std::string_view input = text_of(data, size);
  engine::ReadOptions options;
  if (size > 0 && (data[0] & fuzz::kSigned) != 0) options.required_key = fuzz::key_bytes(fuzz::kPublicKeyHex);
  SingleThread threads;
  const auto read = engine::read_engine(file.write(fuzz::engine_file(input)), threads, options);
  if (!read.ok()) return 0;
  try {
    fuzz::load_and_plan(*read);
  } catch (const Bug&) {  // src/api/ makes an error of it
  }
  return 0;
}
