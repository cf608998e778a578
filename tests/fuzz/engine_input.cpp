#include "fuzz/engine_input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "engine/engine_file.h"
#include "engine/layout.h"
#include "engine/signature.h"

namespace strop::fuzz {
namespace {

using engine::FileHeader;
using engine::SectionEntry;
using Table = std::array<SectionEntry, engine::kSections.size()>;

constexpr size_t kPrefixBytes = 1 + 3 * sizeof(uint32_t);

void set_digest(uint8_t (&field)[32], const Digest& digest) {
  std::copy(digest.bytes.begin(), digest.bytes.end(), field);
}

// Puts the digests right of every section that lies within the file, then the header's.
void repair_digests(std::string& file) {
  FileHeader header{};
  Table table{};
  if (file.size() < sizeof(header) + sizeof(table)) return;
  std::memcpy(&header, file.data(), sizeof(header));
  std::memcpy(table.data(), file.data() + sizeof(header), sizeof(table));
  SingleThread threads;
  for (SectionEntry& entry : table) {
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) continue;
    set_digest(entry.digest,
               engine::section_digest(bytes_of(std::string_view(file).substr(entry.offset, entry.size)), threads));
  }
  set_digest(header.digest, engine::header_digest(header, table));
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), sizeof(table));
}

std::string laid_out(const EngineSections& sections) {
  std::string file(sizeof(FileHeader) + sizeof(Table), '\0');
  Table table{};
  const std::array parts = {&sections.plan, &sections.notes, &sections.record, &sections.weights};
  for (size_t i = 0; i < table.size(); ++i) {
    const auto page = static_cast<size_t>(engine::kSectionAlignment);
    file.resize((file.size() + page - 1) / page * page);
    table[i].kind = static_cast<uint32_t>(engine::kSections[i]);
    table[i].offset = file.size();
    table[i].size = parts[i]->size();
    file += *parts[i];
  }
  const bool with_signature = (sections.flags & kSigned) != 0;
  FileHeader header{};
  std::memcpy(header.magic, engine::kMagic, sizeof(header.magic));
  header.version = engine::kFormatVersion;
  header.section_count = static_cast<uint32_t>(table.size());
  header.flags = with_signature ? engine::kFlagSigned : 0;
  header.file_size = file.size() + (with_signature ? static_cast<size_t>(engine::kSignatureBytes) : 0);
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), sizeof(table));
  repair_digests(file);
  if (!with_signature) return file;
  Digest digest;
  std::memcpy(digest.bytes.data(), file.data() + offsetof(FileHeader, digest), digest.bytes.size());
  return file + engine::sign(key_bytes(kSigningKeyHex), digest).value();
}

}  // namespace

std::string key_bytes(std::string_view hex) {
  const Digest digest = Digest::parse(hex).value();
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::string to_input(const EngineSections& sections) {
  std::string input(1, static_cast<char>(sections.flags));
  for (const std::string* part : {&sections.plan, &sections.notes, &sections.record}) {
    const auto size = static_cast<uint32_t>(part->size());
    input.append(reinterpret_cast<const char*>(&size), sizeof(size));
  }
  return input + sections.plan + sections.notes + sections.record + sections.weights;
}

std::optional<EngineSections> sections_of(std::string_view input) {
  if (input.size() < kPrefixBytes || (input[0] & kSections) == 0) return std::nullopt;
  EngineSections sections;
  sections.flags = static_cast<uint8_t>(input[0]);
  std::string_view rest = input.substr(kPrefixBytes);
  const std::array parts = {&sections.plan, &sections.notes, &sections.record};
  for (size_t i = 0; i < parts.size(); ++i) {
    uint32_t size = 0;
    std::memcpy(&size, input.data() + 1 + i * sizeof(size), sizeof(size));
    *parts[i] = rest.substr(0, size);
    rest.remove_prefix(std::min<size_t>(size, rest.size()));
  }
  sections.weights = rest;
  return sections;
}

EngineSections sections_of_file(std::string_view file) {
  Table table{};
  std::memcpy(table.data(), file.data() + sizeof(FileHeader), sizeof(table));
  const auto part = [&](size_t i) { return std::string(file.substr(table[i].offset, table[i].size)); };
  return {kSections, part(0), part(1), part(2), part(3)};
}

std::string engine_file(std::string_view input) {
  if (const auto sections = sections_of(input)) return laid_out(*sections);
  if (input.empty()) return {};
  std::string file(input.substr(1));
  if ((input[0] & kKeepDigests) == 0) repair_digests(file);
  return file;
}

}  // namespace strop::fuzz
