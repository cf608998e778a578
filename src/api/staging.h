/// Bound tensors that cannot be used where they are: strided ones and strings pass through a dense tensor.
#pragma once

#include <memory>
#include <vector>

#include "api/strides.h"
#include "runtime/memory.h"

namespace strop::api {

enum class PortKind : uint8_t { Input, Output };

struct Staged {
  PortKind kind = PortKind::Input;
  size_t port = 0;
  TensorView view;                    ///< the caller's
  Tensor dense;                       ///< what the executor sees; undefined for outputs of strings, which it makes
  std::shared_ptr<std::byte> memory;  ///< of `dense`
  kernels::StridedCopy copy;          ///< between the two, in the direction of the kind; nothing for strings
};

/// The staged ports of a context.
class Staging {
 public:
  explicit Staging(std::shared_ptr<runtime::Memory> memory) : memory_(std::move(memory)) {}

  bool empty() const { return staged_.empty(); }
  void clear() { staged_.clear(); }
  void remove(PortKind kind, size_t port);
  /// A dense tensor for a strided `view` or one of strings; check_strides was passed.
  Result<Tensor> add(PortKind kind, size_t port, const TensorView& view);

  /// Before a run: inputs as they are now.
  void read_inputs(Threads& threads) const;
  /// After a run: the outputs that it made, parallel to the engine's, of the shapes that are bound.
  void write_outputs(const std::vector<Value>& outputs, Threads& threads) const;
  /// Null: the port is not staged.
  const Staged* find(PortKind kind, size_t port) const;
  const std::vector<Staged>& all() const { return staged_; }

 private:
  std::shared_ptr<runtime::Memory> memory_;
  std::vector<Staged> staged_;
};

}  // namespace strop::api
