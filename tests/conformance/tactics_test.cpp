// Every CPU tactic, with every config, on every worked case of its operator that it accepts, against the operator's own
// meaning. Guard zones lie around all buffers, results start poisoned, and a tactic that no case reaches fails the
// suite.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "ops/operator.h"
#include "tactics/tactic.h"
#include "tensor/convert.h"

namespace strop {
namespace {

using ops::Operator;
using ops::WorkedCase;
using tactics::Config;
using tactics::Problem;
using tactics::Tactic;

constexpr int64_t kGuardBytes = 64;
constexpr auto kGuard = std::byte{0xA5};
constexpr auto kPoison = std::byte{0xFF};

/// Memory with guard zones on both sides; 64-byte aligned within.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes)
      : bytes_(bytes), memory_(Tensor::uninitialized(DType::U8, {bytes + 2 * kGuardBytes + 64})) {
    std::memset(memory_.mutable_raw(), static_cast<int>(kGuard), static_cast<size_t>(memory_.bytes()));
  }
  std::byte* data() const { return memory_.mutable_data<std::byte>() + kGuardBytes; }
  void fill(std::byte value) const { std::memset(data(), static_cast<int>(value), static_cast<size_t>(bytes_)); }
  bool intact() const {
    const auto* all = memory_.data<std::byte>();
    for (int64_t i = 0; i < memory_.bytes(); ++i) {
      if ((i < kGuardBytes || i >= kGuardBytes + bytes_) && all[i] != kGuard) return false;
    }
    return true;
  }

 private:
  int64_t bytes_;
  Tensor memory_;
};

Tensor random_tensor(const TensorType& type, bool positive, std::mt19937& random) {
  const std::vector<int64_t> dims = *as_constants(type.dims());
  if (is_complex(type.dtype)) {  // twice as many real numbers
    const DType part = type.dtype == DType::C64 ? DType::F32 : DType::F64;
    const Tensor parts = random_tensor({part, Dims{Dim(2 * element_count(dims))}, {}}, positive, random);
    return Tensor::view(type.dtype, dims, parts.raw(), parts.owner());
  }
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.1, 2.0);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) {
    if (is_float(type.dtype)) {
      value = positive ? uniform(random) : normal(random);
    } else {
      value = type.dtype == DType::Bool ? static_cast<double>(random() % 2) : static_cast<double>(random() % 5);
    }
  }
  return store_f64(type.dtype, dims, values);
}

std::vector<Value> make_inputs(const WorkedCase& item) {
  std::mt19937 random(42);
  std::vector<Value> inputs;
  for (const Type& type : item.inputs) {
    inputs.emplace_back();
    const bool plain = type.is_tensor() && type.tensor.is_static() && type.tensor.dtype != DType::String;
    if (plain) inputs.back() = random_tensor(type.tensor, item.random_positive, random);
  }
  for (const auto& [index, tensor] : item.given) inputs[index] = tensor;
  return inputs;
}

bool all_plain_tensors(const std::vector<Value>& values) {
  for (const Value& value : values) {
    if (!value.is_none() && (!value.is_tensor() || value.tensor().dtype() == DType::String)) return false;
  }
  return true;
}

/// How far a result may be from the reference, relative to the magnitude of what was summed. Exact tactics repeat the
/// reference's roundings except for elementary functions, which may be off by a few units in the last place.
double tolerance(const Tactic& tactic, DType dtype, int64_t terms) {
  const double unit = dtype == DType::F64 ? 1e-15 : dtype == DType::F16 ? 1e-3 : dtype == DType::BF16 ? 8e-3 : 1.2e-7;
  double factor = 8;
  if (tactic.numerics == tactics::Numerics::Reassociated) factor += 4 * std::sqrt(static_cast<double>(terms));
  if (tactic.name.find("winograd") != std::string_view::npos)
    factor *= 30;  // the transforms' own error, kernels/conv/conv.h
  return unit * factor;
}

/// The largest input operand bounds the number of terms that any result sums.
int64_t longest_sum(const std::vector<Value>& inputs) {
  int64_t most = 1;
  for (const Value& input : inputs) most = std::max(most, input.is_tensor() ? input.tensor().count() : 0);
  return most;
}

void expect_close(const Tensor& actual, const Tensor& expected, double limit, const std::string& where) {
  if (!is_float(expected.dtype())) {
    EXPECT_EQ(std::memcmp(actual.raw(), expected.raw(), static_cast<size_t>(expected.bytes())), 0) << where;
    return;
  }
  const std::vector<double> a = load_f64(actual);
  const std::vector<double> b = load_f64(expected);
  double scale = 0;
  for (const double value : b) scale = std::isfinite(value) ? std::max(scale, std::abs(value)) : scale;
  for (size_t i = 0; i < b.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= limit * std::max(scale, 1e-30);
    if (!same) {
      ADD_FAILURE() << where << ": element " << i << " is " << a[i] << ", expected " << b[i];
      return;
    }
  }
}

struct Prepared {
  const Tactic& tactic;
  const Config& config;
  const Problem& problem;
  const std::vector<Value>& inputs;
  const std::vector<Value>& expected;
  std::string where;
};

