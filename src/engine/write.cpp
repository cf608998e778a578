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

int64_t align(int64_t size, int64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

// Strings are stored as all lengths (u64), then all bytes.
std::string string_blob(const Tensor& tensor) {
  std::string blob;
  for (const std::string& item : tensor.strings()) {
    const uint64_t length = item.size();
    blob.append(reinterpret_cast<const char*>(&length), sizeof(length));
  }
  for (const std::string& item : tensor.strings()) blob += item;
  return blob;
}

// The weights section as pieces, so that large weights are written from where they are.
struct Weights {
  std::vector<WeightPlace> places;
  std::vector<std::string> blobs;
  std::vector<std::span<const std::byte>> pieces;  // parallel to places
  int64_t size = 0;
};

Weights lay_out(const std::vector<Tensor>& tensors) {
  Weights weights;
  weights.blobs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    std::span<const std::byte> bytes;
    if (tensor.dtype() == DType::String) {
      bytes = bytes_of(weights.blobs.emplace_back(string_blob(tensor)));
    } else {
      bytes = {static_cast<const std::byte*>(tensor.raw()), static_cast<size_t>(tensor.bytes())};
    }
    weights.size = align(weights.size, kWeightAlignment);
    weights.places.push_back({static_cast<uint64_t>(weights.size), bytes.size()});
    weights.pieces.push_back(bytes);
    weights.size += static_cast<int64_t>(bytes.size());
  }
  return weights;
}

// Calls sink with the parts of the weights section between two offsets, padding included, until it fails.
template <class Sink>
Result<void> parts_between(const Weights& weights, int64_t begin, int64_t end, Sink&& sink) {
  static constexpr std::byte kZeros[kWeightAlignment] = {};
  const auto after = std::ranges::upper_bound(weights.places, static_cast<uint64_t>(begin), {}, &WeightPlace::offset);
  auto i = after == weights.places.begin() ? size_t{0} : static_cast<size_t>(after - weights.places.begin() - 1);
  for (int64_t at = begin; at < end; ++i) {
    const auto offset = static_cast<int64_t>(weights.places[i].offset);
    const auto size = static_cast<int64_t>(weights.pieces[i].size());
    if (at < offset + size) {
      const int64_t until = std::min(end, offset + size);
      STROP_TRY(sink(weights.pieces[i].subspan(static_cast<size_t>(at - offset), static_cast<size_t>(until - at))));
      at = until;
    }
    const int64_t next = i + 1 < weights.places.size() ? static_cast<int64_t>(weights.places[i + 1].offset) : at;
    if (const int64_t padding = std::min(end, next) - at; padding > 0) {
      STROP_TRY(sink(std::span(kZeros).first(static_cast<size_t>(padding))));
      at += padding;
    }
  }
  return {};
}

// section_digest of a section that exists only in pieces.
Digest weights_digest(const Weights& weights, Threads& threads) {
  std::vector<Digest> chunks(static_cast<size_t>((weights.size + kDigestChunk - 1) / kDigestChunk));
  threads.run(static_cast<int64_t>(chunks.size()), [&](int64_t i, int) {
    Sha256 hash;
    const auto update = [&](std::span<const std::byte> part) { return hash.update(part), Result<void>(); };
    (void)parts_between(weights, i * kDigestChunk, std::min(weights.size, (i + 1) * kDigestChunk),
                        update);  // cannot fail
    chunks[static_cast<size_t>(i)] = hash.finish();
  });
  return sha256(std::as_bytes(std::span(chunks)));
}

struct Prepared {
  std::vector<std::byte> plan;
  std::vector<std::byte> notes;
  std::string record;
  Weights weights;
  FileHeader header{};
  std::array<SectionEntry, kSections.size()> table{};
};

Prepared prepare(const EngineImage& image, Threads& threads, bool with_signature) {
  Prepared out;
  out.weights = lay_out(image.weights);
  out.plan = encode_plan(*image.plan, out.weights.places);
  out.notes = encode_notes(*image.plan);
  out.record = nlohmann::json(image.record).dump();
  const std::array<std::span<const std::byte>, 3> small = {out.plan, out.notes, bytes_of(out.record)};
  int64_t at = static_cast<int64_t>(sizeof(FileHeader) + sizeof(out.table));
  for (size_t i = 0; i < kSections.size(); ++i) {
    SectionEntry& entry = out.table[i];
    const bool weights = kSections[i] == SectionKind::Weights;
    at = align(at, kSectionAlignment);
    entry.kind = static_cast<uint32_t>(kSections[i]);
    entry.offset = static_cast<uint64_t>(at);
    entry.size = weights ? static_cast<uint64_t>(out.weights.size) : small[i].size();
    const Digest digest = weights ? weights_digest(out.weights, threads) : section_digest(small[i], threads);
    std::copy(digest.bytes.begin(), digest.bytes.end(), entry.digest);
    at += static_cast<int64_t>(entry.size);
  }
  std::memcpy(out.header.magic, kMagic, sizeof(kMagic));
  out.header.version = kFormatVersion;
  out.header.section_count = kSections.size();
  out.header.flags = with_signature ? kFlagSigned : 0;
  out.header.file_size = static_cast<uint64_t>(at + (with_signature ? kSignatureBytes : 0));
  const Digest digest = header_digest(out.header, out.table);
  std::copy(digest.bytes.begin(), digest.bytes.end(), out.header.digest);
  return out;
}

Digests digests_of(const Prepared& prepared) {
  Digests digests;
  digests.plan = plan_digest(prepared.table);
  std::copy(std::begin(prepared.header.digest), std::end(prepared.header.digest), digests.file.bytes.begin());
  return digests;
}

}  // namespace

Digests engine_digests(const EngineImage& image, Threads& threads) {
  return digests_of(prepare(image, threads, false));
}

Result<Digests> write_engine(const EngineImage& image, const std::string& path, Threads& threads,
                             const WriteOptions& options) {
  const Prepared prepared = prepare(image, threads, !options.signing_key.empty());
  const Digests digests = digests_of(prepared);
  std::string signature;
  if (!options.signing_key.empty()) {
    STROP_ASSIGN(signature, sign(options.signing_key, digests.file));
  }
  STROP_ASSIGN(AtomicFileWriter file, AtomicFileWriter::create(path));
  STROP_TRY(file.append(std::as_bytes(std::span(&prepared.header, 1))));
  STROP_TRY(file.append(std::as_bytes(std::span(prepared.table))));
  const std::array<std::span<const std::byte>, 3> small = {prepared.plan, prepared.notes, bytes_of(prepared.record)};
  const std::string zeros(static_cast<size_t>(kSectionAlignment), '\0');
  for (size_t i = 0; i < kSections.size(); ++i) {
    STROP_TRY(
        file.append(std::string_view(zeros).substr(0, prepared.table[i].offset - static_cast<uint64_t>(file.size()))));
    if (kSections[i] == SectionKind::Weights) {
      const auto append = [&](std::span<const std::byte> part) { return file.append(part); };
      STROP_TRY(parts_between(prepared.weights, 0, prepared.weights.size, append));
    } else {
      STROP_TRY(file.append(small[i]));
    }
  }
  STROP_TRY(file.append(signature));
  STROP_CHECK(static_cast<uint64_t>(file.size()) == prepared.header.file_size);
  STROP_TRY(file.commit());
  return digests;
}

}  // namespace strop::engine
