#include "engine/plan_codec.h"
#include "notes_generated.h"
#include "plan_generated.h"

namespace strop::engine {
namespace {

namespace fb = strop::engine::fb;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Every list becomes a vector, empty ones too: readers need not ask.
class Encoder {
 public:
  explicit Encoder(FlatBufferBuilder& out) : out_(out) {}

  Offset<fb::Plan> plan(const plan::Plan& plan, const std::vector<WeightPlace>& places) {
    std::vector<Offset<fb::DeviceDesc>> devices;
    for (const auto& device : plan.devices)
      devices.push_back(fb::CreateDeviceDesc(out_, text(device.kind), text(device.target)));
    std::vector<Offset<fb::Block>> blocks;
    for (const auto& item : plan.blocks) blocks.push_back(block(item));
    std::vector<Offset<fb::WeightDesc>> weights;
    for (size_t i = 0; i < plan.weights.size(); ++i) weights.push_back(weight(plan.weights[i], places[i]));
    std::vector<Offset<fb::AttrList>> attrs;
    for (const auto& list : plan.attrs) attrs.push_back(attr_list(list));
    const auto device_list = out_.CreateVector(devices);
    const auto block_list = out_.CreateVector(blocks);
    const auto weight_list = out_.CreateVector(weights);
    return fb::CreatePlan(out_, device_list, block_list, weight_list, out_.CreateVector(attrs));
  }

 private:
  Offset<flatbuffers::String> text(const std::string& value) { return out_.CreateSharedString(value); }

  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> texts(const std::vector<std::string>& values) {
    std::vector<Offset<flatbuffers::String>> items;
    for (const auto& value : values) items.push_back(text(value));
    return out_.CreateVector(items);
  }

  Offset<fb::TypeDesc> type(const plan::TypeDesc& type) {
    const auto dims = out_.CreateVector(type.dims ? *type.dims : std::vector<int32_t>{});
    const auto element = text(type.element);
    return fb::CreateTypeDesc(out_, static_cast<uint8_t>(type.kind), static_cast<uint8_t>(type.dtype),
                              type.dims.has_value(), dims, type.layout.blocked_axis, type.layout.block, element);
  }

  Offset<fb::ValueDesc> value(const plan::ValueDesc& value) {
    const auto name = text(value.name);
    const auto described = type(value.type);
    return fb::CreateValueDesc(out_, name, described, static_cast<uint8_t>(value.storage), value.index, value.base,
                               value.offset_elements, value.pitch, value.device, value.in_place, value.whole);
  }

  static std::vector<fb::ShapeCheck> checks(const std::vector<plan::ShapeCheck>& list) {
    std::vector<fb::ShapeCheck> items;
    for (const auto& check : list) items.emplace_back(check.a, static_cast<uint8_t>(check.relation), check.b);
    return items;
  }

  Offset<fb::Variant> variant(const plan::Variant& variant) {
    const auto when = out_.CreateVectorOfStructs(checks(variant.when));
    const auto tactic = text(variant.tactic);
    const auto config = text(variant.config);
    return fb::CreateVariant(out_, when, tactic, variant.tactic_version, config, out_.CreateVector(variant.packed));
  }

  Offset<fb::Step> step(const plan::Step& step) {
    std::vector<Offset<fb::LateDesc>> late;
    for (const auto& item : step.late) late.push_back(fb::CreateLateDesc(out_, text(item.field), item.operand));
    std::vector<Offset<fb::Variant>> variants;
    for (const auto& item : step.variants) variants.push_back(variant(item));
    const auto op = text(step.op);
    const auto inputs = out_.CreateVector(step.inputs);
    const auto outputs = out_.CreateVector(step.outputs);
    const auto late_list = out_.CreateVector(late);
    const auto blocks = out_.CreateVector(step.blocks);
    const auto variant_list = out_.CreateVector(variants);
    return fb::CreateStep(out_, static_cast<uint8_t>(step.kind), op, step.attrs, inputs, outputs, late_list, blocks,
                          variant_list, step.device, step.stream, step.event);
  }

  Offset<flatbuffers::Vector<Offset<fb::PortDesc>>> ports(const std::vector<plan::PortDesc>& list) {
    std::vector<Offset<fb::PortDesc>> items;
    for (const auto& port : list) {
      const auto name = text(port.name);
      items.push_back(fb::CreatePortDesc(out_, name, port.value, type(port.type)));
    }
    return out_.CreateVector(items);
  }

