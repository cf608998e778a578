#include "tensor/dim.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "tensor/dim_overflow.h"

namespace strop {
namespace {

int64_t floor_div_int(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0); }

int64_t mod_int(int64_t a, int64_t b) { return a - floor_div_int(a, b) * b; }

// Sizes beyond 2^63 are refused where models come in (the importer catches DimOverflow); later they would be a bug, and
// must not pass as small ones.
int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw DimOverflow(fmt::format("{} + {} does not fit 64 bits", a, b));
  return sum;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw DimOverflow(fmt::format("{} * {} does not fit 64 bits", a, b));
  return result;
}

std::string_view op_name(DimOp op) {
  switch (op) {
    case DimOp::Symbol: return "symbol";
    case DimOp::FloorDiv: return "floordiv";
    case DimOp::Mod: return "mod";
    case DimOp::Min: return "min";
    case DimOp::Max: return "max";
  }
  STROP_UNREACHABLE();
}

std::string monomial_key(const DimTerm& term) {
  std::string key;
  for (const auto& atom : term.atoms) {
    if (!key.empty()) key += '*';
    key += atom->text;
  }
  return key;
}

// Removes `divisor`'s atoms from `atoms`; nullopt if one is missing.
std::optional<std::vector<DimAtomPtr>> remove_atoms(std::vector<DimAtomPtr> atoms,
                                                    const std::vector<DimAtomPtr>& divisor) {
  for (const auto& atom : divisor) {
    auto it = std::find_if(atoms.begin(), atoms.end(), [&](const auto& other) { return other->text == atom->text; });
    if (it == atoms.end()) return std::nullopt;
    atoms.erase(it);
  }
  return atoms;
}

// a / b where b is one term and divides every term of a.
std::optional<std::vector<DimTerm>> exact_quotient(const Dim& a, const Dim& b) {
  const auto divisor = b.terms();
  if (divisor.size() != 1) return std::nullopt;
  std::vector<DimTerm> quotient;
  for (const DimTerm& term : a.terms()) {
    if (term.coefficient % divisor[0].coefficient != 0) return std::nullopt;
    auto atoms = remove_atoms(term.atoms, divisor[0].atoms);
    if (!atoms) return std::nullopt;
    quotient.push_back({term.coefficient / divisor[0].coefficient, std::move(*atoms)});
  }
  return quotient;
}

void collect_symbols(const Dim& dim, std::set<std::string>& out) {
  for (const DimTerm& term : dim.terms()) {
    for (const auto& atom : term.atoms) {
      if (atom->op == DimOp::Symbol) out.insert(atom->symbol);
      for (const Dim& operand : atom->operands) collect_symbols(operand, out);
    }
  }
}

}  // namespace

Dim Dim::from_terms(std::vector<DimTerm> terms) {
  // Canonical order: by monomial text, the constant (whose text is empty) last.
  const auto before = [](const std::string& a, const std::string& b) { return !a.empty() && (b.empty() || a < b); };
  std::map<std::string, DimTerm, decltype(before)> merged(before);
  for (DimTerm& term : terms) {
    std::sort(term.atoms.begin(), term.atoms.end(), [](const auto& a, const auto& b) { return a->text < b->text; });
    auto [it, inserted] = merged.try_emplace(monomial_key(term), term);
    if (!inserted) it->second.coefficient = checked_add(it->second.coefficient, term.coefficient);
  }
  auto canonical = std::make_shared<std::vector<DimTerm>>();
  for (auto& [key, term] : merged) {
    if (term.coefficient != 0) canonical->push_back(std::move(term));
  }
  if (canonical->empty()) return Dim(0);
  if (canonical->size() == 1 && canonical->front().atoms.empty()) return Dim(canonical->front().coefficient);
  Dim result;
  result.terms_ = std::move(canonical);
  return result;
}

Dim Dim::atom(DimOp op, Dim a, Dim b) {
  auto node = std::make_shared<DimAtom>();
  node->op = op;
  const bool commutes = op == DimOp::Min || op == DimOp::Max;
  if (commutes && b.to_string() < a.to_string()) std::swap(a, b);
  node->text = fmt::format("{}({}, {})", op_name(op), a.to_string(), b.to_string());
  node->operands = {std::move(a), std::move(b)};
  return from_terms({{1, {std::move(node)}}});
}

Dim Dim::symbol(std::string name) {
  STROP_CHECK(!name.empty());
  auto node = std::make_shared<DimAtom>();
  node->text = name;
  node->symbol = std::move(name);
  return from_terms({{1, {std::move(node)}}});
}

int64_t Dim::constant() const {
  STROP_CHECK(is_constant(), "{} is not constant", to_string());
  return constant_;
}

bool Dim::is_symbol() const {
  return terms_ && terms_->size() == 1 && terms_->front().coefficient == 1 && terms_->front().atoms.size() == 1 &&
         terms_->front().atoms.front()->op == DimOp::Symbol;
}

