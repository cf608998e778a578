/// Which attributes the standard's operators have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strop::onnx {

struct KnownAttribute {
  std::string_view name;
  int64_t since = 1;          ///< the first version of the default domain that has it
  int64_t until = INT64_MAX;  ///< the last
};

/// "" if operator `op_type` of the default domain has the attribute in this version, or is not known here; else why
/// not, as the rest of a sentence. An attribute that an importer would not look at is a mistake that changes results:
/// axes of Squeeze, for example, are an operand since opset 13.
std::string why_not_attribute(std::string_view op_type, std::string_view name, int64_t opset);

}  // namespace strop::onnx
