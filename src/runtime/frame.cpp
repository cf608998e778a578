#include "runtime/frame.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace strop::runtime {
namespace {

using plan::kNone;
using plan::kUnknown;
using plan::Storage;

constexpr int64_t kNotATensor = -1;

void append_key(const Value& value, std::vector<int64_t>& key) {
  if (!value.is_tensor()) {
    key.push_back(kNotATensor);
    return;
  }
  const Tensor& tensor = value.tensor();
  key.push_back(tensor.rank());
  key.push_back(static_cast<int64_t>(tensor.dtype()));
  key.insert(key.end(), tensor.dims().begin(), tensor.dims().end());
}

void append_key(const Type& type, std::vector<int64_t>& key) {
  if (!type.is_tensor()) {
    key.push_back(kNotATensor);
    return;
  }
  key.push_back(type.tensor.rank());
  key.push_back(static_cast<int64_t>(type.tensor.dtype));
  for (const Dim& dim : type.tensor.dims()) key.push_back(dim.constant());
}

int64_t bytes_of(DType dtype, const std::vector<int64_t>& dims) { return memory_bytes(dtype, element_count(dims)); }

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.raw());
  const auto* b_begin = static_cast<const std::byte*>(b.raw());
  return a.bytes() > 0 && b.bytes() > 0 && a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
}

}  // namespace

Frame::Frame(const Shared& shared, size_t block)
    : shared_(shared),
      block_index_(block),
      block_(shared.program.plan->blocks[block]),
      loaded_(shared.program.steps[block]) {
  host_.resize(block_.values.size());
  children_.resize(shared.program.plan->blocks.size());
  const auto bound_symbols =
      block_.bindings.size() + static_cast<size_t>(std::count_if(block_.inherited.begin(), block_.inherited.end(),
                                                                 [](int32_t s) { return s != kNone; }));
  has_unbacked_ = bound_symbols < block_.shapes.symbols.size();
}

Result<void> Frame::select_plan(std::span<const Value> inputs, std::span<const int64_t> inherited) {
  key_.clear();
  append_inherited(inherited);
  for (const Value& input : inputs) append_key(input, key_);
  if (find_plan()) return {};
  std::vector<Type> types;
  for (const Value& input : inputs) types.push_back(input.type());
  return make_plan(types, inherited);
}

Result<void> Frame::select_plan(const std::vector<Type>& inputs, std::span<const int64_t> inherited) {
  key_.clear();
  append_inherited(inherited);
  for (const Type& input : inputs) append_key(input, key_);
  if (find_plan()) return {};
  return make_plan(inputs, inherited);
}

// Symbols of the enclosing block that this one uses take part in the key.
void Frame::append_inherited(std::span<const int64_t> outer) {
  for (const int32_t symbol : block_.inherited)
    key_.push_back(symbol == kNone ? kUnknown : outer[static_cast<size_t>(symbol)]);
}

// Makes the cached plan for key_ the current one, if there is one. Allocates nothing.
bool Frame::find_plan() {
  if (current_ && current_->key == key_) return true;
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if ((*it)->key != key_) continue;
    plans_.splice(plans_.begin(), plans_, it);
    current_ = plans_.front().get();
    return true;
  }
  return false;
}

Result<void> Frame::make_plan(const std::vector<Type>& inputs, std::span<const int64_t> inherited) {
  STROP_ASSIGN(auto made, make_shape_plan({shared_.program, block_index_, inputs, inherited, shared_.threads.count()}));
  made->key = key_;
  if (made->arena.bytes > arena_capacity_) {
    STROP_TRY(check_memory(arena_purpose(*made), made->arena.bytes));
    std::shared_ptr<std::byte> bytes = allocate(shared_.options.memory, made->arena.bytes);
    if (!bytes)
      return error(ErrorCode::OutOfMemory, "the arena of '{}' needs {} bytes", block_.name, made->arena.bytes);
    arena_ = std::move(bytes);
    arena_capacity_ = made->arena.bytes;
    arena_untouched_ = true;
  }
  plans_.push_front(std::move(made));
  if (static_cast<int>(plans_.size()) > std::max(shared_.options.max_cached_shapes, 1)) plans_.pop_back();
  current_ = plans_.front().get();
  return {};
}

Result<void> Frame::check_memory(std::string_view what, int64_t bytes) const {
  const MemoryLimit* limit = shared_.options.memory_limit.get();
  return limit == nullptr || bytes == 0 ? Result<void>() : limit->check(what, bytes);
}

