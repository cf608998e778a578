#include "select/workbench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace strop::select {
namespace {

int64_t bytes_of(const Type& type) {
  if (!type.is_tensor()) return 0;
  return byte_size(type.tensor.dtype, element_count(*as_constants(type.tensor.dims())));
}

template <class T>
void fill_normal(std::vector<std::byte>& bytes) {
  std::mt19937 random(17);
  std::normal_distribution<T> normal;
  // A period that no tile is a multiple of is as good as fresh numbers, and much faster.
  std::array<T, 4099> drawn;
  for (T& value : drawn) value = normal(random);
  for (size_t done = 0; done < bytes.size();) {
    const size_t count = std::min(bytes.size() - done, sizeof(drawn));
    std::memcpy(bytes.data() + done, drawn.data(), count);
    done += count;
  }
}

std::vector<std::byte> numbers(DType dtype, int64_t bytes) {
  std::vector<std::byte> result(static_cast<size_t>(bytes));
  if (dtype == DType::F32) fill_normal<float>(result);
  if (dtype == DType::F64) fill_normal<double>(result);
  return result;
}

uint32_t packed_mask(const std::vector<tactics::PackRequest>& requests) {
  uint32_t mask = 0;
  for (const tactics::PackRequest& request : requests) mask |= uint32_t{1} << request.operand;
  return mask;
}

}  // namespace

Result<std::unique_ptr<tactics::Launch>> prepare_candidate(const tactics::Problem& problem,
                                                           const tactics::Tactic& tactic, const tactics::Config& config,
                                                           int threads) {
  return tactic.prepare(
      {problem, config, tactics::runs_alone(config) ? 1 : threads, packed_mask(tactic.packs(problem, config)), {}, {}});
}

Workbench::Workbench(const tactics::Problem& problem, device::Device& device, Threads& threads)
    : problem_(problem), device_(device), threads_(threads) {}

Result<std::unique_ptr<device::Memory>> Workbench::operand(size_t index) {
  const TensorType& type = problem_.in(index);
  const int64_t bytes = bytes_of(problem_.inputs[index]);
  STROP_ASSIGN(auto memory, device_.allocate(bytes));
  if (problem_.is_constant(index)) {
    STROP_TRY(device_.upload(
        *memory, 0, {static_cast<const std::byte*>(problem_.constants[index]->raw()), static_cast<size_t>(bytes)}));
  } else {
    STROP_TRY(device_.upload(*memory, 0, numbers(type.dtype, bytes)));
  }
  return memory;
}

Result<void> Workbench::make_operands() {
  if (made_) return {};
  for (size_t i = 0; i < problem_.inputs.size(); ++i) {
    tactics::Buffer buffer;
    if (problem_.has_input(i)) {
      if (problem_.is_constant(i) && device_.properties().kind == device::Kind::Cpu) {
        buffer.data = const_cast<void*>(problem_.constants[i]->raw());
      } else {
        STROP_ASSIGN(auto memory, operand(i));
        buffer.data = memory->data();
        memory_.push_back(std::move(memory));
      }
    }
    inputs_.push_back(buffer);
  }
  for (const Type& type : problem_.outputs) {
    tactics::Buffer buffer;
    if (!type.is_none()) {
      STROP_ASSIGN(auto memory, device_.allocate(bytes_of(type)));
      buffer.data = memory->data();
      memory_.push_back(std::move(memory));
    }
    outputs_.push_back(buffer);
  }
  made_ = true;
  return {};
}

Result<int64_t> Workbench::bytes_needed(const tactics::Tactic& tactic, const tactics::Config& config) {
  STROP_ASSIGN(const auto launch, prepare_candidate(problem_, tactic, config, threads_.count()));
  int64_t bytes = launch->workspace_bytes();
  for (const tactics::PackRequest& request : tactic.packs(problem_, config)) bytes += request.bytes;
  if (made_) return bytes;
  for (size_t i = 0; i < problem_.inputs.size(); ++i) {
    if (problem_.has_input(i) && !problem_.is_constant(i)) bytes += bytes_of(problem_.inputs[i]);
  }
  for (const Type& type : problem_.outputs) bytes += bytes_of(type);
  return bytes;
}

Result<Work> Workbench::add(const tactics::Tactic& tactic, const tactics::Config& config) {
  STROP_TRY(make_operands());
  auto candidate = std::make_shared<Candidate>();
  candidate->inputs = inputs_;
  for (const tactics::PackRequest& request : tactic.packs(problem_, config)) {
    const auto operand = static_cast<size_t>(request.operand);
    STROP_CHECK(problem_.is_constant(operand), "{} packs an operand that is not constant", tactic.name);
    STROP_ASSIGN(auto memory, device_.allocate(request.bytes));
    const auto size = static_cast<size_t>(request.bytes);
    if (device_.properties().kind == device::Kind::Cpu) {
      tactic.pack(problem_, config, request, *problem_.constants[operand],
                  {static_cast<std::byte*>(memory->data()), size});
    } else {
      std::vector<std::byte> packed(size);
      tactic.pack(problem_, config, request, *problem_.constants[operand], packed);
      STROP_TRY(device_.upload(*memory, 0, packed));
    }
    candidate->inputs[operand] = {memory->data(), 0};
    candidate->packed.push_back(std::move(memory));
  }
  STROP_ASSIGN(candidate->launch, prepare_candidate(problem_, tactic, config, threads_.count()));
  STROP_ASSIGN(candidate->workspace, device_.allocate(candidate->launch->workspace_bytes()));
  candidate->threads = tactics::runs_alone(config) ? static_cast<Threads*>(&single_) : &threads_;
  return Work([candidate, outputs = outputs_](device::Stream& stream) {
    return candidate->launch->run(
        {candidate->inputs, outputs, candidate->workspace->data(), *candidate->threads, &stream});
  });
}

}  // namespace strop::select
