// libFuzzer target of the importer: any bytes must be imported or refused. What is imported must verify.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "ir/graph.h"
#include "onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const auto imported = strop::onnx::import_bytes(*bytes, bytes);
  if (!imported.ok()) return 0;
  const auto verified = strop::ir::verify(*imported->graph);
  if (!verified.ok()) {
    std::fprintf(stderr, "imported, but: %s\n", verified.error().message.c_str());
    std::abort();
  }
  return 0;
}
