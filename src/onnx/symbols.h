/// TypeProto → Type: what the dimensions of a model's inputs are called, and which of them the caller fixes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "onnx/model.h"
#include "tensor/type.h"

namespace strop::onnx {

/// Dimensions that the caller fixes before anything is imported.
struct FixedShapes {
  /// Per graph input: a value for each dimension, or -1 to leave it as it is. Fixing a dimension that the model calls
  /// by a symbol fixes the symbol wherever it occurs.
  std::map<std::string, std::vector<int64_t>> inputs;
  /// Per symbol (the model's dim_param).
  std::map<std::string, int64_t> symbols;
};

/// The types of a graph's inputs. Dimensions with a dim_param become symbols of that name (other characters than
/// letters, digits, '_', '.', ':' and '/' become '_'); a dim_param that is an expression over symbols of other inputs,
/// for example "past + 1", becomes that expression. Dimensions without a name, and those written -1, get a symbol named
/// after input and axis, for example "x.2".
class InputTypes {
 public:
  /// `infos`: the graph's inputs that the caller has to supply.
  static Result<InputTypes> make(const std::vector<const ValueInfoProto*>& infos, const FixedShapes& fixed);

  /// In the order of `infos`.
  const std::vector<Type>& types() const { return types_; }

 private:
  Result<void> fix_symbol(const std::string& symbol, int64_t value, std::string_view where);
  Result<void> apply_input(const ValueInfoProto& info, const std::vector<int64_t>& dims);
  Result<void> name_symbols(const std::vector<const ValueInfoProto*>& infos);
  Result<Type> input_type(const ValueInfoProto& info, const FixedShapes& fixed);
  Dim dim_of(const DimProto& dim, std::string_view input, size_t axis);
  std::string fresh(std::string_view wish);

  std::map<std::string, std::string, std::less<>> symbol_of_;  // dim_param → symbol
  std::set<std::string> taken_;
  std::map<std::string, int> next_suffix_;
  std::map<std::string, Dim> fixed_;  // symbol → constant
  std::vector<Type> types_;
};

/// A type in which every dimension that is not a constant is what `unknown` returns.
Result<Type> to_type(const TypeProto& proto, FunctionRef<Dim()> unknown);

/// Whether `declared` contradicts `inferred`: another kind, dtype or, with ranks_too, rank. Error: says which.
Result<void> check_declared(const TypeProto& declared, const Type& inferred, bool ranks_too);

}  // namespace strop::onnx
