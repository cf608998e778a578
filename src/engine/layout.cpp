#include "engine/layout.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strop::engine {

Digest section_digest(std::span<const std::byte> bytes, Threads& threads) {
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<Digest> chunks(static_cast<size_t>((size + kDigestChunk - 1) / kDigestChunk));
  threads.run(static_cast<int64_t>(chunks.size()), [&](int64_t i, int) {
    const auto begin = static_cast<size_t>(i * kDigestChunk);
    chunks[static_cast<size_t>(i)] =
        sha256(bytes.subspan(begin, std::min(bytes.size() - begin, static_cast<size_t>(kDigestChunk))));
  });
  return sha256(std::as_bytes(std::span(chunks)));
}

Digest header_digest(const FileHeader& header, std::span<const SectionEntry> table) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, digest)));
  hash.update(std::as_bytes(table));
  return hash.finish();
}

Digest plan_digest(std::span<const SectionEntry> table) {
  Sha256 hash;
  for (const SectionEntry& entry : table) {
    const auto kind = static_cast<SectionKind>(entry.kind);
    if (kind == SectionKind::Plan || kind == SectionKind::Weights) hash.update(std::as_bytes(std::span(entry.digest)));
  }
  return hash.finish();
}

}  // namespace strop::engine
