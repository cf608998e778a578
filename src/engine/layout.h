/// The fixed part of an engine file: header and section table (docs/engine_format.md). Little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "base/threads.h"

namespace strop::engine {

enum class SectionKind : uint32_t { Plan = 1, Notes = 2, Record = 3, Weights = 4 };
inline constexpr std::array kSections = {SectionKind::Plan, SectionKind::Notes, SectionKind::Record,
                                         SectionKind::Weights};
inline constexpr uint32_t kFlagSigned = 1;  ///< a 64-byte Ed25519 signature of the header digest ends the file
inline constexpr int64_t kSignatureBytes = 64;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t section_count;
  uint64_t file_size;  ///< signature included
  uint32_t flags;
  uint32_t reserved;   ///< 0
  uint8_t digest[32];  ///< SHA-256 of the header before this field, then of the section table
};
static_assert(sizeof(FileHeader) == 64);

struct SectionEntry {
  uint32_t kind;
  uint32_t reserved;  ///< 0
  uint64_t offset;    ///< a multiple of kSectionAlignment
  uint64_t size;
  uint64_t reserved2;  ///< 0
  uint8_t digest[32];  ///< section_digest of the bytes
};
static_assert(sizeof(SectionEntry) == 64);

inline constexpr int64_t kDigestChunk = int64_t{4} << 20;

/// SHA-256 over the SHA-256 digests of consecutive 4 MiB chunks, so that chunks can be hashed in parallel.
Digest section_digest(std::span<const std::byte> bytes, Threads& threads);

/// SHA-256 of header (up to its digest) and table.
Digest header_digest(const FileHeader& header, std::span<const SectionEntry> table);

/// What runs: the plan's and the weights' digests.
Digest plan_digest(std::span<const SectionEntry> table);

}  // namespace strop::engine
