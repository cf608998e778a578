#include <algorithm>
#include <array>

#include "kernels/conv/conv.h"
#include "kernels/transpose/transpose.h"
#include "ops/conv/conv.h"
#include "ops/families.h"
#include "tactics/epilogue_roles.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::ConvMethod;
using kernels::ConvProblem;
using tactics::Config;
using tactics::PackRequest;
using tactics::Problem;

std::optional<std::string> roles_of(const Problem& problem, tactics::EpilogueRoles& roles) {
  const auto& attrs = problem.attrs.as<ConvAttrs>();
  const size_t axis = channel_axis(attrs.output_channels_last, static_cast<size_t>(problem.out().rank()));
  const bool has_bias = problem.has_input(kConvBiasInput);
  if (auto reason = tactics::resolve_epilogue(problem, {attrs.epilogue, kConvEpilogueInput, axis, has_bias}, roles))
    return reason;
  if (has_bias) roles.bias = static_cast<int32_t>(kConvBiasInput);
  return std::nullopt;
}

// The kernels' description. What is symbolic counts as 1: enough to ask which methods apply.
ConvProblem describe(const Problem& problem) {
  const auto& attrs = problem.attrs.as<ConvAttrs>();
  const Dims& x = problem.in(0).dims();
  const Dims& w = problem.in(1).dims();
  const size_t spatial = x.size() - 2;
  const auto known = [](const Dim& dim) { return dim.as_constant().value_or(1); };
  ConvProblem conv;
  conv.batch = known(x[0]);
  conv.in_channels = known(x[channel_axis(attrs.input_channels_last, x.size())]);
  conv.out_channels = known(problem.out().dims()[channel_axis(attrs.output_channels_last, x.size())]);
  conv.groups = attrs.group;
  conv.transposed = attrs.transposed;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    conv.in[axis] = known(x[spatial_axis(attrs.input_channels_last) + i]);
    conv.window.kernel[axis] = known(w[2 + i]);
    conv.window.stride[axis] = attrs.strides[i];
    conv.window.dilation[axis] = attrs.dilations[i];
    conv.window.pad_begin[axis] = known(attrs.pads[i]);
    conv.window.pad_end[axis] = known(attrs.pads[spatial + i]);
    if (attrs.transposed) conv.output_padding[axis] = attrs.output_padding[i];
  }
  return conv;
}

// What every method needs.
std::optional<std::string> common_why_not(const Problem& problem) {
  if (problem.in(0).dtype != DType::F32 || problem.out().dtype != DType::F32) return "only f32";
  if (!problem.in(0).has_rank() || !problem.out().has_rank()) return "an operand's rank is not known";
  if (!problem.is_constant(1)) return "the weights are not constant";
  if (problem.in(1).count() == Dim(0)) return "there are no weights";
  const auto& attrs = problem.attrs.as<ConvAttrs>();
  const Dim& channels = problem.in(0).dims()[channel_axis(attrs.input_channels_last, problem.in(0).dims().size())];
  if (!channels.is_constant()) return "the number of channels is not known";
  tactics::EpilogueRoles roles;
  return roles_of(problem, roles);
}

template <ConvMethod method>
kernels::ConvPlan plan_of(ConvProblem conv, const Config& config) {
  kernels::ConvConfig kernel;
  kernel.k_block = config.get("k_block", 0);
  kernel.pixel_block = config.get("pixel_block", 0);
  kernel.channel_block = config.get("channel_block", 0);
  return kernels::plan_conv(conv, method, kernel);
}

std::optional<std::string> reason(const char* text) { return text ? std::optional<std::string>(text) : std::nullopt; }

template <ConvMethod method>
std::optional<std::string> why_not_last(const Problem& problem) {
  if (auto common = common_why_not(problem)) return common;
  const auto& attrs = problem.attrs.as<ConvAttrs>();
  if (!attrs.output_channels_last) return "the result is not channels-last";
  ConvProblem conv = describe(problem);
  conv.nchw_input = !attrs.input_channels_last;
  return reason(kernels::why_not(method, conv, kernels::best_cpu_target()));
}

template <ConvMethod method>
std::vector<PackRequest> packs(const Problem& problem, const Config& config) {
  ConvProblem conv = describe(problem);
  const auto bytes = static_cast<int64_t>(kernels::packed_weight_bytes(plan_of<method>(conv, config)));
  return {{1, bytes, fmt::format("weights for {}", kernels::to_string(method))}};
}

template <ConvMethod method>
void pack(const Problem& problem, const Config& config, const PackRequest&, const Tensor& source,
          std::span<std::byte> packed) {
  kernels::pack_weights(plan_of<method>(describe(problem), config), source.data<float>(),
                        reinterpret_cast<float*>(packed.data()));
}

