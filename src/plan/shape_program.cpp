#include <algorithm>

#include "plan/plan.h"

namespace strop::plan {
namespace {

Reg emit(ShapeProgram& program, ShapeInstr instr) {
  const auto it = std::find(program.instrs.begin(), program.instrs.end(), instr);
  if (it != program.instrs.end()) return static_cast<Reg>(it - program.instrs.begin());
  program.instrs.push_back(instr);
  return static_cast<Reg>(program.instrs.size() - 1);
}

int64_t symbol_index(ShapeProgram& program, const std::string& name) {
  const auto it = std::find(program.symbols.begin(), program.symbols.end(), name);
  if (it != program.symbols.end()) return it - program.symbols.begin();
  program.symbols.push_back(name);
  return static_cast<int64_t>(program.symbols.size()) - 1;
}

ShapeOp shape_op(DimOp op) {
  switch (op) {
    case DimOp::Symbol: return ShapeOp::Symbol;
    case DimOp::FloorDiv: return ShapeOp::FloorDiv;
    case DimOp::Mod: return ShapeOp::Mod;
    case DimOp::Min: return ShapeOp::Min;
    case DimOp::Max: return ShapeOp::Max;
  }
  return ShapeOp::Symbol;
}

Reg lower_atom(ShapeProgram& program, const DimAtom& atom) {
  if (atom.op == DimOp::Symbol)
    return emit(program, {ShapeOp::Symbol, symbol_index(program, atom.symbol), kNone, kNone});
  const Reg a = program.lower(atom.operands[0]);
  const Reg b = program.lower(atom.operands[1]);
  return emit(program, {shape_op(atom.op), 0, a, b});
}

// False: overflow or division by zero.
bool compute(const ShapeInstr& instr, int64_t a, int64_t b, int64_t& out) {
  switch (instr.op) {
    case ShapeOp::Add: return !__builtin_add_overflow(a, b, &out);
    case ShapeOp::Mul: return !__builtin_mul_overflow(a, b, &out);
    case ShapeOp::FloorDiv:
    case ShapeOp::Mod:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      out = (instr.op == ShapeOp::FloorDiv ? floor_div(Dim(a), Dim(b)) : mod(Dim(a), Dim(b))).constant();
      return true;
    case ShapeOp::Min: out = std::min(a, b); return true;
    case ShapeOp::Max: out = std::max(a, b); return true;
    case ShapeOp::Constant:
    case ShapeOp::Symbol: break;
  }
  return false;
}

}  // namespace

Reg ShapeProgram::lower(const Dim& dim) {
  if (dim.is_constant()) return emit(*this, {ShapeOp::Constant, dim.constant(), kNone, kNone});
  Reg sum = kNone;
  for (const DimTerm& term : dim.terms()) {
    Reg value = kNone;
    for (const auto& atom : term.atoms) {
      const Reg factor = lower_atom(*this, *atom);
      value = value == kNone ? factor : emit(*this, {ShapeOp::Mul, 0, value, factor});
    }
    if (value == kNone) {
      value = emit(*this, {ShapeOp::Constant, term.coefficient, kNone, kNone});
    } else if (term.coefficient != 1) {
      const Reg coefficient = emit(*this, {ShapeOp::Constant, term.coefficient, kNone, kNone});
      value = emit(*this, {ShapeOp::Mul, 0, coefficient, value});
    }
    sum = sum == kNone ? value : emit(*this, {ShapeOp::Add, 0, sum, value});
  }
  return sum;
}

Result<void> ShapeProgram::evaluate(const std::vector<int64_t>& symbol_values, std::vector<int64_t>& registers) const {
  for (size_t i = 0; i < instrs.size(); ++i) {
    const ShapeInstr& instr = instrs[i];
    if (instr.op == ShapeOp::Constant) {
      registers[i] = instr.value;
    } else if (instr.op == ShapeOp::Symbol) {
      registers[i] = symbol_values[static_cast<size_t>(instr.value)];
    } else {
      const int64_t a = registers[static_cast<size_t>(instr.a)];
      const int64_t b = registers[static_cast<size_t>(instr.b)];
      registers[i] = kUnknown;
      if (a == kUnknown || b == kUnknown) continue;
      if (!compute(instr, a, b, registers[i])) {
        return error(ErrorCode::InvalidArgument,
                     "the input shapes make dimension r{} = {} and {} overflow or divide by zero", i, a, b);
      }
    }
  }
  return {};
}

}  // namespace strop::plan
