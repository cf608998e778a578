#include "onnx/wire.h"

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace strop::onnx {

void WireReader::fail(std::string_view what) {
  if (status_.ok()) {
    status_.error =
        fmt::format("damaged at byte {} (in {}, field {}): {}", at_ - status_.begin, message_, field_, what);
  }
  at_ = end_;
}

bool WireReader::expect(WireType expected) {
  if (!status_.ok()) return false;
  if (wire_type_ == expected) return true;
  fail(fmt::format("wire type {} where {} belongs", static_cast<int>(wire_type_), static_cast<int>(expected)));
  return false;
}

bool WireReader::next() {
  if (!status_.ok() || at_ == end_) return false;
  field_ = 0;
  wire_type_ = WireType::Varint;
  const uint64_t tag = varint();
  if (!status_.ok()) return false;
  const uint64_t number = tag >> 3;
  if (number == 0 || number >= (uint64_t{1} << 29)) {
    fail(fmt::format("{} is not a field number", number));
    return false;
  }
  field_ = static_cast<uint32_t>(number);
  wire_type_ = static_cast<WireType>(tag & 7);
  return true;
}

uint64_t WireReader::varint() {
  if (!expect(WireType::Varint)) return 0;
  if (at_ == end_) return fail("the data end inside a number"), 0;
  try {
    return protozero::decode_varint(&at_, end_);
  } catch (const protozero::end_of_buffer_exception&) {
    fail("the data end inside a number");
  } catch (const protozero::varint_too_long_exception&) {
    fail("a number longer than 64 bits");
  }
  return 0;
}

int32_t WireReader::integer32() {
  const int64_t value = integer();
  if (value != static_cast<int32_t>(value)) return fail(fmt::format("{} does not fit 32 bits", value)), 0;
  return static_cast<int32_t>(value);
}

std::string_view WireReader::raw_fixed(WireType expected, size_t size) {
  if (!expect(expected)) return {};
  if (static_cast<size_t>(end_ - at_) < size) return fail("the data end inside a number"), std::string_view();
  const std::string_view result(at_, size);
  at_ += size;
  return result;
}

float WireReader::fixed_f32() {
  const std::string_view data = raw_fixed(WireType::Fixed32, sizeof(float));
  float value = 0;
  if (!data.empty()) std::memcpy(&value, data.data(), sizeof(value));
  return value;
}

std::string_view WireReader::bytes() {
  if (!expect(WireType::Bytes)) return {};
  wire_type_ = WireType::Varint;
  const uint64_t length = varint();
  wire_type_ = WireType::Bytes;
  if (!status_.ok()) return {};
  const auto left = static_cast<uint64_t>(end_ - at_);
  if (length > left) {
    fail(fmt::format("a length of {} bytes where {} are left", length, left));
    return {};
  }
  const std::string_view result(at_, length);
  at_ += length;
  return result;
}

std::string_view WireReader::text() {
  const std::string_view result = bytes();
  if (is_utf8(result)) return result;
  fail("a name that is not UTF-8");
  return {};
}

void WireReader::skip() {
  switch (wire_type_) {
    case WireType::Varint: varint(); return;
    case WireType::Fixed64: raw_fixed(WireType::Fixed64, 8); return;
    case WireType::Bytes: bytes(); return;
    case WireType::Fixed32: raw_fixed(WireType::Fixed32, 4); return;
    case WireType::GroupStart:
    case WireType::GroupEnd: break;
  }
  fail(fmt::format("wire type {} is not used by ONNX", static_cast<int>(wire_type_)));
}

bool is_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t i = 0;
  while (i < text.size()) {
    const uint8_t lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    const uint8_t second = byte(i + 1);
    const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    if (bad) return false;
    i += length;
  }
  return true;
}

}  // namespace strop::onnx