// For messages: the node whose result is the largest part of an arena.
std::string Frame::arena_purpose(const ShapePlan& plan) const {
  int64_t largest = -1;
  size_t step = 0;
  for (size_t i = 0; i < block_.steps.size(); ++i) {
    for (const int32_t output : block_.steps[i].outputs) {
      const auto value = static_cast<size_t>(output);
      if (plan.places[value].root != Storage::Arena || !plan.known[value]) continue;
      const int64_t bytes = bytes_of(block_.values[value].type.dtype, plan.dims[value]);
      if (bytes > largest) step = i;
      largest = std::max(largest, bytes);
    }
  }
  const std::string of = largest < 0 ? "" : fmt::format(", the largest of {}", describe(block_.steps[step]));
  return fmt::format("holding the intermediate results{},", of);
}

Result<void> Frame::run(std::span<const Value> inputs, std::span<Value> outputs, const StepObserver* observer,
                        std::span<const int64_t> inherited) {
  if (inputs.size() != block_.inputs.size()) {
    return error(ErrorCode::InvalidArgument, "{} inputs were given, the engine takes {}", inputs.size(),
                 block_.inputs.size());
  }
  STROP_CHECK(outputs.size() == block_.outputs.size());
  STROP_TRY(select_plan(inputs, inherited));
  inputs_ = inputs;
  outputs_ = outputs;
  observer_ = observer;
  if (has_unbacked_) {
    symbols_ = current_->symbols;
    registers_ = current_->registers;
  }
  STROP_TRY(place_outputs());
  for (size_t i = 0; i < block_.steps.size(); ++i) {
    STROP_TRY(shared_.options.cancel.check());
    auto result = run_step(i, observer);
    if (!result.ok()) return in_context(result.error(), describe(block_.steps[i]));
  }
  for (Value& value : host_) value = Value();
  return {};
}

bool Frame::fits(size_t output) const {
  const auto value = static_cast<size_t>(block_.outputs[output].value);
  return outputs_[output].is_tensor() && outputs_[output].tensor().dtype() == block_.values[value].type.dtype &&
         outputs_[output].tensor().dims() == current_->dims[value];
}

// What is about to be made together, and an arena that nobody has written to yet: none of it is resident so far.
Result<void> Frame::check_outputs() {
  int64_t needed = std::exchange(arena_untouched_, false) ? arena_capacity_ : 0;
  int64_t largest = 0;
  size_t named = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto value = static_cast<size_t>(block_.outputs[i].value);
    if (block_.values[value].storage != Storage::Output || fits(i)) continue;
    const int64_t bytes = bytes_of(block_.values[value].type.dtype, current_->dims[value]);
    needed += bytes;
    if (bytes > largest) named = i;
    largest = std::max(largest, bytes);
  }
  if (largest == 0) return {};
  const std::string name = block_.outputs[named].name;
  return check_memory(fmt::format("holding the intermediate results and output '{}'", name), needed);
}

// The caller's tensors where they fit, new ones otherwise. Outputs in Host storage are set by the step that makes them.
Result<void> Frame::place_outputs() {
  STROP_TRY(check_outputs());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto value = static_cast<size_t>(block_.outputs[i].value);
    if (block_.values[value].storage == Storage::Output) {
      const std::vector<int64_t>& dims = current_->dims[value];
      const DType dtype = block_.values[value].type.dtype;
      if (!fits(i)) {
        STROP_ASSIGN(outputs_[i], new_output(i, dtype, dims));
      }
    }
    STROP_TRY(check_overlap(i));
  }
  return {};
}

// Steps write outputs while inputs and other outputs are still needed.
Result<void> Frame::check_overlap(size_t index) const {
  if (!outputs_[index].is_tensor()) return {};
  const Tensor& given = outputs_[index].tensor();
  for (const Value& input : inputs_) {
    if (!input.is_tensor() || !overlap(given, input.tensor())) continue;
    return error(ErrorCode::InvalidArgument, "the buffer of output '{}' overlaps an input", block_.outputs[index].name);
  }
  for (size_t other = 0; other < index; ++other) {
    if (!outputs_[other].is_tensor() || !overlap(given, outputs_[other].tensor())) continue;
    return error(ErrorCode::InvalidArgument, "the buffers of outputs '{}' and '{}' overlap", block_.outputs[other].name,
                 block_.outputs[index].name);
  }
  return {};
}

