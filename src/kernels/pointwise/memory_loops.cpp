// Between memory and tiles: widening, narrowing, rounding, conversion of lanes. Plain loops, vectorised by the compiler
// for each target.
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise/memory_loops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <bit>
#include <cmath>

#include "kernels/pointwise/loops_inl.h"
#include "kernels/pointwise/memory_table.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace {

// Conversions by bits: every step is a plain integer or float operation, so that loops over them vectorise.

HWY_INLINE float half_to_single(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  // The exponent's bias differs by 112: a multiplication moves it, and makes subnormals normal.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude | 0x7f800000u;  // infinity and NaN keep the exponent of all ones
  const uint32_t bits = magnitude >= 0x0f800000u ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

HWY_INLINE uint16_t single_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  // Adding 1/2 lets the addition round at 2^-24, the spacing of subnormal halves.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65520 and more round to infinity
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

HWY_INLINE float bfloat_to_single(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

HWY_INLINE uint16_t single_to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

#if HWY_TARGET != HWY_SCALAR
// With vectors where the target converts halves itself; elements of two bytes, in registers of half a vector.
using DHalf = hn::Rebind<hwy::float16_t, D>;
using DShort = hn::Rebind<uint16_t, D>;

HWY_INLINE V promote_half(hn::Vec<DShort> codes) { return hn::PromoteTo(kD, hn::BitCast(DHalf(), codes)); }
HWY_INLINE hn::Vec<DShort> demote_half(V x) { return hn::BitCast(DShort(), hn::DemoteTo(DHalf(), x)); }
HWY_INLINE V promote_bfloat(hn::Vec<DShort> codes) {
  return hn::BitCast(kD, hn::ShiftLeft<16>(hn::PromoteTo(kDI, codes)));
}
HWY_INLINE hn::Vec<DShort> demote_bfloat(V x) {
  const VI bits = hn::BitCast(kDI, x);
  const auto high = [](VI value) HWY_ATTR { return hn::And(hn::ShiftRight<16>(value), hn::Set(kDI, 0xffff)); };
  const VI odd = hn::And(high(bits), hn::Set(kDI, 1));
  const VI rounded = high(hn::Add(bits, hn::Add(odd, hn::Set(kDI, 0x7fff))));
  const VI nan = hn::Or(high(bits), hn::Set(kDI, 0x40));
  return hn::DemoteTo(DShort(), hn::IfThenElse(hn::RebindMask(kDI, hn::IsNaN(x)), nan, rounded));
}

template <V (*kPromote)(hn::Vec<DShort>)>
void load_shorts(const TileLoopArgs& args) {
  const auto* a = static_cast<const uint16_t*>(args.a);
  auto* out = static_cast<float*>(args.out);
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) hn::StoreU(kPromote(hn::LoadU(DShort(), a + i)), kD, out + i);
  if (i == args.n) return;
  uint16_t rest[kLanes] = {};
  std::copy(a + i, a + args.n, rest);
  store_part(kPromote(hn::LoadU(DShort(), rest)), out + i, args.n - i);
}

template <hn::Vec<DShort> (*kDemote)(V)>
void store_shorts(const TileLoopArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  auto* out = static_cast<uint16_t*>(args.out);
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) hn::StoreU(kDemote(hn::LoadU(kD, a + i)), DShort(), out + i);
  if (i == args.n) return;
  uint16_t rest[kLanes];
  hn::StoreU(kDemote(load_part(a + i, args.n - i)), DShort(), rest);
  std::copy(rest, rest + (args.n - i), out + i);
}

struct RoundHalf {
  static HWY_INLINE V apply(V a) { return promote_half(demote_half(a)); }
};
struct RoundBfloat {
  static HWY_INLINE V apply(V a) { return promote_bfloat(demote_bfloat(a)); }
};
#endif

/// out[i] = f(a[i]).
template <class From, class To, To (*kConvert)(From)>
void convert(const TileLoopArgs& args) {
  const auto* a = static_cast<const From*>(args.a);
  auto* out = static_cast<To*>(args.out);
  for (int64_t i = 0; i < args.n; ++i) out[i] = kConvert(a[i]);
}

