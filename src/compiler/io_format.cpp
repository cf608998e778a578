#include "compiler/io_format.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ops/pointwise/pointwise.h"
#include "ops/transpose/transpose.h"

namespace strop::compiler {
namespace {

struct LayoutName {
  std::string_view name;
  int64_t rank = 0;
  bool channels_last = false;
};
constexpr std::array kLayouts = {LayoutName{"nchw", 4, false}, LayoutName{"nhwc", 4, true},
                                 LayoutName{"ncdhw", 5, false}, LayoutName{"ndhwc", 5, true}};

const LayoutName* find_layout(std::string_view name) {
  const auto* const found =
      std::find_if(kLayouts.begin(), kLayouts.end(), [&](const auto& l) { return l.name == name; });
  return found == kLayouts.end() ? nullptr : found;
}

enum class Side : uint8_t { Input, Output };

// The permutation of a Transpose. An input comes with channels last and leaves with channels second.
std::vector<int64_t> permutation(int64_t rank, Side side) {
  std::vector<int64_t> perm = {0};
  if (side == Side::Input) perm.push_back(rank - 1);
  for (int64_t axis = side == Side::Input ? 1 : 2; static_cast<int64_t>(perm.size()) < rank - (side == Side::Output);
       ++axis)
    perm.push_back(axis);
  if (side == Side::Output) perm.push_back(1);
  return perm;
}

bool is_convertible(DType dtype) {
  return dtype != DType::String && dtype != DType::Undefined && dtype != DType::F8E8M0 && !is_complex(dtype) &&
         bit_width(dtype) >= 8;
}

Result<void> check(const std::string& name, const IoFormat& format, const Type& type) {
  if (format.dtype == DType::Undefined && format.layout.empty())
    return error(ErrorCode::InvalidArgument, "io '{}' asks for nothing: name a type or a layout", name);
  if (!type.is_tensor())
    return error(ErrorCode::InvalidArgument, "io '{}': it is {}, and only tensors can be converted", name,
                 to_string(type));
  const DType from = type.tensor.dtype;
  if (format.dtype != DType::Undefined && format.dtype != from &&
      (!is_convertible(from) || !is_convertible(format.dtype))) {
    return error(ErrorCode::InvalidArgument, "io '{}': there is no conversion between {} and {}", name, to_string(from),
                 to_string(format.dtype));
  }
  if (format.layout.empty()) return {};
  const LayoutName* layout = find_layout(format.layout);
  if (layout == nullptr) {
    return error(ErrorCode::InvalidArgument, "io '{}': there is no layout '{}': write nchw, nhwc, ncdhw or ndhwc", name,
                 format.layout);
  }
  if (!type.tensor.has_rank() || type.tensor.rank() != layout->rank) {
    return error(ErrorCode::InvalidArgument, "io '{}': layout {} is for {} dimensions, and it is {}", name,
                 layout->name, layout->rank, to_string(type));
  }
  return {};
}

/// Conversions beside one port.
class Border {
 public:
  Border(ir::Graph& graph, const std::string& name, const IoFormat& format)
      : graph_(graph), name_(name), format_(format) {}

  Result<void> convert_input(size_t index) {
    const ir::ValueId inner = graph_.inputs[index].value;
    const Type type = graph_.value(inner).type;
    STROP_TRY(check(name_, format_, type));
    if (!changes(type)) return {};
    const ir::ValueId outer = graph_.add_input(name_, port_type(type.tensor));
    graph_.inputs.pop_back();  // it takes the old one's place
    graph_.inputs[index].value = outer;
    STROP_ASSIGN(ir::ValueId value, cast(outer, type.tensor.dtype));
    if (channels_last()) {
      STROP_ASSIGN(value, transpose(value, Side::Input));
    }
    graph_.replace_uses(inner, value);
    return {};
  }

  Result<void> convert_output(size_t index) {
    ir::ValueId value = graph_.outputs[index].value;
    const Type type = graph_.value(value).type;
    STROP_TRY(check(name_, format_, type));
    if (channels_last()) {
      STROP_ASSIGN(value, transpose(value, Side::Output));
    }
    if (format_.dtype != DType::Undefined) {
      STROP_ASSIGN(value, cast(value, format_.dtype));
    }
    graph_.outputs[index].value = value;
    return {};
  }