kernels::ConvEpilogue epilogue_of(const tactics::EpilogueRoles& roles, const tactics::LaunchArgs& args) {
  const auto operand = [&](int32_t index) {
    return index < 0 ? nullptr : args.inputs[static_cast<size_t>(index)].as<const float>();
  };
  kernels::ConvEpilogue epilogue;
  epilogue.bias = operand(roles.bias);
  epilogue.residual = operand(roles.residual);
  if (roles.residual >= 0) epilogue.residual_pixel_stride = args.inputs[static_cast<size_t>(roles.residual)].pitch;
  epilogue.lo = roles.lo;
  epilogue.hi = roles.hi;
  return epilogue;
}

class ConvLaunch final : public tactics::Launch {
 public:
  kernels::ConvPlan plan;
  tactics::EpilogueRoles roles;
  tactics::TileEpilogue tiles;
  size_t workspace = 0;

  int64_t workspace_bytes() const override { return static_cast<int64_t>(workspace); }
  Result<void> run(const tactics::LaunchArgs& args) const override {
    kernels::ConvEpilogue epilogue = epilogue_of(roles, args);
    Context context{*this, args};
    if (!tiles.empty()) {
      epilogue.apply = apply_tiles;
      epilogue.context = &context;
    }
    kernels::run_conv(plan,
                      {args.inputs[0].as<const float>(), args.inputs[1].as<const float>(), args.outputs[0].as<float>(),
                       args.workspace},
                      epilogue, args.threads);
    return {};
  }

 private:
  struct Context {
    const ConvLaunch& launch;
    const tactics::LaunchArgs& args;
  };
  static void apply_tiles(void* context, const kernels::ConvBlock& block) {
    const auto& [launch, args] = *static_cast<const Context*>(context);
    launch.tiles.apply(
        args, {block.out, block.pixel_stride, block.first_pixel, block.first_channel, block.pixels, block.channels});
  }
};

