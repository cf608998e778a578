/// The one list of operator families: one folder of ops/ per row. STROP_OPERATOR_FAMILIES(X) expands X(folder) for
/// each; a family defines
///   ops/<folder>/op.cpp    std::span<const Operator* const> <folder>_operators();
///   ops/<folder>/onnx.cpp  std::span<const onnx::Importer> <folder>_importers();
///   ops/<folder>/cpu.cpp   std::span<const tactics::Tactic* const> <folder>_cpu_tactics();
/// in namespace strop::ops. Forgetting one is a link error.
#pragma once

#include <span>

namespace strop::onnx {
struct Importer;
}
namespace strop::tactics {
struct Tactic;
}

namespace strop::ops {
struct Operator;

#define STROP_OPERATOR_FAMILIES(X) \
  X(pointwise)                     \
  X(view)                          \
  X(transpose)                     \
  X(slice)                         \
  X(concat)                        \
  X(expand)                        \
  X(gather)                        \
  X(fill)                          \
  X(shape)                         \
  X(pad)                           \
  X(scatter)                       \
  X(select)                        \
  X(order)                         \
  X(space_depth)                   \
  X(reduce)                        \
  X(softmax)                       \
  X(norm)                          \
  X(control)                       \
  X(matmul)                        \
  X(conv)                          \
  X(attention)                     \
  X(quantize)                      \
  X(rnn)                           \
  X(pool)                          \
  X(resize)                        \
  X(sequence)                      \
  X(signal)                        \
  X(random)                        \
  X(strings)                       \
  X(detection)                     \
  X(loss)                          \
  X(einsum)

#define STROP_DECLARE_FAMILY(folder)                     \
  std::span<const Operator* const> folder##_operators(); \
  std::span<const onnx::Importer> folder##_importers();  \
  std::span<const tactics::Tactic* const> folder##_cpu_tactics();
STROP_OPERATOR_FAMILIES(STROP_DECLARE_FAMILY)
#undef STROP_DECLARE_FAMILY

}  // namespace strop::ops
