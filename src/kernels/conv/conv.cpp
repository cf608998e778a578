#include "kernels/conv/conv.h"

#include "base/check.h"
#include "kernels/conv/methods.h"

namespace strop::kernels {
namespace {

const conv::Method& method_of(ConvMethod method) {
  switch (method) {
    case ConvMethod::ImplicitGemm: return conv::kImplicitGemm;
    case ConvMethod::RowGemm: return conv::kRowGemm;
    case ConvMethod::Depthwise: return conv::kDepthwise;
    case ConvMethod::GroupedDirect: return conv::kGroupedDirect;
    case ConvMethod::Winograd2: return conv::kWinograd2;
    case ConvMethod::Winograd4: return conv::kWinograd4;
    case ConvMethod::Transposed: return conv::kTransposed;
  }
  STROP_UNREACHABLE("convolution method {}", static_cast<int>(method));
}

bool is_sane(const ConvProblem& p) {
  bool sane = p.batch >= 0 && p.in_channels >= 1 && p.out_channels >= 1 && p.groups >= 1 &&
              p.in_channels % p.groups == 0 && p.out_channels % p.groups == 0 &&
              (p.in_pixel_stride == 0 || p.in_pixel_stride >= p.in_channels) &&
              (p.out_pixel_stride == 0 || p.out_pixel_stride >= p.out_channels);
  for (size_t axis = 0; axis < 3; ++axis) {
    sane = sane && p.in[axis] >= 0 && p.window.kernel[axis] >= 1 && p.window.stride[axis] >= 1 &&
           p.window.dilation[axis] >= 1 && p.output_padding[axis] >= 0;
  }
  return sane;
}

}  // namespace

int64_t out_extent(const ConvProblem& problem, int axis) {
  const auto i = static_cast<size_t>(axis);
  const Window& w = problem.window;
  const int64_t pads = w.pad_begin[i] + w.pad_end[i];
  const int64_t span = (w.kernel[i] - 1) * w.dilation[i] + 1;
  if (problem.transposed) {
    if (problem.in[i] == 0) return 0;
    return std::max<int64_t>((problem.in[i] - 1) * w.stride[i] + span + problem.output_padding[i] - pads, 0);
  }
  const int64_t room = problem.in[i] + pads - span;
  return room < 0 ? 0 : room / w.stride[i] + 1;
}

const char* to_string(ConvMethod method) {
  switch (method) {
    case ConvMethod::ImplicitGemm: return "implicit_gemm";
    case ConvMethod::RowGemm: return "row_gemm";
    case ConvMethod::Depthwise: return "depthwise";
    case ConvMethod::GroupedDirect: return "grouped_direct";
    case ConvMethod::Winograd2: return "winograd2";
    case ConvMethod::Winograd4: return "winograd4";
    case ConvMethod::Transposed: return "transposed";
  }
  return "";
}

const char* why_not(ConvMethod method, const ConvProblem& problem, CpuTarget target) {
  if (problem.transposed != (method == ConvMethod::Transposed)) {
    return problem.transposed ? "cannot transpose" : "transposed convolutions only";
  }
  if (problem.nchw_input && method != ConvMethod::RowGemm) return "needs channels-last input";
  return method_of(method).why_not(problem, target);
}

ConvPlan plan_conv(const ConvProblem& problem, ConvMethod method, const ConvConfig& config) {
  STROP_CHECK(is_sane(problem));
  const char* reason = why_not(method, problem, config.target);
  STROP_CHECK(reason == nullptr, "{} {}", to_string(method), reason);
  ConvPlan plan{.problem = problem, .method = method, .config = config};
  if (plan.problem.in_pixel_stride == 0) plan.problem.in_pixel_stride = problem.in_channels;
  if (plan.problem.out_pixel_stride == 0) plan.problem.out_pixel_stride = problem.out_channels;
  for (int axis = 0; axis < 3; ++axis) plan.out[static_cast<size_t>(axis)] = out_extent(problem, axis);
  plan.out_pixels = problem.batch * conv::volume(plan.out);
  plan.group_in = problem.in_channels / problem.groups;
  plan.group_out = problem.out_channels / problem.groups;
  method_of(method).choose(plan);
  return plan;
}

std::vector<ConvConfig> candidate_configs(ConvMethod method, const ConvProblem& problem, CpuTarget target) {
  const ConvConfig chosen = plan_conv(problem, method, {.target = target}).config;
  std::vector<ConvConfig> configs{chosen};
  const auto add = [&](ConvConfig config) {
    if (std::find(configs.begin(), configs.end(), config) == configs.end()) configs.push_back(config);
  };
  if (method == ConvMethod::Depthwise || method == ConvMethod::GroupedDirect) return configs;
  for (const double factor : {0.5, 2.0}) {
    ConvConfig config = chosen;
    config.pixel_block = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(chosen.pixel_block) * factor), 1);
    add(config);
    config = chosen;
    config.k_block = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(chosen.k_block) * factor), 1);
    add(config);
  }
  return configs;
}

size_t packed_weight_bytes(const ConvPlan& plan) { return method_of(plan.method).weight_floats(plan) * sizeof(float); }

void pack_weights(const ConvPlan& plan, const float* weights, float* packed) {
  method_of(plan.method).pack(plan, weights, packed);
}

size_t conv_workspace_bytes(const ConvPlan& plan, int threads) {
  if (plan.out_pixels == 0) return 0;
  return method_of(plan.method).worker_bytes(plan) * static_cast<size_t>(threads) + conv::kAlign;
}

void run_conv(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads) {
  if (plan.out_pixels == 0) return;
  STROP_CHECK(buffers.input || plan.problem.batch * conv::volume(plan.problem.in) == 0);
  STROP_CHECK(buffers.weights && buffers.output && buffers.workspace);
  method_of(plan.method).run(plan, buffers, epilogue, threads);
}

}  // namespace strop::kernels
