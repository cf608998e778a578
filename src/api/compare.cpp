#include <cmath>
#include <limits>

#include "api/impl.h"
#include "api/strides.h"
#include "tensor/convert.h"

namespace strop {
namespace {

constexpr int64_t kBlock = 4096;  // elements converted at a time

/// Sums over all elements so far.
struct Sums {
  double absolute = 0;
  double squared = 0;
  double reference_squared = 0;
  double actual_squared = 0;
  double product = 0;
};

void add_element(double actual, double reference, OutputError& error, Sums& sums) {
  if (std::isnan(actual) || std::isnan(reference)) {
    const bool differ = std::isnan(actual) != std::isnan(reference);
    error.nan += differ;
    error.l0 += differ;
    return;
  }
  if (std::isinf(actual) || std::isinf(reference)) {
    const bool differ = actual != reference;
    error.inf += differ;
    error.l0 += differ;
    return;
  }
  const double difference = std::fabs(actual - reference);
  error.l0 += difference != 0;
  error.linf = std::max(error.linf, difference);
  sums.absolute += difference;
  sums.squared += difference * difference;
  sums.reference_squared += reference * reference;
  sums.actual_squared += actual * actual;
  sums.product += actual * reference;
}

void finish(OutputError& error, const Sums& sums, int64_t count) {
  error.l1 = count > 0 ? sums.absolute / static_cast<double>(count) : 0;
  error.l2 = std::sqrt(sums.squared);
  if (sums.squared > 0) {
    error.rel_l2 = sums.reference_squared > 0 ? std::sqrt(sums.squared / sums.reference_squared)
                                              : std::numeric_limits<double>::infinity();
  }
  if (sums.squared == 0) return;  // equal: the cosine is exactly 1
  const double norms = std::sqrt(sums.actual_squared) * std::sqrt(sums.reference_squared);
  error.cos = norms > 0 ? std::min(sums.product / norms, 1.0) : 0;
}

/// 64-bit integers beyond 2^53 differ where their doubles may not.
int64_t count_different_integers(const Tensor& actual, const Tensor& reference) {
  int64_t different = 0;
  for (int64_t i = 0; i < reference.count(); ++i) {
    different += load_integer(actual.dtype(), actual.raw(), i) != load_integer(reference.dtype(), reference.raw(), i);
  }
  return different;
}

/// The parts of complex numbers count as elements of their own.
void compare_numbers(const Tensor& actual, const Tensor& reference, OutputError& error) {
  DType dtype = reference.dtype();
  int64_t count = reference.count();
  if (is_complex(dtype)) {
    dtype = dtype == DType::C64 ? DType::F32 : DType::F64;
    count *= 2;
  }
  Sums sums;
  double a[kBlock];
  double b[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const ElementRange range{first, 1, std::min(kBlock, count - first)};
    load_scalars(dtype, actual.raw(), range, a);
    load_scalars(dtype, reference.raw(), range, b);
    for (int64_t i = 0; i < range.count; ++i) add_element(a[i], b[i], error, sums);
  }
  finish(error, sums, count);
  if (dtype == DType::I64 || dtype == DType::U64) error.l0 = count_different_integers(actual, reference);
}

/// Texts have no distance: they are equal, or every measure says that they are not.
void compare_strings(const Tensor& actual, const Tensor& reference, OutputError& error) {
  for (size_t i = 0; i < reference.strings().size(); ++i) error.l0 += actual.strings()[i] != reference.strings()[i];
  if (error.l0 == 0) return;
  error.l1 = static_cast<double>(error.l0) / static_cast<double>(reference.count());
  error.l2 = std::sqrt(static_cast<double>(error.l0));
  error.linf = error.rel_l2 = 1;
  error.cos = 0;
}

OutputError nothing_in_common(OutputError error, int64_t count) {
  error.same_shape = false;
  error.l0 = count;
  error.l1 = error.l2 = error.linf = error.rel_l2 = std::numeric_limits<double>::infinity();
  error.cos = 0;
  return error;
}

}  // namespace

OutputError compare(const TensorView& actual, const TensorView& reference) {
  for (const TensorView* view : {&actual, &reference}) {
    if (api::check_strides("tensor", *view, api::Access::Read).ok()) continue;
    OutputError error;
    error.dtype = reference.dtype;
    error.shape = reference.shape;
    return nothing_in_common(std::move(error), reference.count());
  }
  return api::compare(api::borrow(actual), api::borrow(reference));
}

namespace api {

OutputError compare(const Tensor& actual, const Tensor& reference) {
  OutputError error;
  error.dtype = reference.dtype();
  error.shape = reference.dims();
  if (actual.dtype() != reference.dtype() || actual.dims() != reference.dims())
    return nothing_in_common(std::move(error), reference.count());
  if (reference.dtype() == DType::String) {
    compare_strings(actual, reference, error);
  } else {
    compare_numbers(actual, reference, error);
  }
  return error;
}

std::vector<NamedTensor> flatten(const std::string& name, const Value& value) {
  if (value.is_tensor()) return {{name, value.tensor()}};
  std::vector<NamedTensor> tensors;
  if (value.is_sequence()) {
    const std::vector<Value>& items = value.sequence().items;
    for (size_t i = 0; i < items.size(); ++i) {
      for (NamedTensor& item : flatten(fmt::format("{}[{}]", name, i), items[i])) tensors.push_back(std::move(item));
    }
  }
  if (value.is_optional() && value.optional().held) return flatten(name, *value.optional().held);
  return tensors;
}

}  // namespace api
}  // namespace strop