template <ConvMethod method>
Result<std::unique_ptr<tactics::Launch>> prepare_last(const tactics::PrepareArgs& args) {
  auto launch = std::make_unique<ConvLaunch>();
  roles_of(args.problem, launch->roles);
  ConvProblem conv = describe(args.problem);
  conv.nchw_input = !args.problem.attrs.as<ConvAttrs>().input_channels_last;
  if (!args.input_pitches.empty()) conv.in_pixel_stride = args.input_pitches[0];
  if (!args.output_pitches.empty()) conv.out_pixel_stride = args.output_pitches[0];
  launch->plan = plan_of<method>(conv, args.config);
  if (launch->roles.general) {
    const auto& attrs = args.problem.attrs.as<ConvAttrs>();
    launch->tiles =
        tactics::TileEpilogue({attrs.epilogue, kConvEpilogueInput, static_cast<size_t>(args.problem.out().rank()) - 1},
                              launch->roles, conv.out_channels);
  }
  launch->workspace = kernels::conv_workspace_bytes(launch->plan, args.threads);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

// Expected cost of a method relative to the direct sum on this problem, from its multiplications and fixed work.
template <ConvMethod method>
double rank(const Problem& problem) {
  const ConvProblem conv = describe(problem);
  const bool wide = conv.in_channels >= 32 && conv.out_channels >= 32;
  switch (method) {
    case ConvMethod::ImplicitGemm: return 1.0;
    case ConvMethod::RowGemm: return conv.in_channels <= 4 ? 0.8 : 1.5;
    case ConvMethod::Depthwise: return 0.2;
    case ConvMethod::GroupedDirect: return 0.5;
    case ConvMethod::Winograd2: return wide ? 0.8 : 1.2;
    case ConvMethod::Winograd4: return wide && conv.in[1] >= 8 && conv.in[2] >= 8 ? 0.6 : 1.1;
    case ConvMethod::Transposed: return 1.0;
  }
  return 1.0;
}

// -- Any layout: transposed into scratch memory, computed channels-last, transposed back --

template <ConvMethod method>
std::optional<std::string> why_not_any_layout(const Problem& problem) {
  if (auto common = common_why_not(problem)) return common;
  const auto& attrs = problem.attrs.as<ConvAttrs>();
  if (attrs.input_channels_last && attrs.output_channels_last) return "both layouts are channels-last already";
  tactics::EpilogueRoles roles;
  roles_of(problem, roles);
  if (roles.general || (roles.residual >= 0 && !attrs.output_channels_last))
    return "an epilogue in another layout than the kernel's";
  return reason(kernels::why_not(method, describe(problem), kernels::best_cpu_target()));
}

class AnyLayoutLaunch final : public tactics::Launch {
 public:
  kernels::ConvPlan plan;
  tactics::EpilogueRoles roles;
  bool input_last = false, output_last = false;
  int64_t kernel_bytes = 0, input_bytes = 0, output_bytes = 0;

  int64_t workspace_bytes() const override {
    return kernel_bytes + (input_last ? 0 : input_bytes) + (output_last ? 0 : output_bytes);
  }

  Result<void> run(const tactics::LaunchArgs& args) const override {
    auto* scratch = static_cast<std::byte*>(args.workspace);
    const float* input = args.inputs[0].as<const float>();
    float* output = args.outputs[0].as<float>();
    const ConvProblem& conv = plan.problem;
    const int64_t in_pixels = conv.in[0] * conv.in[1] * conv.in[2];
    const int64_t out_pixels = plan.out[0] * plan.out[1] * plan.out[2];
    std::byte* at = scratch + kernel_bytes;
    if (!input_last) {
      kernels::transpose({.batch = conv.batch, .rows = conv.in_channels, .cols = in_pixels}, 4, input, at,
                         args.threads);
      input = reinterpret_cast<const float*>(at);
      at += input_bytes;
    }
    float* result = output_last ? output : reinterpret_cast<float*>(at);
    kernels::run_conv(plan, {input, args.inputs[1].as<const float>(), result, scratch}, epilogue_of(roles, args),
                      args.threads);
    if (!output_last)
      kernels::transpose({.batch = conv.batch, .rows = out_pixels, .cols = conv.out_channels}, 4, result, output,
                         args.threads);
    return {};
  }
};

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <ConvMethod method>
Result<std::unique_ptr<tactics::Launch>> prepare_any_layout(const tactics::PrepareArgs& args) {
  auto launch = std::make_unique<AnyLayoutLaunch>();
  roles_of(args.problem, launch->roles);
  const auto& attrs = args.problem.attrs.as<ConvAttrs>();
  launch->input_last = attrs.input_channels_last;
  launch->output_last = attrs.output_channels_last;
  launch->plan = plan_of<method>(describe(args.problem), args.config);
  launch->kernel_bytes = aligned(static_cast<int64_t>(kernels::conv_workspace_bytes(launch->plan, args.threads)));
  launch->input_bytes = aligned(args.problem.in(0).count().constant() * 4);
  launch->output_bytes = aligned(args.problem.out().count().constant() * 4);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

template <ConvMethod method>
constexpr tactics::Tactic channels_last(std::string_view name) {
  return {
      .name = name,
      .op = "Conv",
      .why_not = why_not_last<method>,
      .rank = rank<method>,
      .packs = packs<method>,
      .pack = pack<method>,
      .prepare = prepare_last<method>,
      .pitched_inputs = 1,
      .pitched_output = true,
  };
}

template <ConvMethod method>
constexpr tactics::Tactic any_layout(std::string_view name) {
  return {
      .name = name,
      .op = "Conv",
      .why_not = why_not_any_layout<method>,
      .rank = [](const Problem& problem) { return rank<method>(problem) + 1.0; },
      .packs = packs<method>,
      .pack = pack<method>,
      .prepare = prepare_any_layout<method>,
  };
}

constexpr tactics::Tactic kImplicitGemm = channels_last<ConvMethod::ImplicitGemm>("Conv.cpu.implicit_gemm");
constexpr tactics::Tactic kRowGemm = channels_last<ConvMethod::RowGemm>("Conv.cpu.row_gemm");
constexpr tactics::Tactic kDepthwise = channels_last<ConvMethod::Depthwise>("Conv.cpu.depthwise");
constexpr tactics::Tactic kGroupedDirect = channels_last<ConvMethod::GroupedDirect>("Conv.cpu.grouped_direct");
constexpr tactics::Tactic kWinograd2 = channels_last<ConvMethod::Winograd2>("Conv.cpu.winograd_2x2");
constexpr tactics::Tactic kWinograd4 = channels_last<ConvMethod::Winograd4>("Conv.cpu.winograd_4x4");
constexpr tactics::Tactic kTransposed = channels_last<ConvMethod::Transposed>("Conv.cpu.transposed");
constexpr tactics::Tactic kAnyImplicitGemm = any_layout<ConvMethod::ImplicitGemm>("Conv.cpu.any_layout_implicit_gemm");
constexpr tactics::Tactic kAnyDepthwise = any_layout<ConvMethod::Depthwise>("Conv.cpu.any_layout_depthwise");
constexpr tactics::Tactic kAnyTransposed = any_layout<ConvMethod::Transposed>("Conv.cpu.any_layout_transposed");

}  // namespace

std::span<const tactics::Tactic* const> conv_cpu_tactics() {
  static constexpr std::array<const tactics::Tactic*, 10> kTactics = {
      &kImplicitGemm, &kRowGemm,    &kDepthwise,       &kGroupedDirect, &kWinograd2,
      &kWinograd4,    &kTransposed, &kAnyImplicitGemm, &kAnyDepthwise,  &kAnyTransposed};
  return kTactics;
}

}  // namespace strop::ops
