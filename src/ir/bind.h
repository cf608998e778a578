/// Symbols get their values from the shapes of run-time values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace strop::ir {

/// Values of symbols, over those of the enclosing graph.
class SymbolValues {
 public:
  explicit SymbolValues(const SymbolValues* outer = nullptr) : outer_(outer) {}
  std::optional<int64_t> find(const std::string& symbol) const;
  void set(const std::string& symbol, int64_t value) { values_[symbol] = value; }
  /// Gives the dims that are symbols of their own the value that `dims` has there, where they have none yet.
  void bind(const TensorType& type, const std::vector<int64_t>& dims);

 private:
  const SymbolValues* outer_;
  std::map<std::string, int64_t> values_;
};

/// Checks run-time inputs against the declared ones and binds the symbols. Error: number, dtype, rank, a constant
/// dimension or a symbol with two values; it names the input.
Result<SymbolValues> bind_inputs(const Graph& graph, const std::vector<Value>& inputs);

}  // namespace strop::ir
