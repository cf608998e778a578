/// The running state of one block: its shape plans, arena and values. Control flow runs other frames from within a
/// step.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/executor.h"

namespace strop::runtime {

/// What all frames of an executor share.
struct Shared {
  const Program& program;
  Threads& threads;
  ExecutorOptions options;
};

class Frame {
 public:
  Frame(const Shared& shared, size_t block);

  /// `inherited`: the symbol values of the enclosing block, empty for the main one.
  Result<void> run(std::span<const Value> inputs, std::span<Value> outputs, const StepObserver* observer,
                   std::span<const int64_t> inherited = {});
  /// The cached or new plan for these inputs; it becomes the current one.
  Result<void> select_plan(std::span<const Value> inputs, std::span<const int64_t> inherited);
  Result<void> select_plan(const std::vector<Type>& inputs, std::span<const int64_t> inherited);
  const ShapePlan* current() const { return current_; }
  size_t cached() const { return plans_.size(); }

 private:
  bool find_plan();
  Result<void> make_plan(const std::vector<Type>& inputs, std::span<const int64_t> inherited);
  void append_inherited(std::span<const int64_t> outer);
  Result<void> place_outputs();
  bool fits(size_t output) const;
  Result<void> check_outputs();
  Result<void> check_memory(std::string_view what, int64_t bytes) const;
  std::string arena_purpose(const ShapePlan& plan) const;
  Result<void> run_step(size_t index, const StepObserver* observer);
  Result<void> run_launch(size_t index);
  Result<void> run_generic(size_t index);
  Result<void> run_copy(size_t index);
  Result<std::vector<Value>> call_region(size_t block, std::vector<Value> parameters, const StepObserver* observer);
  Result<std::optional<std::vector<Value>>> launch_dynamic(size_t index, const ops::Attrs& attrs,
                                                           const std::vector<Value>& inputs);
  void* resolve(const Place& place) const;
  Result<Value> read(int32_t value) const;
  Result<Tensor> new_output(size_t index, DType dtype, const std::vector<int64_t>& dims);
  Result<void> check_overlap(size_t index) const;
  Result<void> give(const Value& result, size_t index);
  Result<void> store(int32_t value, Value result);
  Result<void> check_result(int32_t value, const Value& result) const;
  Result<void> bind_unbacked(int32_t value, const Tensor& tensor);

  Shared shared_;
  size_t block_index_;
  const plan::Block& block_;
  const std::vector<ProgramStep>& loaded_;
  std::list<std::unique_ptr<ShapePlan>> plans_;  // most recently used first
  ShapePlan* current_ = nullptr;
  std::vector<int64_t> key_;  // scratch for look-ups
  std::shared_ptr<std::byte> arena_;
  int64_t arena_capacity_ = 0;
  bool arena_untouched_ = false;
  std::span<const Value> inputs_;  // of the run in progress
  std::span<Value> outputs_;
  std::vector<Value> host_;       // per value; Host storage
  std::vector<int64_t> symbols_;  // of the run in progress: unbacked ones get bound as data arrive
  std::vector<int64_t> registers_;
  bool has_unbacked_ = false;
  std::vector<std::unique_ptr<Frame>> children_;  // per block, made when first used
  const StepObserver* observer_ = nullptr;
};

}  // namespace strop::runtime
