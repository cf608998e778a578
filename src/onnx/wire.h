/// Reading protobuf's wire format in place: strings and bytes are views into the file. Varints are decoded by
/// protozero; lengths are kept in 64 bits here, because protozero's own reader cuts them to 32, and files above 4 GiB
/// exist. Source: the Protocol Buffers encoding page (base-128 varints, tags of field number and wire type).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace strop::onnx {

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, GroupStart = 3, GroupEnd = 4, Fixed32 = 5 };

/// What readers of one file share: where it begins, and the first error. After an error every reader is at its end and
/// every value is zero or empty, so that parsing code needs no checks of its own; the caller of the outermost parser
/// looks at `error`.
struct WireStatus {
  const char* begin = nullptr;
  std::string error;  ///< empty: none so far
  int depth = 0;      ///< of nested messages being read

  bool ok() const { return error.empty(); }
};

/// Goes through the fields of one message. After next() returned true exactly one value must be read or skipped.
class WireReader {
 public:
  /// `message` names the message's type in errors, for example "NodeProto".
  WireReader(std::string_view bytes, std::string_view message, WireStatus& status)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message), status_(status) {}

  /// Reads the next tag; false at the end of the message or after an error.
  bool next();
  uint32_t field() const { return field_; }
  WireType wire_type() const { return wire_type_; }

  uint64_t varint();
  int64_t integer() { return static_cast<int64_t>(varint()); }
  /// An int32 or enum: an integer outside int32 is an error.
  int32_t integer32();
  float fixed_f32();
  std::string_view bytes();
  /// As bytes(), but must be UTF-8.
  std::string_view text();
  void skip();

  /// One element of a repeated field, or a packed run of them: calls add(value) for each.
  template <class Add>
  void integers(Add&& add) {
    if (wire_type_ != WireType::Bytes) return add(integer());
    const std::string_view run = bytes();
    WireReader packed(run, message_, status_);
    packed.field_ = field_;
    packed.wire_type_ = WireType::Varint;
    while (status_.ok() && packed.at_ != packed.end_) add(packed.integer());
  }
  /// As integers(), for a fixed-width T (float, double).
  template <class T, class Add>
  void fixed(Add&& add) {
    constexpr WireType kElement = sizeof(T) == 4 ? WireType::Fixed32 : WireType::Fixed64;
    const std::string_view run = wire_type_ == WireType::Bytes ? bytes() : raw_fixed(kElement, sizeof(T));
    if (run.size() % sizeof(T) != 0) return fail(fmt::format("{} bytes are not whole numbers", run.size()));
    for (size_t i = 0; i < run.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, run.data() + i, sizeof(T));
      add(value);
    }
  }

  /// Records an error at the reader's place, unless there is one already.
  void fail(std::string_view what);

 private:
  std::string_view raw_fixed(WireType expected, size_t size);
  bool expect(WireType expected);

  const char* at_;
  const char* end_;
  std::string_view message_;
  WireStatus& status_;
  uint32_t field_ = 0;
  WireType wire_type_ = WireType::Varint;
};

static_assert(std::endian::native == std::endian::little, "protobuf's fixed-width numbers are read in place");

/// Well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
bool is_utf8(std::string_view text);

}  // namespace strop::onnx
