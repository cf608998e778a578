#include "onnx/importer_table.h"

#include "ops/families.h"

namespace strop::onnx {

void ImporterTable::add(std::span<const Importer> importers) {
  for (const Importer& importer : importers) {
    auto& list = importers_[{importer.domain, importer.op_type}];
    for (const Importer* other : list) {
      STROP_CHECK(importer.until < other->since || other->until < importer.since, "two importers serve {} of opset {}",
                  importer.op_type, std::max(importer.since, other->since));
    }
    list.push_back(&importer);
  }
}

const Importer* ImporterTable::find(std::string_view domain, std::string_view op_type, int64_t opset) const {
  for (const Importer* importer : find_all(domain, op_type)) {
    if (importer->since <= opset && opset <= importer->until) return importer;
  }
  return nullptr;
}

std::span<const Importer* const> ImporterTable::find_all(std::string_view domain, std::string_view op_type) const {
  const auto found = importers_.find({domain, op_type});
  if (found == importers_.end()) return {};
  return found->second;
}

std::vector<std::string_view> ImporterTable::op_types(std::string_view domain) const {
  std::vector<std::string_view> result;
  for (const auto& [key, list] : importers_) {
    if (key.first == domain) result.push_back(key.second);
  }
  return result;
}

std::vector<std::string_view> ImporterTable::domains() const {
  std::vector<std::string_view> result;
  for (const auto& [key, list] : importers_) {
    if (result.empty() || result.back() != key.first) result.push_back(key.first);
  }
  return result;
}

const ImporterTable& builtin_importers() {
  static const ImporterTable table = [] {
    ImporterTable all;
#define STROP_ADD_IMPORTERS(folder) all.add(ops::folder##_importers());
    STROP_OPERATOR_FAMILIES(STROP_ADD_IMPORTERS)
#undef STROP_ADD_IMPORTERS
    return all;
  }();
  return table;
}

}  // namespace strop::onnx
