/// Tensors kept in files beside the model. A model may name any path, so paths are held to the model's own folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "onnx/model.h"

namespace strop::onnx {

/// Bytes inside a mapped file, and what keeps it mapped.
struct ExternalBytes {
  const void* data = nullptr;
  std::shared_ptr<const void> owner;
};

/// The files that a model's external tensors lie in, each mapped once.
class ExternalFiles {
 public:
  /// `folder`: the model's; nullopt if the model came as bytes and no folder was named.
  explicit ExternalFiles(std::optional<std::filesystem::path> folder = std::nullopt) : folder_(std::move(folder)) {}

  /// The bytes that a TensorProto's external_data entries describe. Error: an absolute path, one with "..", one whose
  /// symbolic links leave the folder, a range outside the file, a length other than `bytes`.
  Result<ExternalBytes> find(const KeyValues& entries, int64_t bytes);

 private:
  struct File {
    const char* data = nullptr;
    uint64_t size = 0;
    std::shared_ptr<const void> owner;
  };
  Result<File> open(std::string_view location);

  std::optional<std::filesystem::path> folder_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace strop::onnx