// Runs once and checks results, guards and that operands were left alone.
void run_and_check(const Prepared& item, Threads& threads) {
  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<tactics::Buffer> in;
  std::vector<tactics::Buffer> out;
  uint32_t packed = 0;
  for (const Value& input : item.inputs) {
    if (input.is_none()) {
      in.push_back({});
      continue;
    }
    const Tensor& tensor = input.tensor();
    memory.push_back(std::make_unique<GuardedBuffer>(tensor.bytes()));
    std::memcpy(memory.back()->data(), tensor.raw(), static_cast<size_t>(tensor.bytes()));
    in.push_back({memory.back()->data(), 0});
  }
  for (const auto& request : item.tactic.packs(item.problem, item.config)) {
    memory.push_back(std::make_unique<GuardedBuffer>(request.bytes));
    const auto operand = static_cast<size_t>(request.operand);
    item.tactic.pack(item.problem, item.config, request, item.inputs[operand].tensor(),
                     {memory.back()->data(), static_cast<size_t>(request.bytes)});
    in[operand].data = memory.back()->data();
    packed |= uint32_t{1} << request.operand;
  }
  std::vector<std::vector<std::byte>> before;
  for (size_t i = 0; i < item.inputs.size(); ++i) {
    const bool plain = item.inputs[i].is_tensor() && !(packed >> i & 1);
    before.emplace_back(plain ? in[i].as<std::byte>() : nullptr,
                        plain ? in[i].as<std::byte>() + item.inputs[i].tensor().bytes() : nullptr);
  }
  for (const Value& expected : item.expected) {
    memory.push_back(std::make_unique<GuardedBuffer>(expected.tensor().bytes()));
    memory.back()->fill(kPoison);
    out.push_back({memory.back()->data(), 0});
  }
  const auto launch = item.tactic.prepare({item.problem, item.config, threads.count(), packed, {}, {}});
  ASSERT_TRUE(launch.ok()) << item.where << ": " << launch.error().message;
  const GuardedBuffer workspace((*launch)->workspace_bytes());
  workspace.fill(kPoison);
  const auto result = (*launch)->run({in, out, workspace.data(), threads});
  ASSERT_TRUE(result.ok()) << item.where << ": " << result.error().message;
  EXPECT_TRUE(workspace.intact()) << item.where << ": wrote beside its workspace";
  for (const auto& buffer : memory) EXPECT_TRUE(buffer->intact()) << item.where << ": wrote beside a buffer";
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].empty()) continue;
    EXPECT_EQ(std::memcmp(before[i].data(), in[i].data, before[i].size()), 0)
        << item.where << ": changed operand " << i;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const Tensor& expected = item.expected[i].tensor();
    const Tensor actual = Tensor::borrow(expected.dtype(), expected.dims(), out[i].data);
    expect_close(actual, expected, tolerance(item.tactic, expected.dtype(), longest_sum(item.inputs)),
                 fmt::format("{}, result {}", item.where, i));
  }
}

Problem make_problem(const Operator& op, const WorkedCase& item, const std::vector<Value>& inputs,
                     const std::vector<Value>& outputs, bool constants) {
  Problem problem;
  problem.op = &op;
  problem.attrs = item.attrs;
  for (const Value& input : inputs) problem.inputs.push_back(input.type());
  for (const Value& output : outputs) problem.outputs.push_back(output.type());
  for (size_t i = 0; i < inputs.size(); ++i) {
    problem.constants.push_back(constants && i > 0 && inputs[i].is_tensor() ? &inputs[i].tensor() : nullptr);
  }
  return problem;
}

std::vector<const Operator*> operators_with_tactics() {
  std::vector<const Operator*> found;
  for (const Operator* op : ops::builtin_operators().all()) {
    if (!tactics::builtin_cpu_tactics().for_op(op->name, tactics::DeviceKind::Cpu).empty()) found.push_back(op);
  }
  return found;
}

class TacticConformance : public testing::TestWithParam<const Operator*> {};

TEST_P(TacticConformance, EveryTacticAgreesWithTheMeaning) {
  const Operator& op = *GetParam();
  SingleThread one;
  const auto three = make_thread_pool(3);
  std::map<std::string_view, int> runs;
  for (const Tactic* tactic : tactics::builtin_cpu_tactics().for_op(op.name, tactics::DeviceKind::Cpu))
    runs[tactic->name] = 0;
  std::set<std::string> names;
  for (const WorkedCase& item : op.cases()) {
    EXPECT_TRUE(names.insert(item.name).second) << "two cases are called " << item.name;
    const std::vector<Value> inputs = make_inputs(item);
    const auto expected = ops::evaluate({op, item.attrs, {}, inputs, item.output_count, one});
    ASSERT_TRUE(expected.ok()) << op.name << "/" << item.name << ": " << expected.error().message;
    if (!all_plain_tensors(inputs) || !all_plain_tensors(*expected)) continue;
    for (const bool constants : {true, false}) {
      const Problem problem = make_problem(op, item, inputs, *expected, constants);
      for (const Tactic* tactic : tactics::builtin_cpu_tactics().for_op(op.name, tactics::DeviceKind::Cpu)) {
        if (tactic->why_not(problem)) continue;
        for (const Config& config : tactic->configs(problem)) {
          ++runs[tactic->name];
          const std::string where = fmt::format("{} [{}] on {}{}", tactic->name, config.to_string(), item.name,
                                                constants ? "" : " (no constants)");
          run_and_check({*tactic, config, problem, inputs, *expected, where}, one);
          run_and_check({*tactic, config, problem, inputs, *expected, where + ", 3 threads"}, *three);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  for (const auto& [name, count] : runs)
    EXPECT_GT(count, 0) << "untested tactic: no worked case of " << op.name << " reaches " << name;
}

INSTANTIATE_TEST_SUITE_P(Cpu, TacticConformance, testing::ValuesIn(operators_with_tactics()),
                         [](const auto& param) { return std::string(param.param->name); });

}  // namespace
}  // namespace strop
