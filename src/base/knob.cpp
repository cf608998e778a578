#include "base/knob.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace strop {

std::string_view to_string(KnobType type) {
  switch (type) {
    case KnobType::Bool: return "bool";
    case KnobType::Int: return "int";
    case KnobType::Choice: return "choice";
  }
  STROP_UNREACHABLE();
}

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::SpeedOnly: return "speed_only";
    case Effect::Numerics: return "numerics";
  }
  STROP_UNREACHABLE();
}

std::string KnobInfo::format(int64_t value) const {
  switch (type) {
    case KnobType::Bool: return value != 0 ? "on" : "off";
    case KnobType::Int: return std::to_string(value);
    case KnobType::Choice: return std::string(values[static_cast<size_t>(value)]);
  }
  STROP_UNREACHABLE();
}

std::string KnobInfo::legal_values() const {
  if (type == KnobType::Int) {
    if (max == std::numeric_limits<int64_t>::max()) return fmt::format("an integer of at least {}", min);
    return fmt::format("an integer from {} to {}", min, max);
  }
  if (values.size() == 1) return std::string(values[0]);
  return fmt::format("{} or {}", join(values.first(values.size() - 1), ", "), values.back());
}

KnobList::KnobList(std::vector<const KnobInfo*> knobs) {
  std::sort(knobs.begin(), knobs.end(), [](const KnobInfo* a, const KnobInfo* b) { return a->name < b->name; });
  for (size_t i = 1; i < knobs.size(); ++i) {
    STROP_CHECK(knobs[i - 1]->name != knobs[i]->name, "two knobs are called {}", knobs[i]->name);
  }
  knobs_ = std::make_shared<const std::vector<const KnobInfo*>>(std::move(knobs));
  for (const KnobInfo* knob : *knobs_) {
    if (knob->when_knob.empty()) continue;
    const auto condition = find(knob->when_knob);
    STROP_CHECK(condition.has_value(), "{} depends on {}, which is not listed", knob->name, knob->when_knob);
    STROP_CHECK((*knobs_)[*condition]->parse(knob->when_value).has_value(), "{} depends on {}={}, which cannot be",
                knob->name, knob->when_knob, knob->when_value);
  }
}

std::optional<size_t> KnobList::find(std::string_view name) const {
  const auto it = std::lower_bound(knobs_->begin(), knobs_->end(), name,
                                   [](const KnobInfo* knob, std::string_view wanted) { return knob->name < wanted; });
  if (it == knobs_->end() || (*it)->name != name) return std::nullopt;
  return static_cast<size_t>(it - knobs_->begin());
}

Error KnobList::unknown(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const KnobInfo* knob : *knobs_) names.push_back(knob->name);
  const std::string hint = did_you_mean(name, names);
  return error(ErrorCode::InvalidArgument, "unknown knob '{}'{}", name,
               hint.empty() ? "; 'strop knobs' lists them all" : hint);
}

Route::Route(KnobList knobs) : knobs_(std::move(knobs)) {
  for (const KnobInfo* knob : knobs_.all()) {
    const auto value = knob->parse(knob->default_value);
    STROP_CHECK(value.has_value(), "{}: illegal default {}", knob->name, knob->default_value);
    values_.push_back(*value);
  }
}

Result<void> Route::set(std::string_view name, std::string_view value) {
  if (const size_t at = name.find('@'); at != std::string_view::npos) {
    return error(ErrorCode::Unsupported, "knob '{}': a value for a part of the graph ('{}') is not supported; set '{}'",
                 name, name.substr(at), name.substr(0, at));
  }
  const auto index = knobs_.find(name);
  if (!index) return knobs_.unknown(name);
  const KnobInfo& knob = *knobs_.all()[*index];
  const auto internal = knob.parse(value);
  if (!internal) {
    return error(ErrorCode::InvalidArgument, "knob '{}' cannot be '{}'; it is {}", name, value, knob.legal_values());
  }
  values_[*index] = *internal;
  return {};
}

Result<void> Route::parse(std::string_view text) {
  Route changed = *this;
  std::set<std::string_view> seen;
  for (std::string_view token : split_words(text)) {
    if (token.starts_with('-')) token.remove_prefix(1);
    const size_t equals = token.find('=');
    if (equals == std::string_view::npos) {
      return error(ErrorCode::InvalidArgument, "route: '{}' is not of the form knob=value", token);
    }
    const std::string_view name = token.substr(0, equals);
    if (!seen.insert(name).second) {
      return error(ErrorCode::InvalidArgument, "route: knob '{}' is given twice", name);
    }
    STROP_TRY(changed.set(name, token.substr(equals + 1)));
  }
  *this = std::move(changed);
  return {};
}

void Route::set_default(std::string_view name) {
  const size_t index = position(name);
  const KnobInfo& knob = *knobs_.all()[index];
  values_[index] = *knob.parse(knob.default_value);
}

std::string Route::text_of(std::string_view name) const {
  const size_t index = position(name);
  return knobs_.all()[index]->format(values_[index]);
}

bool Route::is_active(const KnobInfo& knob) const {
  return knob.when_knob.empty() || text_of(knob.when_knob) == knob.when_value;
}

Result<void> Route::check_conditions() const {
  for (const auto& [name, value] : non_default()) {
    const KnobInfo& knob = *knobs_.all()[position(name)];
    if (is_active(knob)) continue;
    return error(ErrorCode::InvalidArgument, "knob '{}={}' has no effect unless {}={}", name, value, knob.when_knob,
                 knob.when_value);
  }
  return {};
}

std::map<std::string, std::string> Route::non_default() const {
  std::map<std::string, std::string> changed;
  for (size_t i = 0; i < values_.size(); ++i) {
    const KnobInfo& knob = *knobs_.all()[i];
    if (values_[i] != *knob.parse(knob.default_value)) changed.emplace(knob.name, knob.format(values_[i]));
  }
  return changed;
}

std::string Route::to_string() const {
  std::vector<std::string> tokens;
  for (const auto& [name, value] : non_default()) tokens.push_back(fmt::format("{}={}", name, value));
  return join(tokens, " ");
}

std::string Route::full_text() const {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < values_.size(); ++i) {
    const KnobInfo& knob = *knobs_.all()[i];
    tokens.push_back(fmt::format("{}={}", knob.name, knob.format(values_[i])));
  }
  return join(tokens, " ");
}

int64_t Route::internal_value(const KnobInfo& knob) const {
  const size_t index = position(knob.name);
  const KnobInfo& listed = *knobs_.all()[index];
  STROP_CHECK(&listed == &knob, "another knob is listed as {}", knob.name);
  return values_[index];
}

size_t Route::position(std::string_view name) const {
  const auto index = knobs_.find(name);
  STROP_CHECK(index.has_value(), "knob {} is not in the list", name);
  return *index;
}

}  // namespace strop
