#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "engine/engine_file.h"
#include "engine/layout.h"
#include "engine/plan_codec.h"
#include "engine/signature.h"

namespace strop::engine {
namespace {

Error damaged(std::string_view what) { return error(ErrorCode::InvalidEngine, "{}", what); }

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, Threads& threads)
      : owner_(std::move(owner)), bytes_(bytes), threads_(threads) {}

  Result<ReadEngine> read(const ReadOptions& options) {
    STROP_TRY(read_header());
    STROP_TRY(check_table());
    STROP_TRY(check_digests(options));
    STROP_ASSIGN(DecodedPlan decoded, decode_plan(section(SectionKind::Plan)));
    STROP_TRY(decode_notes(section(SectionKind::Notes), decoded.plan));
    const auto sound = plan::verify(decoded.plan);
    if (!sound.ok()) return error(sound.error().code, "{}: build the engine again", sound.error().message);
    ReadEngine engine;
    engine.digests = digests_;
    STROP_TRY(read_record(engine.image.record));
    for (size_t i = 0; i < decoded.places.size(); ++i) {
      auto weight = read_weight(decoded.plan.weights[i], decoded.places[i]);
      if (!weight.ok()) return in_context(weight.error(), "weight '" + decoded.plan.weights[i].name + "'");
      engine.image.weights.push_back(std::move(*weight));
    }
    engine.image.plan = std::make_shared<const plan::Plan>(std::move(decoded.plan));
    return engine;
  }

 private:
  Result<void> read_header() {
    if (bytes_.size() < sizeof(kMagic) || std::memcmp(bytes_.data(), kMagic, sizeof(kMagic)) != 0)
      return damaged("this is not a Strop engine");
    if (bytes_.size() < sizeof(FileHeader)) return damaged("the file is truncated within its header");
    std::memcpy(&header_, bytes_.data(), sizeof(header_));
    if (header_.version != kFormatVersion) {
      return error(ErrorCode::InvalidEngine, "it has format version {}, this Strop reads version {}: {}",
                   header_.version, kFormatVersion,
                   header_.version > kFormatVersion ? "use the newer Strop that made it" : "build the engine again");
    }
    if (header_.file_size != bytes_.size()) {
      return error(ErrorCode::InvalidEngine, "it should have {} bytes and has {}: it is truncated or was appended to",
                   header_.file_size, bytes_.size());
    }
    if (header_.section_count != kSections.size()) return damaged("its section table is damaged");
    if (bytes_.size() < sizeof(header_) + sizeof(table_))
      return damaged("the file is truncated within its section table");
    std::memcpy(table_.data(), bytes_.data() + sizeof(header_), sizeof(table_));
    digests_.file = header_digest(header_, table_);
    if (!std::equal(digests_.file.bytes.begin(), digests_.file.bytes.end(), header_.digest))
      return damaged("its header is damaged (digest mismatch)");
    if (header_.flags > kFlagSigned || header_.reserved != 0) return damaged("its header has unknown flags");
    return {};
  }

  int64_t payload_end() const {
    return static_cast<int64_t>(header_.file_size) - (header_.flags & kFlagSigned ? kSignatureBytes : 0);
  }

