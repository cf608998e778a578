/// The importers that exist, by domain and operator: a value passed in, so that custom operators can join.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/importer.h"

namespace strop::onnx {

class ImporterTable {
 public:
  /// The importers must outlive the table. Two that serve one version of an operator are a bug.
  void add(std::span<const Importer> importers);

  /// The importer of one version of an operator, or null.
  const Importer* find(std::string_view domain, std::string_view op_type, int64_t opset) const;
  /// All importers of an operator, whatever the version.
  std::span<const Importer* const> find_all(std::string_view domain, std::string_view op_type) const;
  /// The operators of a domain, sorted.
  std::vector<std::string_view> op_types(std::string_view domain) const;
  /// The domains that have importers, sorted.
  std::vector<std::string_view> domains() const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const Importer*>> importers_;
};

/// Every importer that ships with Strop.
const ImporterTable& builtin_importers();

}  // namespace strop::onnx