Result<Tensor> Frame::new_output(size_t index, DType dtype, const std::vector<int64_t>& dims) {
  const bool ours = block_index_ != 0 || !shared_.options.make_output || bit_width(dtype) == 0;
  if (ours) {
    STROP_TRY(check_memory(fmt::format("output '{}'", block_.outputs[index].name), bytes_of(dtype, dims)));
    return Tensor::uninitialized(dtype, dims);
  }
  void* data = shared_.options.make_output(index, dtype, dims);
  if (data == nullptr && byte_size(dtype, element_count(dims)) > 0) {
    return error(ErrorCode::OutOfMemory, "there is no memory for output '{}' of {}{}", block_.outputs[index].name,
                 to_string(dtype), to_string(to_dims(dims)));
  }
  const size_t alignment = alignment_of(dtype);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return error(ErrorCode::InvalidArgument, "the memory given for output '{}' is not aligned to {} bytes",
                 block_.outputs[index].name, alignment);
  }
  return Tensor::borrow(dtype, dims, data);
}

Result<void> Frame::run_step(size_t index, const StepObserver* observer) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = observer ? Clock::now() : Clock::time_point();
  switch (block_.steps[index].kind) {
    case plan::StepKind::Launch: STROP_TRY(run_launch(index)); break;
    case plan::StepKind::Generic: STROP_TRY(run_generic(index)); break;
    case plan::StepKind::Copy: STROP_TRY(run_copy(index)); break;
    case plan::StepKind::Signal:
    case plan::StepKind::Wait: break;  // one stream on the CPU: order is enough
  }
  if (observer)
    (*observer)(block_index_, index, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  return {};
}

void* Frame::resolve(const Place& place) const {
  std::byte* base = nullptr;
  switch (place.root) {
    case Storage::Input: {
      const Value& value = inputs_[static_cast<size_t>(place.index)];
      base =
          value.is_tensor() ? static_cast<std::byte*>(const_cast<void*>(value.tensor().raw())) : nullptr;  // read only
      break;
    }
    case Storage::Output:
      base = static_cast<std::byte*>(outputs_[static_cast<size_t>(place.index)].tensor().mutable_raw());
      break;
    case Storage::Weight:
      base =
          static_cast<std::byte*>(const_cast<void*>(shared_.program.weights[static_cast<size_t>(place.index)].raw()));
      break;
    case Storage::Arena: base = arena_.get(); break;
    case Storage::Host: {
      const Value& value = host_[static_cast<size_t>(place.index)];
      base = value.is_tensor() ? static_cast<std::byte*>(const_cast<void*>(value.tensor().raw())) : nullptr;
      break;
    }
    case Storage::None:
    case Storage::View: return nullptr;
  }
  return base ? base + place.offset_bytes : nullptr;
}

Result<void> Frame::run_launch(size_t index) {
  PreparedStep& step = current_->steps[index];
  for (size_t i = 0; i < step.inputs.size(); ++i) step.input_buffers[i].data = resolve(step.inputs[i]);
  for (size_t i = 0; i < step.outputs.size(); ++i) step.output_buffers[i].data = resolve(step.outputs[i]);
  SingleThread single;
  return step.launch->run({step.input_buffers, step.output_buffers, arena_.get() + step.workspace_offset,
                           step.alone ? static_cast<Threads&>(single) : shared_.threads, nullptr,
                           shared_.options.memory_limit.get()});
}

Result<void> Frame::run_copy(size_t index) {
  const plan::Step& step = block_.steps[index];
  const PreparedStep& prepared = current_->steps[index];
  const auto to = static_cast<size_t>(step.outputs[0]);
  if (prepared.copy_bytes != kUnknown && block_.values[to].storage != Storage::Host) {
    std::memcpy(resolve(prepared.outputs[0]), resolve(prepared.inputs[0]), static_cast<size_t>(prepared.copy_bytes));
    return {};
  }
  STROP_ASSIGN(Value value, read(step.inputs[0]));
  if (value.is_tensor()) {
    STROP_TRY(check_memory("its result", bytes_of(value.tensor().dtype(), value.tensor().dims())));
    value = value.tensor().clone();
  }
  return store(step.outputs[0], std::move(value));
}

// A value as the operator's evaluation sees it. Tensors in buffers are borrowed, not copied.
Result<Value> Frame::read(int32_t id) const {
  if (id == kNone) return Value();
  const auto value = static_cast<size_t>(id);
  const Place& place = current_->places[value];
  if (place.root == Storage::Host && place.offset_bytes == 0 && block_.values[value].storage == Storage::Host)
    return host_[value];
  if (place.root == Storage::Input && block_.values[value].storage == Storage::Input)
    return inputs_[static_cast<size_t>(place.index)];
  if (place.root == Storage::Weight && block_.values[value].storage == Storage::Weight) {
    return Value(shared_.program.weights[static_cast<size_t>(place.index)]);
  }
  STROP_CHECK(current_->known[value], "value {} has no known shape", id);
  STROP_CHECK(block_.values[value].pitch == kNone, "a pitched value reached a generic step");
  return Value(Tensor::borrow(block_.values[value].type.dtype, current_->dims[value], resolve(place)));
}

