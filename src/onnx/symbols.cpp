#include "onnx/symbols.h"

#include <algorithm>
#include <cctype>

#include "onnx/names.h"
#include "onnx/tensor_proto.h"

namespace strop::onnx {
namespace {

// Larger expressions are not met in models, and could take long to multiply out.
constexpr size_t kMaxExpression = 64;

bool is_symbol_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':' || c == '/';
}

bool is_symbol_name(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), is_symbol_char);
}

/// An expression is spelt with symbol characters, spaces, parentheses and operators.
bool looks_like_expression(std::string_view text) {
  return text.size() <= kMaxExpression && std::all_of(text.begin(), text.end(), [](char c) {
           return is_symbol_char(c) || std::string_view(" +-*(),").find(c) != std::string_view::npos;
         });
}

std::string sanitized(std::string_view name) {
  std::string result;
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) result += '_';
  for (const char c : name.substr(0, kMaxExpression)) result += is_symbol_char(c) ? c : '_';
  return result;
}

Error bad_type(std::string_view what) {
  return error(ErrorCode::Unsupported, "has a type that is not supported: {}", what);
}

/// Element and dimensions of a tensor type are legal.
Result<DType> check_tensor_type(const TypeProto& proto) {
  STROP_ASSIGN(const DType dtype, checked_dtype(proto.elem_type));
  if (!proto.shape) return dtype;
  std::vector<int64_t> constants;
  for (const DimProto& dim : *proto.shape) {
    if (dim.value && *dim.value != -1) constants.push_back(*dim.value);
  }
  STROP_TRY(checked_count(constants));
  return dtype;
}

/// -1 stands for a dimension left as it is.
bool is_shape(std::vector<int64_t> dims) {
  std::erase(dims, -1);
  return checked_count(dims).ok();
}

}  // namespace

Result<Type> to_type(const TypeProto& proto, FunctionRef<Dim()> unknown) {
  switch (proto.kind) {
    case TypeProto::Kind::None: return error(ErrorCode::InvalidModel, "has no type");
    case TypeProto::Kind::Map: return bad_type("map");
    case TypeProto::Kind::SparseTensor: return bad_type("sparse tensor");
    case TypeProto::Kind::Opaque: return bad_type("opaque");
    case TypeProto::Kind::Tensor: {
      STROP_ASSIGN(const DType dtype, check_tensor_type(proto));
      if (!proto.shape) return Type::unranked(dtype);
      Dims dims;
      for (const DimProto& dim : *proto.shape)
        dims.push_back(dim.value && *dim.value >= 0 ? Dim(*dim.value) : unknown());
      return Type(dtype, std::move(dims));
    }
    case TypeProto::Kind::Sequence:
    case TypeProto::Kind::Optional: {
      if (!proto.element) return error(ErrorCode::InvalidModel, "has a type without an element type");
      STROP_ASSIGN(Type element, to_type(*proto.element, unknown));
      return proto.kind == TypeProto::Kind::Sequence ? Type::sequence(std::move(element))
                                                     : Type::optional(std::move(element));
    }
  }
  STROP_UNREACHABLE();
}

Result<void> check_declared(const TypeProto& declared, const Type& inferred, bool ranks_too) {
  if (declared.kind == TypeProto::Kind::None) return {};
  if (declared.kind == TypeProto::Kind::Tensor && declared.elem_type == 0) return {};
  int unknown_count = 0;
  STROP_ASSIGN(const Type type,
               to_type(declared, [&] { return Dim::symbol(fmt::format("unknown.{}", unknown_count++)); }));
  const Type* a = &type;
  const Type* b = &inferred;
  while (a->kind == b->kind && a->element && b->element) {
    a = a->element.get();
    b = b->element.get();
  }
  // An optional that is known to hold something may be declared as what it holds, and the other way round.
  if (a->kind == TypeKind::Optional && b->kind == a->element->kind) a = a->element.get();
  if (b->kind == TypeKind::Optional && a->kind == b->element->kind) b = b->element.get();
  bool agrees = a->kind == b->kind;
  if (agrees && a->is_tensor()) {
    agrees = a->tensor.dtype == b->tensor.dtype &&
             (!ranks_too || !a->tensor.has_rank() || !b->tensor.has_rank() || a->tensor.rank() == b->tensor.rank());
  }
  if (agrees) return {};
  return error(ErrorCode::InvalidModel, "is declared as {}, but is {}", to_string(type), to_string(inferred));
}

std::string InputTypes::fresh(std::string_view wish) {
  const std::string base = sanitized(wish);
  std::string name = base;
  for (int& suffix = next_suffix_.emplace(base, 2).first->second; taken_.contains(name); ++suffix) {
    name = fmt::format("{}_{}", base, suffix);
  }
  taken_.insert(name);
  return name;
}

Result<void> InputTypes::name_symbols(const std::vector<const ValueInfoProto*>& infos) {
  std::vector<std::string_view> others;
  for (const ValueInfoProto* info : infos) {
    if (!info->type.shape) continue;
    for (const DimProto& dim : *info->type.shape) {
      if (dim.value || dim.param.empty() || symbol_of_.contains(dim.param)) continue;
      if (is_symbol_name(dim.param)) {
        symbol_of_.emplace(dim.param, dim.param);
        taken_.emplace(dim.param);
      } else {
        others.push_back(dim.param);
      }
    }
  }
  for (const std::string_view param : others) {
    if (symbol_of_.contains(param)) continue;
    if (looks_like_expression(param)) {
      const auto parsed = Dim::parse(param);
      if (parsed.ok()) {
        const std::vector<std::string> used = parsed->symbols();
        const bool known =
            std::all_of(used.begin(), used.end(), [&](const auto& symbol) { return symbol_of_.contains(symbol); });
        if (known && parsed->as_constant().value_or(0) >= 0) continue;  // dim_of parses it again
      }
    }
    symbol_of_.emplace(param, fresh(param));
  }
  return {};
}

