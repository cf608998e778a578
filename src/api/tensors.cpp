// HostTensor and random contents.
#include <cmath>
#include <numbers>

#include "api/impl.h"

namespace strop {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine and with every standard library.
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In (0, 1].
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
  /// Box and Muller's method, the sine's half thrown away.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  uint64_t state_;
};

Tensor random_strings(const std::vector<int64_t>& shape, RandomBits& bits) {
  std::vector<std::string> strings(static_cast<size_t>(element_count(shape)));
  for (std::string& text : strings) text = "s" + std::to_string(bits.next() % 10);
  return Tensor::of_strings(shape, std::move(strings));
}

Tensor random_integers(DType dtype, const std::vector<int64_t>& shape, RandomBits& bits) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(shape)));
  const uint64_t limit = dtype == DType::Bool ? 2 : 10;
  for (int64_t& value : values) value = static_cast<int64_t>(bits.next() % limit);
  return store_i64(dtype, shape, values);
}

Tensor random_floats(DType dtype, const std::vector<int64_t>& shape, RandomBits& bits) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (double& value : values) value = bits.normal();
  return store_f64(dtype, shape, values);
}

Tensor random_complex(DType dtype, const std::vector<int64_t>& shape, RandomBits& bits) {
  std::vector<int64_t> parts = shape;
  parts.push_back(2);
  const Tensor flat = random_floats(dtype == DType::C64 ? DType::F32 : DType::F64, parts, bits);
  Tensor result = Tensor::uninitialized(dtype, shape);
  std::copy_n(flat.data<char>(), flat.bytes(), result.mutable_data<char>());
  return result;
}

}  // namespace

int64_t TensorView::count() const {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape)
    : HostTensor(api::to_host(Tensor(dtype, std::move(shape)))) {}

HostTensor::HostTensor(const HostTensor& other) {
  if (other.dtype() != DType::Undefined) *this = api::to_host(api::borrow(other.view()).clone());
}

HostTensor& HostTensor::operator=(const HostTensor& other) {
  if (this != &other) *this = HostTensor(other);
  return *this;
}

HostTensor random_tensor(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  RandomBits bits(seed);
  if (dtype == DType::String) return api::to_host(random_strings(shape, bits));
  if (is_complex(dtype)) return api::to_host(random_complex(dtype, shape, bits));
  if (is_float(dtype)) return api::to_host(random_floats(dtype, shape, bits));
  return api::to_host(random_integers(dtype, shape, bits));
}

namespace api {

HostTensor to_host(Tensor tensor) {
  if (!tensor.defined()) return {};
  TensorView view{tensor.dtype(), tensor.dims(), tensor.mutable_raw(), {}};
  return HostTensor(std::move(view), std::make_shared<Tensor>(std::move(tensor)));
}

}  // namespace api
}  // namespace strop