// A result made at run time goes into the caller's buffer if it fits there, else it replaces it.
Result<void> Frame::give(const Value& result, size_t index) {
  Value& output = outputs_[index];
  if (!result.is_tensor() || bit_width(result.tensor().dtype()) == 0) {
    output = result;
    return {};
  }
  const Tensor& tensor = result.tensor();
  const bool fits =
      output.is_tensor() && output.tensor().dtype() == tensor.dtype() && output.tensor().dims() == tensor.dims();
  if (!fits && (block_index_ != 0 || !shared_.options.make_output)) {
    output = result;
    return {};
  }
  if (!fits) {
    STROP_ASSIGN(output, new_output(index, tensor.dtype(), tensor.dims()));
    STROP_TRY(check_overlap(index));
  }
  if (tensor.bytes() > 0) std::memcpy(output.tensor().mutable_raw(), tensor.raw(), static_cast<size_t>(tensor.bytes()));
  return {};
}

Result<void> Frame::store(int32_t id, Value result) {
  const auto value = static_cast<size_t>(id);
  const plan::ValueDesc& desc = block_.values[value];
  if (desc.storage == Storage::None) return {};
  STROP_TRY(check_result(id, result));
  if (desc.storage != Storage::Host) {
    const Tensor& tensor = result.tensor();
    std::memcpy(resolve(current_->places[value]), tensor.raw(), static_cast<size_t>(tensor.bytes()));
    return {};
  }
  if (result.is_tensor()) STROP_TRY(bind_unbacked(id, result.tensor()));
  for (size_t i = 0; i < block_.outputs.size(); ++i) {
    if (block_.outputs[i].value == id) STROP_TRY(give(result, i));
  }
  host_[value] = std::move(result);
  return {};
}

// What a step made at run time must be what later steps were planned for.
Result<void> Frame::check_result(int32_t id, const Value& result) const {
  const auto value = static_cast<size_t>(id);
  const plan::TypeDesc& type = block_.values[value].type;
  if (type.kind != TypeKind::Tensor && !result.is_none() && !result.is_tensor()) return {};
  if (type.kind == TypeKind::Optional) return {};
  const bool fits = type.kind == TypeKind::Tensor && result.is_tensor() && result.tensor().dtype() == type.dtype &&
                    (!current_->known[value] || result.tensor().dims() == current_->dims[value]);
  if (fits) return {};
  const std::string planned = type.kind != TypeKind::Tensor
                                  ? "a sequence"
                                  : to_string(current_->known[value] ? Type(type.dtype, to_dims(current_->dims[value]))
                                                                     : Type::unranked(type.dtype));
  return error(ErrorCode::InvalidArgument, "a result is {} where {} was planned", to_string(result.type()), planned);
}

// Sizes that only the data told: symbols of the value's type get their values.
Result<void> Frame::bind_unbacked(int32_t id, const Tensor& tensor) {
  const plan::ValueDesc& desc = block_.values[static_cast<size_t>(id)];
  if (!has_unbacked_ || !desc.type.dims || static_cast<int64_t>(desc.type.dims->size()) != tensor.rank()) return {};
  bool changed = false;
  for (size_t axis = 0; axis < desc.type.dims->size(); ++axis) {
    const plan::ShapeInstr& instr = block_.shapes.instrs[static_cast<size_t>((*desc.type.dims)[axis])];
    if (instr.op != plan::ShapeOp::Symbol || symbols_[static_cast<size_t>(instr.value)] != kUnknown) continue;
    symbols_[static_cast<size_t>(instr.value)] = tensor.dim(static_cast<int64_t>(axis));
    changed = true;
  }
  if (!changed) return {};
  return block_.shapes.evaluate(symbols_, registers_);
}

