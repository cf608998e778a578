#include "onnx/names.h"

#include <fmt/core.h>

namespace strop::onnx {
namespace {

constexpr size_t kMaxShown = 100;

}  // namespace

std::string quote(std::string_view name) {
  std::string result = "'";
  for (const char c : name.substr(0, kMaxShown)) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += c;
    }
  }
  if (name.size() > kMaxShown) {
    // Not in the middle of a character: continuation bytes at the cut belong to one that is incomplete.
    while (!result.empty() && (static_cast<unsigned char>(name[kMaxShown]) & 0xC0) == 0x80 &&
           (static_cast<unsigned char>(result.back()) & 0x80) != 0) {
      const bool lead = (static_cast<unsigned char>(result.back()) & 0xC0) == 0xC0;
      result.pop_back();
      if (lead) break;
    }
    result += "…";
  }
  return result + "'";
}

std::string node_label(const NodeProto& node, size_t index) {
  return node.name.empty() ? fmt::format("#{}", index) : std::string(node.name);
}

std::string describe_node(std::string_view label, std::string_view op_type) {
  const std::string op = quote(op_type);
  return fmt::format("node {} ({})", quote(label), op.substr(1, op.size() - 2));
}

}  // namespace strop::onnx
