#include "api/npy.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "api/impl.h"
#include "api/strides.h"
#include "base/files.h"
#include "base/text.h"

namespace strop {
namespace api {
namespace {

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

Error damaged(std::string_view what) { return error(ErrorCode::InvalidArgument, "is not a valid .npy file: {}", what); }

/// Reads the header's Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<Header> read() {
    Header header;
    int found = 0;
    if (!accept('{')) return damaged("the header is not a dictionary");
    while (!accept('}')) {
      STROP_ASSIGN(const std::string_view key, quoted());
      if (!accept(':')) return damaged("the header has a key without a value");
      if (key == "descr") {
        if (next() == '[')
          return error(ErrorCode::InvalidArgument, "holds a structured array; save each field by itself");
        STROP_ASSIGN(header.descr, quoted());
      } else if (key == "fortran_order") {
        STROP_ASSIGN(header.fortran_order, boolean());
      } else if (key == "shape") {
        STROP_ASSIGN(header.dims, shape());
      } else {
        return damaged("the header has an unknown key");
      }
      ++found;
      accept(',');
    }
    if (found != 3) return damaged("the header must have descr, fortran_order and shape");
    return header;
  }

 private:
  char next() {
    text_ = trim(text_);
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char wanted) {
    if (next() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  Result<std::string_view> quoted() {
    const char quote = next();
    if (quote != '\'' && quote != '"') return damaged("text was expected in the header");
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return damaged("the header ends inside a text");
    const std::string_view found = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return found;
  }
  Result<bool> boolean() {
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      next();
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    return damaged("fortran_order is neither True nor False");
  }
  Result<std::vector<int64_t>> shape() {
    std::vector<int64_t> dims;
    if (!accept('(')) return damaged("the shape is not a tuple");
    while (!accept(')')) {
      next();
      int64_t dim = -1;
      const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (status != std::errc() || dim < 0) return damaged("a dimension is not a number");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      accept('L');  // Python 2 wrote long integers so
      accept(',');
      dims.push_back(dim);
    }
    return dims;
  }

  std::string_view text_;
};

/// The header's text, and the data after it.
struct Parts {
  std::string_view header;
  std::string_view data;
};

Result<Parts> split_file(std::string_view bytes) {
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < 10) return damaged("it does not begin as one");
  const int major = static_cast<uint8_t>(bytes[6]);
  if (major < 1 || major > 3)
    return error(ErrorCode::InvalidArgument, "is a .npy file of version {}; 1 to 3 can be read", major);
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return damaged("it ends inside the header");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, length_bytes);  // little-endian
  const size_t begin = 8 + length_bytes;
  if (bytes.size() - begin < length) return damaged("it ends inside the header");
  return Parts{bytes.substr(begin, length), bytes.substr(begin + length)};
}

/// The element type of a dtype text such as "<f4", without text types.
Result<DType> element_type(std::string_view descr) {
  const bool big_endian = descr.starts_with('>');
  const std::string_view kind = descr.substr(descr.find_first_not_of("<>|=") == 0 ? 0 : 1);
  if (kind.starts_with('O'))
    return error(ErrorCode::InvalidArgument, "holds pickled Python objects, which are not read");
  struct Entry {
    std::string_view kind;
    DType dtype;
  };
  static constexpr Entry kTypes[] = {{"f2", DType::F16}, {"f4", DType::F32},  {"f8", DType::F64}, {"i1", DType::I8},
                                     {"i2", DType::I16}, {"i4", DType::I32},  {"i8", DType::I64}, {"u1", DType::U8},
                                     {"u2", DType::U16}, {"u4", DType::U32},  {"u8", DType::U64}, {"b1", DType::Bool},
                                     {"c8", DType::C64}, {"c16", DType::C128}};
  for (const Entry& entry : kTypes) {
    if (entry.kind != kind) continue;
    if (big_endian)
      return error(ErrorCode::InvalidArgument, "is big-endian; save array.astype(array.dtype.newbyteorder('<'))");
    return entry.dtype;
  }
  return error(ErrorCode::InvalidArgument, "holds elements of NumPy type '{}', which Strop does not have", descr);
}

void append_utf8(std::string& text, uint32_t code) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
  } else {
    add(0xF0 | (code >> 18 & 0x07));
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

/// Bytes of one character of a text dtype ("U", "S"); 0 for other types.
int64_t character_bytes(std::string_view descr) {
  if (descr.starts_with("<U")) return 4;
  return descr.starts_with("|S") ? 1 : 0;
}

Result<Tensor> text_array(const Header& header, std::string_view data) {
  const int64_t width = character_bytes(header.descr);
  int64_t characters = -1;
  const auto digits = header.descr.substr(2);
  std::from_chars(digits.data(), digits.data() + digits.size(), characters);
  if (characters < 0 || characters > int64_t{1} << 32) return damaged("its text type has no length");
  std::vector<std::string> strings(static_cast<size_t>(element_count(header.dims)));
  if (static_cast<int64_t>(data.size()) != static_cast<int64_t>(strings.size()) * characters * width)
    return damaged("its size is not what the shape needs");
  const char* at = data.data();
  for (std::string& text : strings) {
    for (int64_t i = 0; i < characters; ++i, at += width) {
      uint32_t code = 0;
      std::memcpy(&code, at, static_cast<size_t>(width));
      if (width == 1)
        text += static_cast<char>(code);
      else
        append_utf8(text, code);
    }
    text.erase(text.find_last_not_of('\0') + 1);  // padding
  }
  return Tensor::of_strings(header.dims, std::move(strings));
}

Result<void> check_count(const std::vector<int64_t>& dims, size_t data_bytes) {
  // Every element but those of empty texts takes a byte at least, so larger counts cannot be right.
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return damaged("its shape is absurd");
  }
  if (count > static_cast<int64_t>(data_bytes) && data_bytes > 0)
    return damaged("its size is not what the shape needs");
  if (count > 0 && data_bytes == 0) return damaged("it has no data");
  return {};
}

