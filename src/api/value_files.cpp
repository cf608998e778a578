#include "api/value_files.h"

#include <filesystem>
#include <map>

#include "api/impl.h"
#include "api/npy.h"
#include "api/zip_archive.h"
#include "base/files.h"
#include "onnx/tensor_proto.h"
#include "onnx/wire.h"

namespace strop {
namespace api {
namespace {

/// A message, and the folder that external data may lie in.
struct Message {
  std::string_view bytes;
  std::filesystem::path folder;
};

Result<Tensor> read_tensor_message(const Message& message) {
  STROP_ASSIGN(const onnx::TensorProto proto, onnx::parse_tensor_proto(message.bytes));
  onnx::TensorSource source{nullptr, onnx::ExternalFiles(message.folder)};
  STROP_ASSIGN(const Tensor tensor, onnx::to_tensor(proto, source));
  return tensor.clone();  // its own bytes: the file's go
}

Result<Value> read_message(const Message& message, const Type& type);

// SequenceProto: elem_type = 2, tensor_values = 3, sequence_values = 5, optional_values = 7.
Result<Value> read_sequence(const Message& whole, const Type& type) {
  onnx::WireStatus status{whole.bytes.data(), "", 0};
  onnx::WireReader reader(whole.bytes, "SequenceProto", status);
  std::vector<std::string_view> messages;
  while (reader.next()) {
    if (reader.field() == 3 || reader.field() == 5 || reader.field() == 7)
      messages.push_back(reader.bytes());
    else
      reader.skip();
  }
  if (!status.ok()) return error(ErrorCode::InvalidArgument, "{}", status.error);
  SequenceValue sequence{*type.element, {}};
  for (const std::string_view message : messages) {
    STROP_ASSIGN(Value item, read_message({message, whole.folder}, *type.element));
    sequence.items.push_back(std::move(item));
  }
  return Value(std::move(sequence));
}

// OptionalProto: elem_type = 2 (0: empty), tensor_value = 3, sequence_value = 5, optional_value = 7.
Result<Value> read_optional(const Message& whole, const Type& type) {
  onnx::WireStatus status{whole.bytes.data(), "", 0};
  onnx::WireReader reader(whole.bytes, "OptionalProto", status);
  OptionalValue optional{*type.element, nullptr};
  std::optional<std::string_view> message;
  while (reader.next()) {
    if (reader.field() == 3 || reader.field() == 5 || reader.field() == 7)
      message = reader.bytes();
    else
      reader.skip();
  }
  if (!status.ok()) return error(ErrorCode::InvalidArgument, "{}", status.error);
  if (message) {
    STROP_ASSIGN(Value held, read_message({*message, whole.folder}, *type.element));
    optional.held = std::make_shared<const Value>(std::move(held));
  }
  return Value(std::move(optional));
}

Result<Value> read_message(const Message& message, const Type& type) {
  if (type.kind == TypeKind::Sequence) return read_sequence(message, type);
  if (type.kind == TypeKind::Optional) return read_optional(message, type);
  STROP_ASSIGN(Tensor tensor, read_tensor_message(message));
  return Value(std::move(tensor));
}

std::filesystem::path folder_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

bool is_zip(std::string_view bytes) { return bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6"); }

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  STROP_ASSIGN(const auto entries, read_zip(path));
  std::map<std::string, Tensor> tensors;
  for (const auto& [entry, bytes] : entries) {
    if (!entry.ends_with(".npy"))
      return error(ErrorCode::InvalidArgument, "'{}': entry '{}' is not an array", path, entry);
    auto tensor = parse_npy(bytes);
    if (!tensor.ok()) return error(tensor.error().code, "'{}': array '{}' {}", path, entry, tensor.error().message);
    tensors[entry.substr(0, entry.size() - 4)] = std::move(*tensor);
  }
  return tensors;
}

Result<std::map<std::string, Tensor>> read_tensors(const std::string& path) {
  STROP_ASSIGN(const auto file, MappedFile::open(path));
  const std::string_view bytes = file->text();
  if (bytes.empty()) return error(ErrorCode::InvalidArgument, "'{}' is an empty file, not a tensor", path);
  if (is_zip(bytes)) return read_npz(path);
  const bool npy = bytes.starts_with(kNpyMagic);
  if (!npy && !path.ends_with(".pb")) {
    return error(ErrorCode::InvalidArgument, "'{}' is not a tensor file: .npy, .npz and TensorProto .pb can be read",
                 path);
  }
  auto tensor = npy ? parse_npy(bytes) : read_tensor_message({bytes, folder_of(path)});
  if (!tensor.ok()) {
    return error(ErrorCode::InvalidArgument, "'{}' {}", path, tensor.error().message);
  }
  return std::map<std::string, Tensor>{{"", std::move(*tensor)}};
}

}  // namespace

Result<Value> read_value(const std::string& path, const Type& type) {
  STROP_ASSIGN(const auto file, MappedFile::open(path));
  auto value = read_message({file->text(), folder_of(path)}, type);
  if (!value.ok()) return in_context(value.error(), fmt::format("'{}'", path));
  return value;
}

}  // namespace api

Result<std::map<std::string, HostTensor>> load_tensors(const std::string& path) {
  return api::guarded([&]() -> Result<std::map<std::string, HostTensor>> {
    STROP_ASSIGN(auto tensors, api::read_tensors(path));
    std::map<std::string, HostTensor> result;
    for (auto& [name, tensor] : tensors) result.emplace(name, api::to_host(std::move(tensor)));
    return result;
  });
}

Result<HostTensor> load_tensor(const std::string& path) {
  STROP_ASSIGN(auto tensors, load_tensors(path));
  if (tensors.size() != 1)
    return error(ErrorCode::InvalidArgument, "'{}' holds {} arrays, one is wanted", path, tensors.size());
  return std::move(tensors.begin()->second);
}

}  // namespace strop