 private:
  bool channels_last() const {
    const LayoutName* layout = find_layout(format_.layout);
    return layout != nullptr && layout->channels_last;
  }
  bool changes(const Type& type) const {
    return channels_last() || (format_.dtype != DType::Undefined && format_.dtype != type.tensor.dtype);
  }

  Type port_type(const TensorType& model) const {
    TensorType type = model;
    if (format_.dtype != DType::Undefined) type.dtype = format_.dtype;
    if (!channels_last()) return type;
    Dims dims;
    for (const int64_t axis : permutation(model.rank(), Side::Output)) dims.push_back(model.dim(axis));
    type.shape = std::move(dims);
    return type;
  }

  Result<ir::ValueId> cast(ir::ValueId value, DType to) {
    const DType from = graph_.value(value).type.tensor.dtype;
    if (from == to) return value;
    return graph_.add({.op = &ops::kPointwise,
                       .attrs = ops::PointwiseAttrs{ops::cast_program(from, to)},
                       .inputs = {value},
                       .sources = {source()}});
  }

  Result<ir::ValueId> transpose(ir::ValueId value, Side side) {
    const int64_t rank = graph_.value(value).type.tensor.rank();
    return graph_.add({.op = &ops::kTranspose,
                       .attrs = ops::TransposeAttrs{permutation(rank, side)},
                       .inputs = {value},
                       .sources = {source()}});
  }

  std::string source() const { return "io " + name_; }

  ir::Graph& graph_;
  const std::string& name_;
  const IoFormat& format_;
};

Error unknown_port(const ir::Graph& graph, const std::string& name) {
  std::vector<std::string> known;
  for (const auto* ports : {&graph.inputs, &graph.outputs}) {
    for (const ir::Port& port : *ports) known.push_back(port.name);
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  return error(ErrorCode::InvalidArgument, "io: there is no input or output '{}'{}; there are {}", name,
               did_you_mean(name, candidates), join(known, ", "));
}

constexpr std::string_view kRecordPrefix = "io/";

}  // namespace

Result<void> apply_io(ir::Graph& graph, const IoFormats& formats) {
  for (const auto& [name, format] : formats) {
    bool found = false;
    Border border(graph, name, format);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (graph.outputs[i].name != name) continue;
      STROP_TRY(border.convert_output(i));
      found = true;
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (graph.inputs[i].name != name) continue;
      STROP_TRY(border.convert_input(i));
      found = true;
    }
    if (!found) return unknown_port(graph, name);
  }
  graph.sort();
  return {};
}

std::vector<int64_t> in_model_order(std::string_view layout, std::vector<int64_t> dims) {
  const LayoutName* known = find_layout(layout);
  if (known == nullptr || !known->channels_last || static_cast<int64_t>(dims.size()) != known->rank) return dims;
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

std::string to_text(const IoFormat& format) {
  std::string text = format.dtype == DType::Undefined ? "" : std::string(to_string(format.dtype));
  if (!format.layout.empty()) text += (text.empty() ? "" : ":") + format.layout;
  return text;
}

void record_io(const IoFormats& formats, engine::EngineRecord& record) {
  for (const auto& [name, format] : formats) record[std::string(kRecordPrefix) + name] = to_text(format);
}

Result<IoFormats> recorded_io(const engine::EngineRecord& record) {
  IoFormats formats;
  for (const auto& [key, text] : record) {
    if (!key.starts_with(kRecordPrefix)) continue;
    IoFormat& format = formats[key.substr(kRecordPrefix.size())];
    const size_t colon = text.find(':');
    if (find_layout(text) != nullptr) {
      format.layout = text;
      continue;
    }
    const auto dtype = parse_dtype(text.substr(0, colon));
    if (!dtype) return error(ErrorCode::InvalidEngine, "the engine's record has '{}' for '{}'", text, key);
    format.dtype = *dtype;
    if (colon != std::string::npos) format.layout = text.substr(colon + 1);
  }
  return formats;
}

}  // namespace strop::compiler
