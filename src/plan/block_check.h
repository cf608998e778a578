/// The parts of the semantic check of a plan (plan::verify): what a block declares, and what its steps do with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace strop::plan {

/// One block of a plan while it is checked.
class BlockCheck {
 public:
  /// `outer`: the block whose step runs this one, already checked; null for the model.
  BlockCheck(const Plan& plan, size_t index, const BlockCheck* outer);

  /// Shape program, values, ports.
  Result<void> check_declarations();
  /// Operands, results, variants; then that every output is written.
  Result<void> check_steps();

  const Block& block() const { return block_; }

 private:
  Error fail(std::string_view what) const;
  bool reg_ok(Reg reg) const { return reg >= 0 && static_cast<size_t>(reg) < block_.shapes.instrs.size(); }
  bool optional_reg_ok(Reg reg) const { return reg == kNone || reg_ok(reg); }
  bool value_ok(int32_t value) const { return value >= 0 && static_cast<size_t>(value) < block_.values.size(); }
  const ValueDesc& value(int32_t id) const { return block_.values[static_cast<size_t>(id)]; }
  std::optional<int64_t> constant(Reg reg) const { return constants_[static_cast<size_t>(reg)]; }
  int32_t root(int32_t id) const;  ///< through views; after check_values

  Result<void> check_instructions();
  Result<void> check_symbols();
  Result<void> check_bindings();
  Result<void> check_conditions(const std::vector<ShapeCheck>& checks) const;
  void find_what_is_bound();
  Result<void> check_type(const TypeDesc& type) const;
  Result<void> check_size(const TypeDesc& type) const;
  bool is_sized(const TypeDesc& type) const;  ///< a tensor of fixed-width elements whose size is known before the run
  Result<void> check_value(int32_t id) const;
  Result<void> check_storage(const ValueDesc& value) const;
  Result<void> check_weight(const ValueDesc& value) const;
  Result<void> check_view(int32_t id) const;
  Result<void> check_extent(int32_t id) const;
  Result<void> check_ports() const;

  Result<void> check_step(const Step& step);
  Result<void> check_operand(const Step& step, int32_t id, bool packed) const;
  Result<void> check_result(const Step& step, int32_t id);
  Result<void> check_copy(const Step& step) const;
  Result<void> check_variants(const Step& step) const;

  const Plan& plan_;
  const Block& block_;
  const BlockCheck* outer_;
  std::string where_;
  std::vector<std::optional<int64_t>> constants_;  // per register: its value, if no symbol is in it
  std::vector<bool> bound_;                        // per symbol: known before the run
  std::vector<bool> known_;                        // per register: likewise
  std::vector<bool> written_;                      // per value, as far as the steps have been checked
};

}  // namespace strop::plan