Dim InputTypes::dim_of(const DimProto& dim, std::string_view input, size_t axis) {
  if (dim.value && *dim.value >= 0) return *dim.value;
  if (!dim.value && !dim.param.empty()) {
    const auto found = symbol_of_.find(dim.param);
    const Dim named = found != symbol_of_.end() ? Dim::symbol(found->second) : Dim::parse(dim.param).value();
    return named.substitute(fixed_);
  }
  return Dim::symbol(fresh(fmt::format("{}.{}", input, axis)));
}

Result<void> InputTypes::fix_symbol(const std::string& symbol, int64_t value, std::string_view where) {
  if (value < 0 || value > kMaxElements) {
    return error(ErrorCode::InvalidArgument, "{}: {} is not a dimension", where, value);
  }
  const auto [entry, is_new] = fixed_.emplace(symbol, Dim(value));
  if (!is_new && entry->second.constant() != value) {
    return error(ErrorCode::InvalidArgument, "{}: dimension {} is to be {}, but is also fixed to {}", where,
                 quote(symbol), value, entry->second.constant());
  }
  return {};
}

Result<void> InputTypes::apply_input(const ValueInfoProto& info, const std::vector<int64_t>& dims) {
  const std::string where = fmt::format("shape of input {}", quote(info.name));
  if (info.type.kind != TypeProto::Kind::Tensor)
    return error(ErrorCode::InvalidArgument, "{}: it is not a tensor", where);
  if (!is_shape(dims))
    return error(ErrorCode::InvalidArgument, "{}: {} is not a shape", where, to_string(to_dims(dims)));
  if (!info.type.shape) return {};
  if (info.type.shape->size() != dims.size()) {
    return error(ErrorCode::InvalidArgument, "{}: {} dimensions are given, but it has {}", where, dims.size(),
                 info.type.shape->size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DimProto& dim = (*info.type.shape)[i];
    if (dims[i] == -1) continue;
    if (dim.value && *dim.value >= 0 && *dim.value != dims[i]) {
      return error(ErrorCode::InvalidArgument, "{}: dimension {} is to be {}, but the model fixes it to {}", where, i,
                   dims[i], *dim.value);
    }
    if (dim.value || dim.param.empty()) continue;
    if (const auto found = symbol_of_.find(dim.param); found != symbol_of_.end()) {
      STROP_TRY(fix_symbol(found->second, dims[i], where));
    }
  }
  return {};
}

Result<Type> InputTypes::input_type(const ValueInfoProto& info, const FixedShapes& fixed) {
  int unnamed = 0;
  STROP_ASSIGN(Type type,
               to_type(info.type, [&] { return Dim::symbol(fmt::format("{}.e{}", sanitized(info.name), unnamed++)); }));
  if (!type.is_tensor()) return type;
  const auto given = fixed.inputs.find(std::string(info.name));
  const bool is_given = given != fixed.inputs.end();
  if (!type.tensor.has_rank()) {
    if (!is_given) return type;
    type.tensor.shape = Dims(given->second.size(), Dim(-1));
  }
  for (size_t i = 0; i < type.tensor.shape->size(); ++i) {
    Dim& dim = (*type.tensor.shape)[i];
    const DimProto declared = info.type.shape ? (*info.type.shape)[i] : DimProto();
    dim = dim_of(declared, info.name, i);
    if (!is_given || given->second[i] == -1) continue;
    if (dim.is_constant() && dim.constant() != given->second[i]) {
      return error(ErrorCode::InvalidArgument,
                   "shape of input {}: dimension {} is to be {}, but other dimensions make it {}", quote(info.name), i,
                   given->second[i], dim.constant());
    }
    dim = given->second[i];
  }
  return type;
}

Result<InputTypes> InputTypes::make(const std::vector<const ValueInfoProto*>& infos, const FixedShapes& fixed) {
  InputTypes result;
  STROP_TRY(result.name_symbols(infos));
  for (const auto& [symbol, value] : fixed.symbols) {
    const auto found = result.symbol_of_.find(symbol);
    if (found == result.symbol_of_.end()) {
      return error(ErrorCode::InvalidArgument, "shape of {}: the model has no dimension of that name", quote(symbol));
    }
    STROP_TRY(result.fix_symbol(found->second, value, fmt::format("shape of {}", quote(symbol))));
  }
  for (const auto& [name, dims] : fixed.inputs) {
    const auto found = std::find_if(infos.begin(), infos.end(),
                                    [&name = name](const ValueInfoProto* info) { return info->name == name; });
    if (found == infos.end()) {
      return error(ErrorCode::InvalidArgument, "shape of {}: the model has no input of that name", quote(name));
    }
    STROP_TRY(result.apply_input(**found, dims));
  }
  for (const ValueInfoProto* info : infos) {
    auto type = result.input_type(*info, fixed);
    if (!type.ok() && type.error().code == ErrorCode::InvalidArgument) return type.error();
    if (!type.ok()) return error(type.error().code, "input {} {}", quote(info->name), type.error().message);
    result.types_.push_back(std::move(type).value());
  }
  return result;
}

}  // namespace strop::onnx