/// The dtype text that holds `dtype`, or nothing for those NumPy lacks.
std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return "<f2";
    case DType::F32: return "<f4";
    case DType::F64: return "<f8";
    case DType::I8: return "|i1";
    case DType::I16: return "<i2";
    case DType::I32: return "<i4";
    case DType::I64: return "<i8";
    case DType::U16:
    case DType::BF16: return "<u2";
    case DType::U32: return "<u4";
    case DType::U64: return "<u8";
    case DType::Bool: return "|b1";
    case DType::C64: return "<c8";
    case DType::C128: return "<c16";
    case DType::U8:
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
    case DType::F8E8M0: return "|u1";
    default: return "";
  }
}

/// One byte per element, for types narrower than a byte: their values (integers) or bits (f4e2m1).
Tensor widened(const Tensor& packed) {
  const bool is_signed = packed.dtype() == DType::I4 || packed.dtype() == DType::I2;
  if (packed.dtype() != DType::F4E2M1)
    return store_i64(is_signed ? DType::I8 : DType::U8, packed.dims(), load_i64(packed));
  const Tensor bits = Tensor::borrow(DType::U4, packed.dims(), const_cast<void*>(packed.raw()));
  return store_i64(DType::U8, packed.dims(), load_i64(bits));
}

/// UTF-8 as UTF-32; what is not valid becomes U+FFFD.
std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    bool valid = lead < 0x80 || (lead >= 0xC2 && lead < 0xF5 && i + length <= text.size());
    for (size_t k = 1; valid && k < length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      valid = (byte & 0xC0) == 0x80;
      code = code << 6 | (byte & 0x3F);
    }
    out += valid ? static_cast<char32_t>(code) : U'\uFFFD';
    i += valid ? length : 1;
  }
  return out;
}

struct TextData {
  std::string descr;
  std::string bytes;
};

TextData text_data(const Tensor& tensor) {
  std::vector<std::u32string> texts;
  size_t longest = 1;
  for (const std::string& text : tensor.strings())
    longest = std::max(longest, texts.emplace_back(decode_utf8(text)).size());
  TextData data{fmt::format("<U{}", longest), std::string(texts.size() * longest * 4, '\0')};
  for (size_t i = 0; i < texts.size(); ++i)
    std::memcpy(data.bytes.data() + i * longest * 4, texts[i].data(), texts[i].size() * 4);
  return data;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes) {
  STROP_ASSIGN(const Parts parts, split_file(bytes));
  STROP_ASSIGN(const Header header, HeaderReader(parts.header).read());
  if (header.fortran_order && header.dims.size() > 1) {
    return error(ErrorCode::InvalidArgument, "is in Fortran order; save numpy.ascontiguousarray(array)");
  }
  STROP_TRY(check_count(header.dims, parts.data.size()));
  if (character_bytes(header.descr) > 0) return text_array(header, parts.data);
  STROP_ASSIGN(const DType dtype, element_type(header.descr));
  const int64_t wanted = byte_size(dtype, element_count(header.dims));
  if (static_cast<int64_t>(parts.data.size()) != wanted) {
    return damaged(fmt::format("{} bytes of data, its shape needs {}", parts.data.size(), wanted));
  }
  Tensor tensor = Tensor::uninitialized(dtype, header.dims);
  if (wanted > 0) std::memcpy(tensor.mutable_raw(), parts.data.data(), parts.data.size());
  return tensor;
}

Result<std::string> npy_header(std::string_view descr, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += fmt::format("{}, ", dim);
  if (dims.size() != 1 && !shape.empty()) shape.resize(shape.size() - 2);
  if (dims.size() == 1) shape.resize(shape.size() - 1);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr size_t kPrefix = 10;  // magic, version, length
  constexpr size_t kAlignment = 64;
  text.append((kAlignment - (kPrefix + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  if (text.size() > 0xFFFF)
    return error(ErrorCode::InvalidArgument, "{} dimensions do not fit into a .npy file", dims.size());
  std::string header(kNpyMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace api

Result<void> save_npy(const std::string& path, const TensorView& view) {
  return api::guarded([&]() -> Result<void> {
    if (view.dtype == DType::Undefined)
      return error(ErrorCode::InvalidArgument, "'{}': there is no tensor to write", path);
    STROP_TRY(api::check_strides(path, view, api::Access::Read));
    Tensor tensor = api::borrow(view);
    std::string descr(api::descr_of(view.dtype));
    std::string text;
    if (view.dtype == DType::String) {
      api::TextData data = api::text_data(tensor);
      descr = data.descr;
      text = std::move(data.bytes);
    } else if (is_sub_byte(view.dtype)) {
      tensor = api::widened(tensor);
      descr = api::descr_of(tensor.dtype());
    }
    STROP_ASSIGN(const std::string header, api::npy_header(descr, view.shape));
    const auto as_bytes = [](const void* data, size_t size) {
      return std::span(static_cast<const std::byte*>(data), size);
    };
    const std::span<const std::byte> pieces[] = {as_bytes(header.data(), header.size()),
                                                 view.dtype == DType::String
                                                     ? as_bytes(text.data(), text.size())
                                                     : as_bytes(tensor.raw(), static_cast<size_t>(tensor.bytes()))};
    return write_file_atomically(path, pieces);
  });
}

}  // namespace strop