  Offset<fb::Block> block(const plan::Block& block) {
    std::vector<fb::ShapeInstr> instrs;
    for (const auto& instr : block.shapes.instrs)
      instrs.emplace_back(static_cast<uint8_t>(instr.op), instr.value, instr.a, instr.b);
    std::vector<fb::SymbolBinding> bindings;
    for (const auto& binding : block.bindings) bindings.emplace_back(binding.symbol, binding.input, binding.axis);
    std::vector<fb::SymbolRange> ranges;
    for (const auto& range : block.ranges) ranges.emplace_back(range.min, range.max);
    std::vector<Offset<fb::ValueDesc>> values;
    for (const auto& item : block.values) values.push_back(value(item));
    std::vector<Offset<fb::Step>> steps;
    for (const auto& item : block.steps) steps.push_back(step(item));
    const auto name = text(block.name);
    const auto symbols = texts(block.shapes.symbols);
    const auto instr_list = out_.CreateVectorOfStructs(instrs);
    const auto binding_list = out_.CreateVectorOfStructs(bindings);
    const auto inherited = out_.CreateVector(block.inherited);
    const auto range_list = out_.CreateVectorOfStructs(ranges);
    const auto check_list = out_.CreateVectorOfStructs(checks(block.checks));
    const auto inputs = ports(block.inputs);
    const auto outputs = ports(block.outputs);
    const auto value_list = out_.CreateVector(values);
    return fb::CreateBlock(out_, name, symbols, instr_list, binding_list, inherited, range_list, check_list, inputs,
                           outputs, value_list, out_.CreateVector(steps));
  }

  Offset<fb::WeightDesc> weight(const plan::WeightDesc& weight, const WeightPlace& place) {
    const auto name = text(weight.name);
    const auto dims = out_.CreateVector(weight.dims);
    const auto origins = texts(weight.origins);
    const auto recipe = text(weight.recipe);
    return fb::CreateWeightDesc(out_, name, static_cast<uint8_t>(weight.dtype), dims, origins, recipe, place.offset,
                                place.bytes);
  }

  Offset<fb::AttrList> attr_list(const std::vector<plan::AttrDesc>& list) {
    std::vector<Offset<fb::AttrDesc>> fields;
    for (const auto& attr : list) {
      const auto name = text(attr.name);
      fields.push_back(fb::CreateAttrDesc(out_, name, text(attr.text)));
    }
    return fb::CreateAttrList(out_, out_.CreateVector(fields));
  }

  FlatBufferBuilder& out_;
};

std::vector<std::byte> finished(FlatBufferBuilder& builder) {
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

}  // namespace

std::vector<std::byte> encode_plan(const plan::Plan& plan, const std::vector<WeightPlace>& places) {
  FlatBufferBuilder builder(1 << 16);
  builder.ForceDefaults(false);
  builder.Finish(Encoder(builder).plan(plan, places));
  return finished(builder);
}

std::vector<std::byte> encode_notes(const plan::Plan& plan) {
  FlatBufferBuilder builder(1 << 16);
  std::vector<Offset<fb::BlockNotes>> blocks;
  for (const plan::Block& block : plan.blocks) {
    std::vector<Offset<fb::StepNote>> steps;
    for (const plan::Step& step : block.steps) {
      std::vector<Offset<flatbuffers::String>> nodes;
      for (const auto& node : step.onnx_nodes) nodes.push_back(builder.CreateSharedString(node));
      std::vector<Offset<fb::Candidate>> candidates;
      for (const plan::Candidate& candidate : step.candidates) {
        const auto tactic = builder.CreateSharedString(candidate.tactic);
        const auto config = builder.CreateSharedString(candidate.config);
        const auto refused = builder.CreateSharedString(candidate.refused);
        candidates.push_back(fb::CreateCandidate(builder, tactic, config, candidate.time_us.value_or(-1),
                                                 candidate.spread_us.value_or(-1), refused));
      }
      const auto node_list = builder.CreateVector(nodes);
      const auto why = builder.CreateSharedString(step.why);
      steps.push_back(fb::CreateStepNote(builder, node_list, why, builder.CreateVector(candidates)));
    }
    blocks.push_back(fb::CreateBlockNotes(builder, builder.CreateVector(steps)));
  }
  builder.Finish(fb::CreateNotes(builder, builder.CreateVector(blocks)));
  return finished(builder);
}

}  // namespace strop::engine
