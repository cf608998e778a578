#include "ops/dim_rules.h"

#include <algorithm>

namespace strop::ops {
namespace {

// Each step removes one opaque atom; deeper nests than this are not worth proving.
constexpr int kMaxDepth = 6;

bool prove(const Dim& dim, int depth);

bool is_nonnegative_atom(const DimAtom& atom, int depth) {
  if (atom.op == DimOp::Symbol) return true;
  const Dim& a = atom.operands[0];
  const Dim& b = atom.operands[1];
  switch (atom.op) {
    case DimOp::FloorDiv: return prove(a, depth - 1) && prove(b, depth - 1);
    case DimOp::Mod: return prove(b, depth - 1);
    case DimOp::Min: return prove(a, depth - 1) && prove(b, depth - 1);
    case DimOp::Max: return prove(a, depth - 1) || prove(b, depth - 1);
    case DimOp::Symbol: break;
  }
  return true;
}

Dim as_dim(const DimTerm& term) {
  Dim value(term.coefficient);
  for (const auto& atom : term.atoms) {
    switch (atom->op) {
      case DimOp::Symbol: value = value * Dim::symbol(atom->symbol); break;
      case DimOp::FloorDiv: value = value * floor_div(atom->operands[0], atom->operands[1]); break;
      case DimOp::Mod: value = value * mod(atom->operands[0], atom->operands[1]); break;
      case DimOp::Min: value = value * min(atom->operands[0], atom->operands[1]); break;
      case DimOp::Max: value = value * max(atom->operands[0], atom->operands[1]); break;
    }
  }
  return value;
}

// Replaces the term, a multiple of one opaque atom, by a lower bound of it and proves what results.
bool prove_with_bound(const Dim& dim, const DimTerm& term, int depth) {
  const DimAtom& atom = *term.atoms.front();
  const Dim rest = dim - as_dim(term);
  const Dim k(term.coefficient);
  const Dim& a = atom.operands[0];
  const Dim& b = atom.operands[1];
  if (atom.op == DimOp::Min && term.coefficient < 0)
    return prove(rest + k * a, depth - 1) || prove(rest + k * b, depth - 1);
  if (atom.op == DimOp::Max && term.coefficient > 0)
    return prove(rest + k * a, depth - 1) || prove(rest + k * b, depth - 1);
  if (atom.op == DimOp::Min && term.coefficient > 0)
    return prove(rest + k * a, depth - 1) && prove(rest + k * b, depth - 1);
  if (atom.op == DimOp::Max && term.coefficient < 0)
    return prove(rest + k * a, depth - 1) && prove(rest + k * b, depth - 1);
  if (!b.is_constant() || b.constant() <= 0) return false;
  if (atom.op == DimOp::FloorDiv) {
    // (a - b + 1) / b <= floordiv(a, b) <= a / b; everything is multiplied by b.
    const Dim bound = term.coefficient < 0 ? k * a : k * (a - b + Dim(1));
    return prove(rest * b + bound, depth - 1);
  }
  if (atom.op == DimOp::Mod && term.coefficient < 0) return prove(rest + k * (b - Dim(1)), depth - 1);
  return false;
}

bool prove(const Dim& dim, int depth) {
  if (dim.is_constant()) return dim.constant() >= 0;
  if (depth <= 0) return false;
  const auto terms = dim.terms();
  const auto nonnegative = [&](const DimTerm& term) {
    return term.coefficient >= 0 && std::all_of(term.atoms.begin(), term.atoms.end(),
                                                [&](const auto& atom) { return is_nonnegative_atom(*atom, depth); });
  };
  if (std::all_of(terms.begin(), terms.end(), nonnegative)) return true;
  return std::any_of(terms.begin(), terms.end(), [&](const DimTerm& term) {
    return term.atoms.size() == 1 && term.atoms.front()->op != DimOp::Symbol && prove_with_bound(dim, term, depth);
  });
}

}  // namespace

bool is_nonnegative(const Dim& dim) { return prove(dim, kMaxDepth); }

Dim smaller(const Dim& a, const Dim& b) {
  if (at_most(a, b)) return a;
  if (at_most(b, a)) return b;
  return min(a, b);
}

Dim larger(const Dim& a, const Dim& b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  return max(a, b);
}

Dim wrap_negative(const Dim& value, const Dim& size) {
  if (is_nonnegative(value)) return value;
  if (is_nonnegative(Dim(-1) - value)) return value + size;
  // max(min(value, 0), -1) is -1 for negative values and 0 for others.
  return value - size * max(min(value, Dim(0)), Dim(-1));
}

}  // namespace strop::ops