  // Sections follow one another in order, with zeros between them and nothing else in the file.
  Result<void> check_table() {
    uint64_t end = sizeof(header_) + sizeof(table_);
    for (size_t i = 0; i < table_.size(); ++i) {
      const SectionEntry& entry = table_[i];
      const auto limit = static_cast<uint64_t>(std::max<int64_t>(payload_end(), 0));
      const bool fits = entry.offset >= end && entry.offset - end < static_cast<uint64_t>(kSectionAlignment) &&
                        entry.offset <= limit && entry.size <= limit - entry.offset;
      const bool known =
          entry.kind == static_cast<uint32_t>(kSections[i]) && entry.reserved == 0 && entry.reserved2 == 0;
      if (!known || entry.offset % kSectionAlignment != 0 || !fits)
        return error(ErrorCode::InvalidEngine, "entry {} of its section table is not valid", i);
      const auto gap = bytes_.subspan(end, entry.offset - end);
      if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; }))
        return damaged("bytes between its sections are damaged");
      end = entry.offset + entry.size;
    }
    if (static_cast<int64_t>(end) != payload_end()) return damaged("its sections do not end where the file does");
    return {};
  }

  std::span<const std::byte> section(SectionKind kind) const {
    for (const SectionEntry& entry : table_) {
      if (entry.kind == static_cast<uint32_t>(kind)) return bytes_.subspan(entry.offset, entry.size);
    }
    STROP_UNREACHABLE();
  }

  Result<void> check_digests(const ReadOptions& options) {
    static constexpr std::array<std::string_view, 4> kNames = {"plan", "notes", "record", "weights"};
    for (size_t i = 0; i < table_.size(); ++i) {
      const Digest digest = section_digest(section(kSections[i]), threads_);
      if (!std::equal(digest.bytes.begin(), digest.bytes.end(), table_[i].digest)) {
        return error(ErrorCode::InvalidEngine, "its {} section is damaged (digest mismatch)", kNames[i]);
      }
    }
    digests_.plan = plan_digest(table_);
    if (options.required_key.empty()) return {};
    if (!(header_.flags & kFlagSigned)) return damaged("it carries no signature, and one is required");
    const auto tail = bytes_.last(static_cast<size_t>(kSignatureBytes));
    return check_signature(options.required_key, {reinterpret_cast<const char*>(tail.data()), tail.size()},
                           digests_.file);
  }

  Result<void> read_record(EngineRecord& record) const {
    const auto bytes = section(SectionKind::Record);
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    const nlohmann::json json = nlohmann::json::parse(begin, begin + bytes.size(), nullptr, false);
    if (!json.is_object()) return damaged("its record section is not valid");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) return damaged("its record section is not valid");
      record[key] = value.get<std::string>();
    }
    return {};
  }

  Result<Tensor> read_weight(const plan::WeightDesc& desc, const WeightPlace& place) const {
    const auto all = section(SectionKind::Weights);
    if (place.offset > all.size() || place.bytes > all.size() - place.offset || place.offset % kWeightAlignment != 0)
      return damaged("it lies outside the weights section");
    const auto bytes = all.subspan(place.offset, place.bytes);
    const int64_t count = element_count(desc.dims);
    if (desc.dtype == DType::String) return read_strings(desc, bytes, count);
    if (byte_size(desc.dtype, count) != static_cast<int64_t>(bytes.size()))
      return damaged("its size does not fit its type");
    return Tensor::view(desc.dtype, desc.dims, bytes.data(), owner_);
  }

  static Result<Tensor> read_strings(const plan::WeightDesc& desc, std::span<const std::byte> bytes, int64_t count) {
    if (static_cast<uint64_t>(count) > bytes.size() / 8) return damaged("its strings are truncated");
    std::vector<std::string> items;
    size_t at = static_cast<size_t>(count) * 8;
    for (int64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      std::memcpy(&length, bytes.data() + i * 8, sizeof(length));
      if (length > bytes.size() - at) return damaged("its strings are truncated");
      items.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at, length);
      at += length;
    }
    if (at != bytes.size()) return damaged("its strings have a wrong length");
    return Tensor::of_strings(desc.dims, std::move(items));
  }

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  Threads& threads_;
  FileHeader header_{};
  std::array<SectionEntry, kSections.size()> table_{};
  Digests digests_;
};

}  // namespace

Result<ReadEngine> read_engine(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, Threads& threads,
                               const ReadOptions& options) {
  return Reader(bytes, std::move(owner), threads).read(options);
}

Result<ReadEngine> read_engine(const std::string& path, Threads& threads, const ReadOptions& options) {
  STROP_ASSIGN(const auto file, MappedFile::open(path));
  auto engine = read_engine(file->bytes(), file, threads, options);
  if (!engine.ok()) return in_context(engine.error(), fmt::format("engine '{}'", path));
  return engine;
}

}  // namespace strop::engine
