#include "onnx/names.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace strop::onnx {
namespace {

constexpr size_t kMaxShown = 100;

/// Levenshtein's distance, letter case ignored.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string quoted(std::string_view name) {
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
  const std::string op = quoted(op_type);
  return fmt::format("node {} ({})", quoted(label), op.substr(1, op.size() - 2));
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = 3;
  if (name.size() > kMaxShown) return best;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && 2 * distance < name.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace strop::onnx
