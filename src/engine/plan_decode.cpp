#include "engine/plan_codec.h"
#include "notes_generated.h"
#include "plan_generated.h"

namespace strop::engine {
namespace {

namespace fb = strop::engine::fb;

// A missing string or vector reads as empty: FlatBuffers' verifier allows both to be absent.
std::string text(const flatbuffers::String* value) { return value ? value->str() : std::string(); }

template <class T>
std::vector<T> numbers(const flatbuffers::Vector<T>* list) {
  return list ? std::vector<T>(list->begin(), list->end()) : std::vector<T>();
}

template <class Item, class F>
void each(const flatbuffers::Vector<Item>* list, F&& f) {
  if (!list) return;
  for (const auto item : *list) f(*item);
}

std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list) {
  std::vector<std::string> values;
  each(list, [&](const flatbuffers::String& item) { values.push_back(item.str()); });
  return values;
}

plan::TypeDesc type(const fb::TypeDesc* from) {
  plan::TypeDesc to;
  if (!from) return to;
  to.kind = static_cast<TypeKind>(from->kind());
  to.dtype = static_cast<DType>(from->dtype());
  if (from->has_rank()) to.dims = numbers(from->dims());
  to.layout = {from->blocked_axis(), from->block()};
  to.element = text(from->element());
  return to;
}

std::vector<plan::ShapeCheck> checks(const flatbuffers::Vector<const fb::ShapeCheck*>* list) {
  std::vector<plan::ShapeCheck> to;
  each(list, [&](const fb::ShapeCheck& check) {
    to.push_back({check.a(), static_cast<plan::Relation>(check.relation()), check.b()});
  });
  return to;
}

plan::ValueDesc value(const fb::ValueDesc& from) {
  plan::ValueDesc to;
  to.name = text(from.name());
  to.type = type(from.type());
  to.storage = static_cast<plan::Storage>(from.storage());
  to.index = from.index();
  to.base = from.base();
  to.offset_elements = from.offset_elements();
  to.pitch = from.pitch();
  to.device = from.device();
  to.in_place = from.in_place();
  return to;
}

plan::Step step(const fb::Step& from) {
  plan::Step to;
  to.kind = static_cast<plan::StepKind>(from.kind());
  to.op = text(from.op());
  to.attrs = from.attrs();
  to.inputs = numbers(from.inputs());
  to.outputs = numbers(from.outputs());
  each(from.late(), [&](const fb::LateDesc& late) { to.late.push_back({text(late.field()), late.operand()}); });
  to.blocks = numbers(from.blocks());
  each(from.variants(), [&](const fb::Variant& variant) {
    to.variants.push_back({checks(variant.when()), text(variant.tactic()), variant.tactic_version(),
                           text(variant.config()), numbers(variant.packed())});
  });
  to.device = from.device();
  to.stream = from.stream();
  to.event = from.event();
  return to;
}

std::vector<plan::PortDesc> ports(const flatbuffers::Vector<flatbuffers::Offset<fb::PortDesc>>* list) {
  std::vector<plan::PortDesc> to;
  each(list, [&](const fb::PortDesc& port) { to.push_back({text(port.name()), port.value(), type(port.type())}); });
  return to;
}

plan::Block block(const fb::Block& from) {
  plan::Block to;
  to.name = text(from.name());
  to.shapes.symbols = texts(from.symbols());
  each(from.instrs(), [&](const fb::ShapeInstr& instr) {
    to.shapes.instrs.push_back({static_cast<plan::ShapeOp>(instr.op()), instr.value(), instr.a(), instr.b()});
  });
  each(from.bindings(), [&](const fb::SymbolBinding& item) {
    to.bindings.push_back({item.symbol(), item.input(), item.axis()});
  });
  to.inherited = numbers(from.inherited());
  each(from.ranges(), [&](const fb::SymbolRange& range) { to.ranges.push_back({range.min(), range.max()}); });
  to.checks = checks(from.checks());
  to.inputs = ports(from.inputs());
  to.outputs = ports(from.outputs());
  each(from.values(), [&](const fb::ValueDesc& item) { to.values.push_back(value(item)); });
  each(from.steps(), [&](const fb::Step& item) { to.steps.push_back(step(item)); });
  return to;
}

template <class Root>
bool verified(std::span<const std::byte> bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), 16, 100'000'000);
  return bytes.size() >= 8 && verifier.VerifyBuffer<Root>(nullptr);
}

}  // namespace

Result<DecodedPlan> decode_plan(std::span<const std::byte> bytes) {
  if (!verified<fb::Plan>(bytes)) return error(ErrorCode::InvalidEngine, "the plan section is damaged");
  const auto* from = flatbuffers::GetRoot<fb::Plan>(bytes.data());
  DecodedPlan to;
  each(from->devices(), [&](const fb::DeviceDesc& device) {
    to.plan.devices.push_back({text(device.kind()), text(device.target())});
  });
  each(from->blocks(), [&](const fb::Block& item) { to.plan.blocks.push_back(block(item)); });
  each(from->weights(), [&](const fb::WeightDesc& weight) {
    to.plan.weights.push_back({text(weight.name()), static_cast<DType>(weight.dtype()), numbers(weight.dims()),
                               texts(weight.origins()), text(weight.recipe())});
    to.places.push_back({weight.offset(), weight.bytes()});
  });
  each(from->attrs(), [&](const fb::AttrList& list) {
    auto& attrs = to.plan.attrs.emplace_back();
    each(list.fields(), [&](const fb::AttrDesc& attr) { attrs.push_back({text(attr.name()), text(attr.text())}); });
  });
  return to;
}

Result<void> decode_notes(std::span<const std::byte> bytes, plan::Plan& plan) {
  const Error damaged = error(ErrorCode::InvalidEngine, "the notes section is damaged");
  if (!verified<fb::Notes>(bytes)) return damaged;
  const auto* from = flatbuffers::GetRoot<fb::Notes>(bytes.data());
  if (!from->blocks() || from->blocks()->size() != plan.blocks.size()) return damaged;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const auto* steps = from->blocks()->Get(static_cast<uint32_t>(i))->steps();
    if ((steps ? steps->size() : 0) != plan.blocks[i].steps.size()) return damaged;
    for (size_t k = 0; k < plan.blocks[i].steps.size(); ++k) {
      const auto* note = steps->Get(static_cast<uint32_t>(k));
      plan::Step& step = plan.blocks[i].steps[k];
      step.onnx_nodes = texts(note->onnx_nodes());
      step.why = text(note->why());
      each(note->candidates(), [&](const fb::Candidate& candidate) {
        const auto measured = [](double value) { return value < 0 ? std::optional<double>() : value; };
        step.candidates.push_back({text(candidate.tactic()), text(candidate.config()), measured(candidate.time_us()),
                                   measured(candidate.spread_us()), text(candidate.refused())});
      });
    }
  }
  return {};
}

}  // namespace strop::engine
