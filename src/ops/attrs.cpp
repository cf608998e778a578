#include "ops/attrs.h"

#include <algorithm>
#include <bit>

#include "ops/field_text.h"

namespace strop::ops {
namespace {

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::String) return a.strings() == b.strings();
  const auto* bytes_a = static_cast<const std::byte*>(a.raw());
  const auto* bytes_b = static_cast<const std::byte*>(b.raw());
  return std::equal(bytes_a, bytes_a + a.bytes(), bytes_b);
}

Type map_type(const Type& type, FunctionRef<Dim(const Dim&)> f) {
  Type result = type;
  if (result.element) result.element = std::make_shared<const Type>(map_type(*type.element, f));
  if (result.tensor.shape) {
    for (Dim& dim : *result.tensor.shape) dim = f(dim);
  }
  return result;
}

/// The value with every Dim replaced; false if it holds none.
bool map_field(FieldValue& value, FunctionRef<Dim(const Dim&)> f) {
  if (auto* dim = std::get_if<Dim>(&value)) return *dim = f(*dim), true;
  if (auto* type = std::get_if<Type>(&value)) return *type = map_type(*type, f), true;
  auto* dims = std::get_if<Dims>(&value);
  if (!dims) return false;
  for (Dim& dim : *dims) dim = f(dim);
  return true;
}

}  // namespace

bool equal(const FieldValue& a, const FieldValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* number = std::get_if<double>(&a)) return same_bits(*number, std::get<double>(b));
  if (const auto* tensor = std::get_if<Tensor>(&a)) return same_tensor(*tensor, std::get<Tensor>(b));
  if (const auto* numbers = std::get_if<std::vector<double>>(&a)) {
    return std::ranges::equal(*numbers, std::get<std::vector<double>>(b), same_bits);
  }
  return std::visit(
      [&](const auto& left) -> bool {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return false;  // handled above
        } else {
          return left == std::get<T>(b);
        }
      },
      a);
}

namespace detail {

Error field_error(std::string_view name, const FieldValue& value) {
  return error(ErrorCode::InvalidArgument, "attribute '{}' cannot be {}", name, ops::to_string(value));
}

}  // namespace detail

std::vector<NamedField> Attrs::fields() const {
  std::vector<NamedField> result;
  const auto names = model_->names();
  for (size_t i = 0; i < names.size(); ++i) result.push_back({std::string(names[i]), model_->get(data_.get(), i)});
  return result;
}

Result<Attrs> Attrs::with(std::string_view name, const FieldValue& value) const {
  const auto names = model_->names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return error(ErrorCode::InvalidArgument, "there is no attribute '{}'", name);
  const std::shared_ptr<void> copy = model_->clone(data_.get());
  STROP_TRY(model_->set(copy.get(), static_cast<size_t>(found - names.begin()), value));
  Attrs result = *this;
  result.data_ = copy;
  return result;
}

Attrs Attrs::map_dims(FunctionRef<Dim(const Dim&)> f) const {
  std::shared_ptr<void> copy;
  const size_t count = model_->names().size();
  for (size_t i = 0; i < count; ++i) {
    FieldValue value = model_->get(data_.get(), i);
    if (!map_field(value, f)) continue;
    if (!copy) copy = model_->clone(data_.get());
    const auto set = model_->set(copy.get(), i, value);
    STROP_CHECK(set.ok(), "{}", set.error().message);
  }
  Attrs result = *this;
  if (copy) result.data_ = copy;
  return result;
}

std::vector<std::string> Attrs::symbols() const {
  std::vector<std::string> result;
  map_dims([&](const Dim& dim) {
    for (std::string& symbol : dim.symbols()) {
      if (std::ranges::find(result, symbol) == result.end()) result.push_back(std::move(symbol));
    }
    return dim;
  });
  return result;
}

std::string Attrs::to_string() const {
  std::string text;
  for (const NamedField& named : fields()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", named.name, ops::to_string(named.value));
  }
  return text;
}

Result<Attrs> Attrs::parse(std::string_view text) const {
  const auto prototypes = fields();
  Attrs result = *this;
  for (const std::string_view item : split_top_level(text, ',')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return error(ErrorCode::InvalidArgument, "expected 'name=value', found '{}'", item);
    }
    const std::string_view name = trim(item.substr(0, equals));
    const auto prototype = std::ranges::find(prototypes, name, &NamedField::name);
    if (prototype == prototypes.end()) return error(ErrorCode::InvalidArgument, "there is no attribute '{}'", name);
    STROP_ASSIGN(FieldValue value, parse_field(trim(item.substr(equals + 1)), prototype->value));
    STROP_ASSIGN(result, result.with(name, value));
  }
  return result;
}

bool operator==(const Attrs& a, const Attrs& b) {
  if (a.model_ != b.model_) return false;
  if (a.data_ == b.data_) return true;
  const size_t count = a.model_->names().size();
  for (size_t i = 0; i < count; ++i) {
    if (!equal(a.model_->get(a.data_.get(), i), b.model_->get(b.data_.get(), i))) return false;
  }
  return true;
}

}  // namespace strop::ops