Result<void> Frame::run_generic(size_t index) {
  const plan::Step& step = block_.steps[index];
  const ProgramStep& loaded = loaded_[index];
  std::vector<Value> inputs;
  for (const int32_t id : step.inputs) {
    STROP_ASSIGN(Value value, read(id));
    inputs.push_back(std::move(value));
  }
  ops::Attrs attrs = loaded.attrs;
  if (loaded.symbolic_attrs) attrs = bind_attrs(attrs, block_.shapes, has_unbacked_ ? symbols_ : current_->symbols);
  if (!loaded.late.empty()) {
    STROP_ASSIGN(attrs, ops::bind_late(attrs, loaded.late, inputs));
  }
  STROP_ASSIGN(auto launched, launch_dynamic(index, attrs, inputs));
  std::vector<Value> results;
  if (launched) {
    results = std::move(*launched);
  } else {
    const auto call = [&](size_t region, std::vector<Value> parameters) {
      STROP_CHECK(region < step.blocks.size(), "{} runs region {}", step.op, region);
      return call_region(static_cast<size_t>(step.blocks[region]), std::move(parameters), observer_);
    };
    const ops::EvalContext::RegionCall regions(call);
    STROP_ASSIGN(results, ops::evaluate({*loaded.op,
                                         attrs,
                                         {},
                                         inputs,
                                         step.outputs.size(),
                                         shared_.threads,
                                         loaded.op->has_regions ? &regions : nullptr,
                                         shared_.options.memory_limit.get()}));
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) STROP_TRY(store(step.outputs[i], std::move(results[i])));
  return {};
}

// Now that the data are known the problem is an ordinary one: run the planned tactic if it applies.
Result<std::optional<std::vector<Value>>> Frame::launch_dynamic(size_t index, const ops::Attrs& attrs,
                                                                const std::vector<Value>& inputs) {
  const plan::Step& step = block_.steps[index];
  const ProgramStep& loaded = loaded_[index];
  const std::optional<std::vector<Value>> nothing;
  if (loaded.op->has_regions || loaded.variants.empty() || !loaded.variants[0].tactic ||
      !loaded.variants[0].tactic->prepare)
    return nothing;
  for (const int32_t packed : step.variants[0].packed) {
    if (packed != kNone) return nothing;
  }
  std::vector<Type> types;
  for (const Value& input : inputs) {
    if (!input.is_none() && !input.is_tensor()) return nothing;
    types.push_back(input.type());
  }
  for (const ops::LateField& late : loaded.late) types[static_cast<size_t>(late.operand)] = Type();
  ops::InferContext ctx(attrs, types, step.outputs.size(), "?");
  ctx.known_inputs.resize(types.size());
  STROP_TRY(ops::infer(*loaded.op, ctx));
  for (const Type& type : ctx.outputs) {
    if (!type.is_tensor() || !type.tensor.is_static() || bit_width(type.tensor.dtype) == 0) return nothing;
  }
  const tactics::Problem problem = concrete_problem(loaded, attrs, std::move(types), ctx.outputs);
  const tactics::Tactic& tactic = *loaded.variants[0].tactic;
  if (tactic.why_not(problem)) return nothing;
  STROP_ASSIGN(const auto launch,
               tactic.prepare({problem, loaded.variants[0].config, shared_.threads.count(), 0, {}, {}}));
  std::vector<tactics::Buffer> in;
  std::vector<tactics::Buffer> out;
  std::vector<Value> results;
  for (const Value& input : inputs)
    in.push_back({input.is_tensor() ? const_cast<void*>(input.tensor().raw()) : nullptr, 0});
  int64_t needed = launch->workspace_bytes();
  for (const Type& type : problem.outputs) needed += bytes_of(type.tensor.dtype, *as_constants(type.tensor.dims()));
  STROP_TRY(check_memory("its result", needed));
  for (const Type& type : problem.outputs) {
    Tensor tensor = Tensor::uninitialized(type.tensor.dtype, *as_constants(type.tensor.dims()));
    out.push_back({tensor.mutable_raw(), 0});
    results.emplace_back(std::move(tensor));
  }
  const std::shared_ptr<std::byte> workspace = allocate(shared_.options.memory, launch->workspace_bytes());
  if (!workspace) return error(ErrorCode::OutOfMemory, "its workspace needs {} bytes", launch->workspace_bytes());
  STROP_TRY(launch->run({in, out, workspace.get(), shared_.threads, nullptr, shared_.options.memory_limit.get()}));
  return std::optional(std::move(results));
}

Result<std::vector<Value>> Frame::call_region(size_t block, std::vector<Value> parameters,
                                              const StepObserver* observer) {
  auto& child = children_[block];
  if (!child) child = std::make_unique<Frame>(shared_, block);
  const plan::Block& desc = shared_.program.plan->blocks[block];
  std::vector<Value> results(desc.outputs.size());
  STROP_TRY(child->run(parameters, results, observer, has_unbacked_ ? symbols_ : current_->symbols));
  return results;
}

}  // namespace strop::runtime