template <class From, class To>
HWY_INLINE To plain(From value) {
  return static_cast<To>(value);
}
HWY_INLINE int32_t load_bool(uint8_t value) { return value != 0 ? 1 : 0; }
HWY_INLINE uint8_t store_bool(int32_t value) { return value != 0 ? 1 : 0; }
HWY_INLINE int32_t single_to_bool(float value) { return value != 0 ? 1 : 0; }  // NaN is true
HWY_INLINE float round_half(float value) { return half_to_single(single_to_half(value)); }
HWY_INLINE float round_bfloat(float value) { return bfloat_to_single(single_to_bfloat(value)); }
template <class T>
HWY_INLINE int32_t wrap(int32_t value) {
  return static_cast<T>(value);
}

/// Toward zero, modulo 2^32.
int32_t wrap_float(float value) {
  if (!std::isfinite(value)) return 0;
  const double rest = std::fmod(std::trunc(static_cast<double>(value)), 4294967296.0);
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(rest)));
}

void float_to_int(const TileLoopArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  auto* out = static_cast<int32_t*>(args.out);
  for (int64_t i = 0; i < args.n; i += kLanes) {
    const int64_t count = std::min(kLanes, args.n - i);
    const V x = load_part(a + i, count);
    if (hn::AllTrue(kD, hn::Lt(hn::Abs(x), splat(2147483648.0f)))) {
      const VI value = hn::ConvertTo(kDI, x);
      count == kLanes ? store_whole(value, out, i) : store_rest(value, out, i, count);
    } else {
      for (int64_t k = i; k < i + count; ++k) out[k] = wrap_float(a[k]);
    }
  }
}

MemoryTable make_table() {
  MemoryTable table;
  table.load_f16 = &convert<uint16_t, float, half_to_single>;
  table.load_bf16 = &convert<uint16_t, float, bfloat_to_single>;
  table.load_u8 = &convert<uint8_t, int32_t, plain<uint8_t, int32_t>>;
  table.load_i8 = &convert<int8_t, int32_t, plain<int8_t, int32_t>>;
  table.load_u16 = &convert<uint16_t, int32_t, plain<uint16_t, int32_t>>;
  table.load_i16 = &convert<int16_t, int32_t, plain<int16_t, int32_t>>;
  table.load_bool = &convert<uint8_t, int32_t, load_bool>;
  table.load_u32 = &convert<uint32_t, int64_t, plain<uint32_t, int64_t>>;
  table.store_f16 = &convert<float, uint16_t, single_to_half>;
  table.store_bf16 = &convert<float, uint16_t, single_to_bfloat>;
  table.store_8 = &convert<int32_t, uint8_t, plain<int32_t, uint8_t>>;
  table.store_16 = &convert<int32_t, uint16_t, plain<int32_t, uint16_t>>;
  table.store_bool = &convert<int32_t, uint8_t, store_bool>;
  table.store_u32 = &convert<int64_t, uint32_t, plain<int64_t, uint32_t>>;
  table.round_f16 = &convert<float, float, round_half>;
  table.round_bf16 = &convert<float, float, round_bfloat>;
  table.wrap_u8 = &convert<int32_t, int32_t, wrap<uint8_t>>;
  table.wrap_i8 = &convert<int32_t, int32_t, wrap<int8_t>>;
  table.wrap_u16 = &convert<int32_t, int32_t, wrap<uint16_t>>;
  table.wrap_i16 = &convert<int32_t, int32_t, wrap<int16_t>>;
  table.int_to_float = &convert<int32_t, float, plain<int32_t, float>>;
  table.float_to_int = &float_to_int;
  table.float_to_bool = &convert<float, int32_t, single_to_bool>;
#if HWY_TARGET != HWY_SCALAR
  table.load_f16 = &load_shorts<promote_half>;
  table.load_bf16 = &load_shorts<promote_bfloat>;
  table.store_f16 = &store_shorts<demote_half>;
  table.store_bf16 = &store_shorts<demote_bfloat>;
  table.round_f16 = &loop1<RoundHalf, float>;
  table.round_bf16 = &loop1<RoundBfloat, float>;
#endif
  return table;
}

}  // namespace
const MemoryTable& memory_table() {
  static const MemoryTable table = make_table();
  return table;
}
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const MemoryTable& memory_table(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::memory_table();
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::memory_table();
#endif
    default: return HWY_STATIC_DISPATCH(memory_table)();
  }
}

}  // namespace strop::kernels
#endif