bool Dim::is_unbacked() const {
  if (is_constant()) return false;
  const auto names = symbols();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.front() == '?'; });
}

std::vector<DimTerm> Dim::terms() const {
  if (terms_) return *terms_;
  if (constant_ == 0) return {};
  return {{constant_, {}}};
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  if (terms_) collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

std::optional<int64_t> Dim::evaluate(SymbolLookup lookup) const {
  if (is_constant()) return constant_;
  int64_t sum = 0;
  for (const DimTerm& term : *terms_) {
    int64_t value = term.coefficient;
    for (const auto& atom : term.atoms) {
      std::optional<int64_t> factor;
      if (atom->op == DimOp::Symbol) {
        factor = lookup(atom->symbol);
      } else {
        const auto a = atom->operands[0].evaluate(lookup);
        const auto b = atom->operands[1].evaluate(lookup);
        if (!a || !b) return std::nullopt;
        switch (atom->op) {
          case DimOp::FloorDiv: factor = *b == 0 ? std::nullopt : std::optional(floor_div_int(*a, *b)); break;
          case DimOp::Mod: factor = *b == 0 ? std::nullopt : std::optional(mod_int(*a, *b)); break;
          case DimOp::Min: factor = std::min(*a, *b); break;
          case DimOp::Max: factor = std::max(*a, *b); break;
          case DimOp::Symbol: break;
        }
      }
      if (!factor || __builtin_mul_overflow(value, *factor, &value)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, value, &sum)) return std::nullopt;
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim>& replacements) const {
  if (is_constant()) return *this;
  Dim sum(0);
  for (const DimTerm& term : *terms_) {
    Dim value(term.coefficient);
    for (const auto& atom : term.atoms) {
      Dim factor = from_terms({{1, {atom}}});
      if (atom->op == DimOp::Symbol) {
        if (auto it = replacements.find(atom->symbol); it != replacements.end()) factor = it->second;
      } else {
        const Dim a = atom->operands[0].substitute(replacements);
        const Dim b = atom->operands[1].substitute(replacements);
        switch (atom->op) {
          case DimOp::FloorDiv: factor = floor_div(a, b); break;
          case DimOp::Mod: factor = mod(a, b); break;
          case DimOp::Min: factor = min(a, b); break;
          case DimOp::Max: factor = max(a, b); break;
          case DimOp::Symbol: break;
        }
      }
      value = value * factor;
    }
    sum = sum + value;
  }
  return sum;
}

std::string Dim::to_string() const {
  if (is_constant()) return std::to_string(constant_);
  std::string text;
  for (const DimTerm& term : *terms_) {
    const bool negative = term.coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(term.coefficient) : static_cast<uint64_t>(term.coefficient);
    if (term.atoms.empty()) {
      text += std::to_string(magnitude);
    } else {
      if (magnitude != 1) text += std::to_string(magnitude) + "*";
      text += monomial_key(term);
    }
  }
  return text;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  return a.terms_ == b.terms_ || a.to_string() == b.to_string();
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(checked_add(a.constant_, b.constant_));
  auto terms = a.terms();
  auto more = b.terms();
  terms.insert(terms.end(), more.begin(), more.end());
  return Dim::from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(checked_mul(a.constant_, b.constant_));
  std::vector<DimTerm> terms;
  for (const DimTerm& x : a.terms()) {
    for (const DimTerm& y : b.terms()) {
      DimTerm term{checked_mul(x.coefficient, y.coefficient), x.atoms};
      term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
      terms.push_back(std::move(term));
    }
  }
  return Dim::from_terms(std::move(terms));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant_ == 1) return a;
  if (a.is_constant() && b.is_constant() && b.constant_ != 0) return Dim(floor_div_int(a.constant_, b.constant_));
  if (!(b == Dim(0))) {
    if (a == b) return Dim(1);
    if (auto quotient = exact_quotient(a, b)) return Dim::from_terms(std::move(*quotient));
  }
  return Dim::atom(DimOp::FloorDiv, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant() && b.constant_ != 0) return Dim(mod_int(a.constant_, b.constant_));
  if (!(b == Dim(0)) && exact_quotient(a, b)) return Dim(0);
  return Dim::atom(DimOp::Mod, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.constant_ <= 0 ? a : b;
  return Dim::atom(DimOp::Min, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.constant_ >= 0 ? a : b;
  return Dim::atom(DimOp::Max, a, b);
}

Dim product(const Dims& dims) {
  Dim result(1);
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + dims[i].to_string();
  return text + "]";
}

std::optional<std::vector<int64_t>> as_constants(const Dims& dims) {
  std::vector<int64_t> values;
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return std::nullopt;
    values.push_back(dim.constant());
  }
  return values;
}

Dims to_dims(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

}  // namespace strop
