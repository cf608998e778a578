#include "tactics/tactic.h"

#include <algorithm>
#include <charconv>

namespace strop::tactics {

int64_t Config::get(std::string_view name, int64_t fallback) const {
  const auto found = std::ranges::find(values, name, [](const auto& item) { return std::string_view(item.first); });
  return found == values.end() ? fallback : found->second;
}

std::string Config::to_string() const {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

Result<Config> Config::parse(std::string_view text) {
  Config config;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    int64_t value = 0;
    const char* end = item.data() + item.size();
    const auto parsed = std::from_chars(item.data() + std::min(equals + 1, item.size()), end, value);
    if (equals == 0 || equals == std::string_view::npos || parsed.ec != std::errc() || parsed.ptr != end) {
      return error(ErrorCode::InvalidArgument, "tactic parameters: expected 'name=integer', found '{}'", item);
    }
    config.values.emplace_back(item.substr(0, equals), value);
  }
  return config;
}

Config without_threads(const Config& config) {
  Config own;
  std::ranges::copy_if(config.values, std::back_inserter(own.values), [](const Config::Item& item) {
    return item != Config::Item{std::string(kThreadsParameter), 1};
  });
  return own;
}

void TacticList::add(std::span<const Tactic* const> tactics) {
  for (const Tactic* tactic : tactics) {
    STROP_CHECK(tactic->why_not != nullptr && tactic->prepare != nullptr, "tactic {} is incomplete", tactic->name);
    STROP_CHECK(find(tactic->name) == nullptr, "two tactics named {}", tactic->name);
    tactics_.push_back(tactic);
  }
}

const Tactic* TacticList::find(std::string_view name) const {
  const auto found = std::ranges::find(tactics_, name, [](const Tactic* tactic) { return tactic->name; });
  return found == tactics_.end() ? nullptr : *found;
}

std::vector<const Tactic*> TacticList::for_op(std::string_view op, DeviceKind device) const {
  std::vector<const Tactic*> result;
  std::ranges::copy_if(tactics_, std::back_inserter(result),
                       [&](const Tactic* tactic) { return tactic->op == op && tactic->device == device; });
  return result;
}

}  // namespace strop::tactics
