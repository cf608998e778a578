/// Symbolic dimensions: exact integer expressions over named symbols, kept in a canonical form so that equal
/// expressions (up to the rewriting below) have equal text.
///
/// A Dim is a polynomial with integer coefficients over *atoms*. An atom is a symbol (a dynamic input dimension, or an
/// unbacked one, known only when the data are) or an opaque operation (floor division, modulo, minimum, maximum) on
/// Dims. Divisions that are exact for polynomials are carried out: (12*b*s) floordiv (4*s) is 3*b.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace strop {

class Dim;
using Dims = std::vector<Dim>;

/// Looks up a symbol's value; nullopt if it is not known yet.
using SymbolLookup = FunctionRef<std::optional<int64_t>(const std::string& symbol)>;

/// What an atom is. Symbol has a name; the others have two operands. Quotients round toward -inf, as Python's // does,
/// and Mod has the divisor's sign.
enum class DimOp : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

struct DimAtom {
  DimOp op = DimOp::Symbol;
  std::string symbol;         ///< Symbol only. Unbacked symbols start with '?'.
  std::vector<Dim> operands;  ///< two, empty for Symbol
  std::string text;           ///< canonical text: identity and order of atoms
};
using DimAtomPtr = std::shared_ptr<const DimAtom>;

/// coefficient * product of atoms (sorted by text; an atom to a power occurs as often as the power).
struct DimTerm {
  int64_t coefficient = 0;
  std::vector<DimAtomPtr> atoms;  ///< empty for the constant term
};

class Dim {
 public:
  Dim() = default;                                ///< 0
  Dim(int64_t constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor)

  /// A symbol: a name of letters, digits, '_', '.', ':' and '/'; unbacked ones start with '?'.
  static Dim symbol(std::string name);

  bool is_constant() const { return terms_ == nullptr; }
  /// The constant. Requires is_constant().
  int64_t constant() const;
  std::optional<int64_t> as_constant() const { return is_constant() ? std::optional(constant_) : std::nullopt; }
  bool is_symbol() const;
  /// True if a symbol in it is known only when the data are.
  bool is_unbacked() const;

  /// The terms of the polynomial in canonical order, the constant term included when not zero.
  std::vector<DimTerm> terms() const;

  /// Every symbol in it, atoms' operands included, each once, sorted.
  std::vector<std::string> symbols() const;

  /// The value under `lookup`; nullopt if a symbol is unknown or a division by zero occurs.
  std::optional<int64_t> evaluate(SymbolLookup lookup) const;

  /// Replaces symbols by Dims (those that the map names).
  Dim substitute(const std::map<std::string, Dim>& replacements) const;

  /// Canonical text, for example "2*batch*seq + 1" or "floordiv(h + 1, 2)". parse() reads it back.
  std::string to_string() const;
  static Result<Dim> parse(std::string_view text);

  friend bool operator==(const Dim& a, const Dim& b);
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);

 private:
  static Dim from_terms(std::vector<DimTerm> terms);
  static Dim atom(DimOp op, Dim a, Dim b);
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);

  int64_t constant_ = 0;
  std::shared_ptr<const std::vector<DimTerm>> terms_;  ///< null for constants
};

/// floor(a / b), with exact polynomial division where it exists.
Dim floor_div(const Dim& a, const Dim& b);
/// ceil(a / b) for b > 0.
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);

/// The product of all; 1 for none.
Dim product(const Dims& dims);

/// "[1, 3, h, w]"
std::string to_string(const Dims& dims);

/// All constant → their values; nullopt otherwise.
std::optional<std::vector<int64_t>> as_constants(const Dims& dims);
/// Constants as Dims.
Dims to_dims(const std::vector<int64_t>& values);

}  // namespace strop
