#include "engine/plan_codec.h"
#include "notes_generated.h"
#include "plan_generated.h"

namespace strop::engine {
namespace {

namespace fb = strop::engine::fb;

/// Reads tables that FlatBuffers' verifier has seen. A missing string or vector reads as empty: the verifier allows
/// both to be absent. It also allows many tables to share a list or a text, so that a small file can stand for a huge
/// plan: lists are never shared by the writer, and together are smaller than the section; texts are, within reason.
/// Once more than that is read, everything reads as empty, and `within_bounds` is false.
class Decoder {
 public:
  explicit Decoder(size_t section_bytes)
      : list_bytes_(section_bytes), text_bytes_(64 * section_bytes + (size_t{16} << 20)) {}

  bool within_bounds() const { return within_bounds_; }

  std::string text(const flatbuffers::String* value) {
    return value && take(text_bytes_, value->size()) ? value->str() : std::string();
  }

  template <class T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* list) {
    const bool read = list && take(list_bytes_, list->size() * sizeof(T));
    return read ? std::vector<T>(list->begin(), list->end()) : std::vector<T>();
  }

  template <class Item, class F>
  void each(const flatbuffers::Vector<Item>* list, F&& f) {
    if (!list || !take(list_bytes_, list->size() * sizeof(flatbuffers::uoffset_t))) return;
    for (const auto item : *list) f(*item);
  }

  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list) {
    std::vector<std::string> values;
    each(list, [&](const flatbuffers::String& item) { values.push_back(text(&item)); });
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
    to.whole = from.whole();
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

 private:
  bool take(size_t& left, size_t bytes) {
    within_bounds_ = within_bounds_ && bytes <= left;
    if (within_bounds_) left -= bytes;
    return within_bounds_;
  }

  size_t list_bytes_;
  size_t text_bytes_;
  bool within_bounds_ = true;
};

template <class Root>
bool verified(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return false;
  // No two tables overlap in what the writer makes, and each takes 4 bytes, and 4 for the offset that leads to it.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), 16, most_tables);
  return verifier.VerifyBuffer<Root>(nullptr);
}

}  // namespace

Result<DecodedPlan> decode_plan(std::span<const std::byte> bytes) {
  const Error damaged = error(ErrorCode::InvalidEngine, "the plan section is damaged");
  if (!verified<fb::Plan>(bytes)) return damaged;
  const auto* from = flatbuffers::GetRoot<fb::Plan>(bytes.data());
  DecodedPlan to;
  Decoder in(bytes.size());
  in.each(from->devices(), [&](const fb::DeviceDesc& device) {
    to.plan.devices.push_back({in.text(device.kind()), in.text(device.target())});
  });
  in.each(from->blocks(), [&](const fb::Block& item) { to.plan.blocks.push_back(in.block(item)); });
  in.each(from->weights(), [&](const fb::WeightDesc& weight) {
    to.plan.weights.push_back({in.text(weight.name()), static_cast<DType>(weight.dtype()), in.numbers(weight.dims()),
                               in.texts(weight.origins()), in.text(weight.recipe())});
    to.places.push_back({weight.offset(), weight.bytes()});
  });
  in.each(from->attrs(), [&](const fb::AttrList& list) {
    auto& attrs = to.plan.attrs.emplace_back();
    in.each(list.fields(), [&](const fb::AttrDesc& attr) {
      attrs.push_back({in.text(attr.name()), in.text(attr.text())});
    });
  });
  if (!in.within_bounds()) return damaged;
  return to;
}

Result<void> decode_notes(std::span<const std::byte> bytes, plan::Plan& plan) {
  const Error damaged = error(ErrorCode::InvalidEngine, "the notes section is damaged");
  if (!verified<fb::Notes>(bytes)) return damaged;
  const auto* from = flatbuffers::GetRoot<fb::Notes>(bytes.data());
  Decoder in(bytes.size());
  if (!from->blocks() || from->blocks()->size() != plan.blocks.size()) return damaged;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const auto* steps = from->blocks()->Get(static_cast<uint32_t>(i))->steps();
    if ((steps ? steps->size() : 0) != plan.blocks[i].steps.size()) return damaged;
    for (size_t k = 0; k < plan.blocks[i].steps.size(); ++k) {
      const auto* note = steps->Get(static_cast<uint32_t>(k));
      plan::Step& step = plan.blocks[i].steps[k];
      step.onnx_nodes = in.texts(note->onnx_nodes());
      step.why = in.text(note->why());
      in.each(note->candidates(), [&](const fb::Candidate& candidate) {
        const auto measured = [](double value) { return value < 0 ? std::optional<double>() : value; };
        step.candidates.push_back({in.text(candidate.tactic()), in.text(candidate.config()),
                                   measured(candidate.time_us()), measured(candidate.spread_us()),
                                   in.text(candidate.refused())});
      });
    }
  }
  if (!in.within_bounds()) return damaged;
  return {};
}

}  // namespace strop::engine
