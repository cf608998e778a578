/// Damaged and hostile inputs: what each is, and the exact message it is refused with.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace strop::tests {

/// A model that must be refused.
struct HostileModel {
  std::string name;  ///< letters, digits and underscores
  std::string bytes;
  std::string code;  ///< to_string(ErrorCode)
  std::string message;
};

/// How GoogleTest shows one.
inline void PrintTo(const HostileModel& model, std::ostream* out) { *out << model.name; }

/// Models whose file is damaged: bytes that are not a model.
std::vector<HostileModel> damaged_files();
/// Well-formed files that break ONNX's rules.
std::vector<HostileModel> illegal_models();
/// Legal or nearly legal models that ask for what must not or cannot be given.
std::vector<HostileModel> greedy_models();

}  // namespace strop::tests
