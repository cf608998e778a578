#include "tensor/convert.h"

#include "tensor/codec.h"

namespace strop {

double load_scalar(DType dtype, const void* data, int64_t index) {
  return codec::with_codec(dtype, [&]<class C>(C) { return C::load(data, index); });
}

int64_t load_integer(DType dtype, const void* data, int64_t index) {
  return codec::with_codec(dtype, [&]<class C>(C) { return C::load_int(data, index); });
}

void store_scalar(DType dtype, void* data, int64_t index, double value, bool saturate) {
  codec::with_codec(dtype, [&]<class C>(C) { C::store(data, index, value, saturate); });
}

void store_integer(DType dtype, void* data, int64_t index, int64_t value) {
  codec::with_codec(dtype, [&]<class C>(C) { C::store_int(data, index, value); });
}

void load_scalars(DType dtype, const void* data, const ElementRange& range, double* out) {
  codec::with_codec(dtype, [&]<class C>(C) {
    for (int64_t i = 0; i < range.count; ++i) out[i] = C::load(data, range.first + i * range.stride);
  });
}

void load_integers(DType dtype, const void* data, const ElementRange& range, int64_t* out) {
  codec::with_codec(dtype, [&]<class C>(C) {
    for (int64_t i = 0; i < range.count; ++i) out[i] = C::load_int(data, range.first + i * range.stride);
  });
}

void store_scalars(DType dtype, void* data, const ElementRange& range, const double* values) {
  codec::with_codec(dtype, [&]<class C>(C) {
    for (int64_t i = 0; i < range.count; ++i) C::store(data, range.first + i * range.stride, values[i], false);
  });
}

void store_integers(DType dtype, void* data, const ElementRange& range, const int64_t* values) {
  codec::with_codec(dtype, [&]<class C>(C) {
    for (int64_t i = 0; i < range.count; ++i) C::store_int(data, range.first + i * range.stride, values[i]);
  });
}

float half_to_float(uint16_t bits) { return static_cast<float>(codec::decode<codec::kF16>(bits)); }

uint16_t float_to_half(float value) { return static_cast<uint16_t>(codec::encode<codec::kF16>(value, false)); }

float bfloat_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bfloat(float value) { return static_cast<uint16_t>(codec::encode<codec::kBF16>(value, false)); }

double round_to(DType dtype, double value) {
  if (dtype == DType::F64) return value;
  if (dtype == DType::F32) return static_cast<float>(value);
  uint64_t storage = 0;
  return codec::with_codec(dtype, [&]<class C>(C) {
    C::store(&storage, 0, value, true);
    return C::load(&storage, 0);
  });
}

}  // namespace strop
