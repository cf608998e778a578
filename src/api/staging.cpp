#include "api/staging.h"

#include <algorithm>

namespace strop::api {

void Staging::remove(PortKind kind, size_t port) {
  std::erase_if(staged_, [&](const Staged& staged) { return staged.kind == kind && staged.port == port; });
}

Result<Tensor> Staging::add(PortKind kind, size_t port, const TensorView& view) {
  Staged staged{kind, port, view, {}, nullptr, {}};
  if (view.dtype == DType::String) {
    if (kind == PortKind::Input) staged.dense = Tensor(DType::String, view.shape);
  } else {
    const int64_t bytes = byte_size(view.dtype, view.count());
    staged.memory = runtime::allocate(memory_, bytes);
    if (!staged.memory) return error(ErrorCode::OutOfMemory, "there is no memory for a dense copy of {} bytes", bytes);
    staged.dense = Tensor::borrow(view.dtype, view.shape, staged.memory.get());
    STROP_ASSIGN(staged.copy, kind == PortKind::Input ? copy_to_dense(view) : copy_from_dense(view));
  }
  Tensor dense = staged.dense;
  staged_.push_back(std::move(staged));
  return dense;
}

void Staging::read_inputs(Threads& threads) const {
  for (const Staged& staged : staged_) {
    if (staged.kind != PortKind::Input) continue;
    if (staged.view.dtype == DType::String) {
      const auto* first = static_cast<const std::string*>(staged.view.data);
      Tensor strings = staged.dense;
      std::copy_n(first, staged.view.count(), strings.mutable_strings().begin());
    } else {
      staged.copy.run(staged.view.data, staged.memory.get(), threads);
    }
  }
}

void Staging::write_outputs(const std::vector<Value>& outputs, Threads& threads) const {
  for (const Staged& staged : staged_) {
    if (staged.kind != PortKind::Output) continue;
    if (staged.view.dtype != DType::String) {
      staged.copy.run(staged.memory.get(), staged.view.data, threads);
      continue;
    }
    const Tensor& made = outputs[staged.port].tensor();
    std::copy(made.strings().begin(), made.strings().end(), static_cast<std::string*>(staged.view.data));
  }
}

const Staged* Staging::find(PortKind kind, size_t port) const {
  for (const Staged& staged : staged_) {
    if (staged.kind == kind && staged.port == port) return &staged;
  }
  return nullptr;
}

}  // namespace strop::api
