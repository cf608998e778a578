// libFuzzer target of the importer: any bytes must be imported or refused. What is imported must verify.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "onnx/import.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  const auto& importers = strop::onnx::builtin_importers();
  for (const std::string_view domain : importers.domains()) {
    for (const std::string_view name : importers.op_types(domain)) names.push_back(name);
  }
  return names;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  static const std::vector<std::string_view> names = operator_names();
  std::minstd_rand random(seed);
  if (random() % 4 != 0) {
    const std::string changed = strop::fuzz::mutate_message(text_of(data, size), seed, names);
    if (!changed.empty() && changed.size() <= max_size) {
      std::memcpy(data, changed.data(), changed.size());
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::make_shared<const std::string>(text_of(data, size));
  strop::onnx::ImportOptions options;
  options.max_nodes = 20'000;  // a million take longer with sanitizers than an input may
  const auto imported = strop::onnx::import_bytes(*bytes, bytes, options);
  if (!imported.ok()) return 0;
  const auto verified = strop::ir::verify(*imported->graph);
  if (!verified.ok()) {
    std::fprintf(stderr, "imported, but: %s\n", verified.error().message.c_str());
    std::abort();
  }
  return 0;
}
