/// Knobs: the decisions of the compiler that can be turned, each a typed constant beside the code that reads it.
/// Command line, documentation, search space, the engine's record and cache keys are all derived from these constants.
///
///   inline constexpr Knob<bool> kFuseEpilogues{{.name = "passes.fuse_epilogues", .help = "…"}};
///   inline constexpr std::string_view kTileValues[] = {"32", "64", "128"};
///   inline constexpr Knob<int64_t> kTile{
///       {.name = "codegen.tile", .help = "…", .default_value = "64", .values = kTileValues, .min = 1, .max = 1024}};
///   enum class Order { Depth, Breadth };
///   inline constexpr std::string_view kOrders[] = {"depth", "breadth"};  // in the order of the enumerators
///   inline constexpr Knob<Order> kOrder{{.name = "plan.order", .help = "…", .default_value = "depth", .values =
///   kOrders}};
///
///   if (route.get(kFuseEpilogues)) …
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace strop {

enum class KnobType : uint8_t { Bool, Int, Choice };

/// What turning a knob may change.
enum class Effect : uint8_t {
  SpeedOnly,  ///< the same numbers, bit for bit or up to the order of summation
  Numerics,   ///< the numbers within the accuracy boundary
};

std::string_view to_string(KnobType type);  ///< "bool", "int", "choice"
std::string_view to_string(Effect effect);  ///< "speed_only", "numerics"

inline constexpr std::string_view kOnOff[] = {"on", "off"};

/// A knob without its C++ type. `type` is filled in by Knob<T>, and `values` too for bool.
struct KnobInfo {
  std::string_view name;                          ///< "<owner>.<what>"
  std::string_view help;                          ///< one line
  std::string_view default_value = "on";          ///< text of a legal value
  std::span<const std::string_view> values = {};  ///< Choice: all legal ones; Int: those worth trying
  Effect effect = Effect::SpeedOnly;
  std::string_view when_knob = {};   ///< the knob matters only while this knob…
  std::string_view when_value = {};  ///< …has this value; empty: always
  int64_t min = 0;                   ///< Int: the legal range, both ends included
  int64_t max = std::numeric_limits<int64_t>::max();
  KnobType type = KnobType::Bool;

  /// The internal form of a legal value's text: 0/1, the integer, the index into `values`. nullopt: not legal.
  constexpr std::optional<int64_t> parse(std::string_view text) const;
  /// The inverse of parse.
  std::string format(int64_t value) const;
  /// The legal values in words, for messages: "on or off", "an integer from 0 to 64".
  std::string legal_values() const;
};

/// A typed knob: bool, int64_t, std::string_view (the chosen name), or an enum whose enumerators count from 0 in the
/// order of `values`. An illegal default or value to try does not compile.
template <class T>
struct Knob {
  static_assert(std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, std::string_view> ||
                std::is_enum_v<T>);

  consteval explicit Knob(KnobInfo given) : info(given) {
    info.type = kType;
    if (kType == KnobType::Bool) info.values = kOnOff;
    if (info.name.find('.') == std::string_view::npos) throw "a knob's name is <owner>.<what>";
    if (!info.parse(info.default_value)) throw "the default is not a legal value";
    if (info.values.empty()) throw "a knob has values to try";
    for (const std::string_view value : info.values) {
      if (!info.parse(value)) throw "a value to try is not legal";
    }
  }

  /// The C++ value of the internal form (see KnobInfo::parse).
  constexpr T value(int64_t internal) const {
    if constexpr (std::is_same_v<T, std::string_view>) {
      return info.values[static_cast<size_t>(internal)];
    } else {
      return static_cast<T>(internal);
    }
  }

  static constexpr KnobType kType = std::is_same_v<T, bool>      ? KnobType::Bool
                                    : std::is_same_v<T, int64_t> ? KnobType::Int
                                                                 : KnobType::Choice;
  KnobInfo info;
};

/// The catalogue: every knob there is, as a value passed in. Copies share the list; the knobs themselves are constants.
class KnobList {
 public:
  KnobList() : KnobList(std::vector<const KnobInfo*>()) {}
  /// Names must be unique, conditions must name a listed knob and a legal value of it; else a bug.
  explicit KnobList(std::vector<const KnobInfo*> knobs);

  /// Sorted by name.
  std::span<const KnobInfo* const> all() const { return *knobs_; }
  /// The position in all(); nullopt if the name is unknown.
  std::optional<size_t> find(std::string_view name) const;
  /// The error for a name that find does not know: says which one is nearest.
  Error unknown(std::string_view name) const;

 private:
  std::shared_ptr<const std::vector<const KnobInfo*>> knobs_;
};

/// A build route: a value for every knob of a list, the defaults at first.
class Route {
 public:
  explicit Route(KnobList knobs);

  const KnobList& knobs() const { return knobs_; }

  /// Errors: unknown knob (names the nearest), illegal value (names the legal ones), a scope ("knob@part=value" is
  /// reserved). The route is unchanged on error.
  Result<void> set(std::string_view name, std::string_view value);
  /// "knob=value knob2=value": tokens separated by white space, a leading '-' of a token is dropped. A knob given twice
  /// is an error. The route is unchanged on error.
  Result<void> parse(std::string_view text);
  void set_default(std::string_view name);

  /// The value. The knob must be in the list: one that is read but not listed is a bug.
  template <class T>
  T get(const Knob<T>& knob) const {
    return knob.value(internal_value(knob.info));
  }
  /// The value's text. The name must be listed.
  std::string text_of(std::string_view name) const;
  /// False while the condition of the knob (KnobInfo::when_knob) does not hold, so that its value does not matter.
  bool is_active(const KnobInfo& knob) const;
  /// An error if a knob was turned whose condition does not hold: it would be ignored silently.
  Result<void> check_conditions() const;

  /// Knobs that differ from their default, name → value.
  std::map<std::string, std::string> non_default() const;
  /// The canonical text: the knobs that differ from their default, "a.x=on b.y=3", by name; parse reads it back.
  std::string to_string() const;
  /// Every knob with its value, by name: for cache keys and records, which must not depend on today's defaults.
  std::string full_text() const;

  friend bool operator==(const Route& a, const Route& b) { return a.full_text() == b.full_text(); }

 private:
  int64_t internal_value(const KnobInfo& knob) const;
  size_t position(std::string_view name) const;

  KnobList knobs_;
  std::vector<int64_t> values_;  // internal forms, in the order of knobs_.all()
};

constexpr std::optional<int64_t> KnobInfo::parse(std::string_view text) const {
  if (type == KnobType::Bool)
    return text == "on" ? std::optional<int64_t>(1) : text == "off" ? std::optional<int64_t>(0) : std::nullopt;
  if (type == KnobType::Choice) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == text) return static_cast<int64_t>(i);
    }
    return std::nullopt;
  }
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 18) return std::nullopt;  // 18 digits cannot overflow
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  return value >= min && value <= max ? std::optional(value) : std::nullopt;
}

}  // namespace strop
