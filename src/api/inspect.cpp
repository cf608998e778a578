// The documents of `strop inspect` for engines.
#include <nlohmann/json.hpp>

#include "api/impl.h"
#include "api/json.h"
#include "tactics/tactic.h"

namespace strop {
namespace api {

Json ports_json(const std::vector<PortInfo>& ports) {
  Json list = Json::array();
  for (const PortInfo& port : ports) {
    Json item{{"name", port.name}, {"kind", port.kind}, {"dtype", std::string(to_string(port.dtype))}};
    item["shape"] = port.known_rank ? Json(port.shape) : Json();
    list.push_back(std::move(item));
  }
  return list;
}

namespace {

/// Minimum, usual size and maximum of a dimension of an input: a constant, a symbol's range, or null where nothing is
/// known.
struct Limits {
  Json min, opt, max;
};

Limits limits_of(const engine::EngineImage& image, plan::Reg reg) {
  const plan::Block& block = image.plan->blocks[0];
  const plan::ShapeInstr& instr = block.shapes.instrs[static_cast<size_t>(reg)];
  if (instr.op == plan::ShapeOp::Constant) return {instr.value, instr.value, instr.value};
  if (instr.op != plan::ShapeOp::Symbol) return {};
  const auto symbol = static_cast<size_t>(instr.value);
  if (symbol >= block.ranges.size()) return {};
  const plan::SymbolRange& range = block.ranges[symbol];
  return {range.min, usual_size(image, block.shapes.symbols[symbol]),
          range.max == INT64_MAX ? Json() : Json(range.max)};
}

Json profiles_json(const engine::EngineImage& image) {
  Json profile = Json::object();
  for (const plan::PortDesc& port : image.plan->blocks[0].inputs) {
    if (port.type.kind != TypeKind::Tensor || !port.type.dims) continue;
    Json min = Json::array();
    Json opt = Json::array();
    Json max = Json::array();
    for (const plan::Reg reg : *port.type.dims) {
      Limits limits = limits_of(image, reg);
      min.push_back(std::move(limits.min));
      opt.push_back(std::move(limits.opt));
      max.push_back(std::move(limits.max));
    }
    profile[port.name] = {{"min", std::move(min)}, {"opt", std::move(opt)}, {"max", std::move(max)}};
  }
  return Json::array({std::move(profile)});
}

const char* kind_name(plan::StepKind kind) {
  switch (kind) {
    case plan::StepKind::Launch: return "launch";
    case plan::StepKind::Generic: return "generic";
    case plan::StepKind::Copy: return "copy";
    case plan::StepKind::Signal: return "signal";
    case plan::StepKind::Wait: return "wait";
  }
  STROP_UNREACHABLE();
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json candidates_json(const plan::Step& step) {
  Json list = Json::array();
  for (const plan::Candidate& candidate : step.candidates) {
    list.push_back({{"tactic", candidate.tactic},
                    {"config", candidate.config},
                    {"time_us", optional_json(candidate.time_us)},
                    {"spread_us", optional_json(candidate.spread_us)},
                    {"refused", candidate.refused}});
  }
  return list;
}

// Control flow has no tactic of its own: what it runs are the steps of its regions.
std::string tactic_of(const plan::Step& step) {
  if (!step.variants.empty()) return step.variants.front().tactic;
  if (!step.blocks.empty()) return step.op + ".cpu.control";
  const bool computes = step.kind == plan::StepKind::Launch || step.kind == plan::StepKind::Generic;
  return computes ? tactics::reference_tactic_name(step.op) : kind_name(step.kind);
}

Json step_json(const plan::Step& step, const plan::Block& block, size_t index) {
  const bool computes = step.kind == plan::StepKind::Launch || step.kind == plan::StepKind::Generic;
  const plan::Variant* first = step.variants.empty() ? nullptr : &step.variants.front();
  const std::string op = computes ? step.op : kind_name(step.kind);
  Json json{{"index", index},
            {"name", step.onnx_nodes.empty() ? fmt::format("{}#{}", op, index) : step.onnx_nodes.front()},
            {"kind", kind_name(step.kind)},
            {"op", op},
            {"tactic", tactic_of(step)},
            {"config", first ? first->config : ""},
            {"time_us", nullptr},
            {"why", step.why},
            {"block", block.name},
            {"candidates", candidates_json(step)},
            {"onnx_nodes", step.onnx_nodes}};
  for (const plan::Candidate& candidate : step.candidates) {
    if (first && candidate.tactic == first->tactic && candidate.config == first->config)
      json["time_us"] = optional_json(candidate.time_us);
  }
  // With several, the shapes of a run decide: the first whose conditions hold.
  if (step.variants.size() > 1) {
    Json variants = Json::array();
    for (const plan::Variant& variant : step.variants) {
      variants.push_back({{"tactic", variant.tactic}, {"config", variant.config}, {"conditions", variant.when.size()}});
    }
    json["variants"] = std::move(variants);
  }
  return json;
}

Json weights_json(const Engine::Impl& impl) {
  Json list = Json::array();
  for (size_t i = 0; i < impl.image.weights.size(); ++i) {
    const plan::WeightDesc& desc = impl.image.plan->weights[i];
    const Tensor& tensor = impl.image.weights[i];
    list.push_back({{"name", desc.name},
                    {"dtype", std::string(to_string(desc.dtype))},
                    {"shape", desc.dims},
                    {"bytes", tensor.dtype() == DType::String ? 0 : tensor.bytes()},
                    {"origins", desc.origins},
                    {"recipe", desc.recipe}});
  }
  return list;
}

int64_t weight_bytes(const Engine::Impl& impl) {
  int64_t total = 0;
  for (const Tensor& weight : impl.image.weights) total += weight.dtype() == DType::String ? 0 : weight.bytes();
  return total;
}

struct PlanCounts {
  int64_t steps = 0;
  int64_t views = 0;
  int64_t in_place = 0;
};

PlanCounts counts_of(const plan::Plan& plan) {
  PlanCounts counts;
  for (const plan::Block& block : plan.blocks) {
    counts.steps += static_cast<int64_t>(block.steps.size());
    for (const plan::ValueDesc& value : block.values) {
      if (value.storage != plan::Storage::View) continue;
      (value.in_place ? counts.in_place : counts.views) += 1;
    }
  }
  return counts;
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Result<runtime::MemoryReport> memory_at(const Engine::Impl& impl, const Shapes& shapes) {
  STROP_ASSIGN(const std::vector<Type> types, input_types(impl.image, shapes));
  runtime::Executor executor(impl.program, impl.runtime.impl()->threads);
  STROP_TRY(executor.prepare(types));
  return executor.memory();
}

// Where no shapes were asked for and none can be guessed, the figures are null and a note says why.
Result<void> add_memory(const Engine::Impl& impl, const Shapes& shapes, Json& json) {
  const auto memory = memory_at(impl, shapes);
  if (!memory.ok() && !shapes.empty()) return memory.error();
  const auto figure = [&](int64_t runtime::MemoryReport::*member) {
    return memory.ok() ? Json((*memory).*member) : Json();
  };
  json["arena_bytes"] = figure(&runtime::MemoryReport::arena_bytes);
  json["arena_lower_bound_bytes"] = figure(&runtime::MemoryReport::lower_bound_bytes);
  json["intermediate_bytes"] = figure(&runtime::MemoryReport::intermediate_bytes);
  json["workspace_bytes"] = figure(&runtime::MemoryReport::workspace_bytes);
  json["weight_bytes"] = weight_bytes(impl);
  if (!memory.ok()) json["memory_note"] = memory.error().message;
  return {};
}

std::string record_of(const Engine::Impl& impl, const std::string& key) {
  const auto found = impl.image.record.find(key);
  return found == impl.image.record.end() ? "" : found->second;
}

// The ports that are not as the model has them.
Json io_json(const Engine::Impl& impl) {
  constexpr std::string_view kPrefix = "io/";
  Json io = Json::object();
  for (const auto& [key, text] : impl.image.record) {
    if (key.starts_with(kPrefix)) io[key.substr(kPrefix.size())] = text;
  }
  return io;
}

}  // namespace
}  // namespace api

Result<std::string> Engine::inspect_json(const std::map<std::string, std::vector<int64_t>>& shapes) const {
  return api::guarded([&]() -> Result<std::string> {
    const plan::Plan& plan = *impl_->image.plan;
    api::Json json{{"kind", "engine"}, {"device", device()}};
    for (const char* key : {"precision", "route", "fingerprint", "model_digest"})
      json[key] = api::record_of(*impl_, key);
    json["plan_digest"] = plan_digest();
    json["file_digest"] = file_digest();
    json["record"] = impl_->image.record;
    json["inputs"] = api::ports_json(inputs());
    json["outputs"] = api::ports_json(outputs());
    json["io"] = api::io_json(*impl_);
    json["profiles"] = api::profiles_json(impl_->image);
    STROP_TRY(api::add_memory(*impl_, shapes, json));
    const api::PlanCounts counts = api::counts_of(plan);
    json["step_count"] = counts.steps;
    json["views"] = counts.views;
    json["in_place"] = counts.in_place;
    json["steps"] = api::Json::array();
    for (const plan::Block& block : plan.blocks) {
      for (const plan::Step& step : block.steps)
        json["steps"].push_back(api::step_json(step, block, json["steps"].size()));
    }
    json["weights"] = api::weights_json(*impl_);
    return api::to_text(json);
  });
}

}  // namespace strop
