// The meaning of Pointwise: instruction by instruction over blocks of elements, in double or int64.
#include "ops/pointwise/op_evaluate.h"

#include <complex>
#include <cstring>

#include "ops/pointwise/op_broadcast.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scalar_functions.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

/// A multiple of what one byte of packed elements holds, so that blocks share no byte of the result.
constexpr int64_t kBlock = 1024;

/// Calls body(offset, stride, position, length) for runs along the last axis that cover [begin, begin + count) of the
/// result.
template <class Body>
void for_runs(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, int64_t begin, int64_t count,
              Body&& body) {
  const int64_t length = dims.back();
  for (int64_t done = 0; done < count;) {
    int64_t rest = (begin + done) / length;
    const int64_t column = (begin + done) % length;
    int64_t offset = column * strides.back();
    for (size_t axis = dims.size() - 1; axis-- > 0;) {
      offset += rest % dims[axis] * strides[axis];
      rest /= dims[axis];
    }
    const int64_t run = std::min(length - column, count - done);
    body(offset, strides.back(), done, run);
    done += run;
  }
}

int64_t opaque_bytes(DType dtype) {
  return dtype == DType::String ? static_cast<int64_t>(sizeof(std::string)) : bit_width(dtype) / 8;
}

/// Values of opaque types travel as their address.
const void* address_of(ScalarValue value) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(value.integer));
}

bool opaque_equal(DType dtype, const void* a, const void* b) {
  if (dtype == DType::String) return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
  if (dtype == DType::C64)
    return *static_cast<const std::complex<float>*>(a) == *static_cast<const std::complex<float>*>(b);
  return *static_cast<const std::complex<double>*>(a) == *static_cast<const std::complex<double>*>(b);
}

class Evaluation {
 public:
  Evaluation(const ScalarProgram& program, const EvalContext& ctx, std::vector<int64_t> dims)
      : program_(program), dims_(std::move(dims)) {
    BroadcastLoop loop{dims_, {}};
    for (size_t i = 0; i < ctx.inputs.size(); ++i) {
      operands_.push_back(&ctx.in(i));
      loop.strides.push_back(broadcast_strides(ctx.in(i).dims(), dims_));
    }
    loop.strides.push_back(broadcast_strides(dims_, dims_));  // the results'
    loop_ = collapsed(loop);
    for (const int32_t output : program.outputs) {
      results_.push_back(Tensor::uninitialized(program.instrs[static_cast<size_t>(output)].dtype, dims_));
    }
  }

  std::vector<Tensor> run(Threads& threads) {
    const int64_t count = element_count(dims_);
    parallel_for(threads, (count + kBlock - 1) / kBlock, 4, [&](int64_t begin, int64_t end, int) {
      std::vector<ScalarValue> values(program_.instrs.size() * kBlock);
      for (int64_t block = begin; block < end; ++block) {
        run_block(block * kBlock, std::min(kBlock, count - block * kBlock), values.data());
      }
    });
    return std::move(results_);
  }

 private:
  void run_block(int64_t first, int64_t count, ScalarValue* values) {
    const auto at = [&](int32_t index) { return index < 0 ? nullptr : values + index * kBlock; };
    for (size_t i = 0; i < program_.instrs.size(); ++i) {
      const ScalarInstr& instr = program_.instrs[i];
      ScalarValue* out = at(static_cast<int32_t>(i));
      if (instr.fn == Fn::Input) {
        load(instr, first, count, out);
        continue;
      }
      const int32_t deciding = instr.args[deciding_operand(instr.fn)];
      const DType operand = deciding < 0 ? DType::Undefined : program_.instrs[static_cast<size_t>(deciding)].dtype;
      const ScalarBlock block{at(instr.args[0]), at(instr.args[1]), at(instr.args[2]), out, count};
      if (instr.fn == Fn::Equal && domain_of(operand) == ScalarDomain::Opaque) {
        for (int64_t k = 0; k < count; ++k) {
          out[k].integer = opaque_equal(operand, address_of(block.a[k]), address_of(block.b[k])) ? 1 : 0;
        }
      } else {
        evaluate_block(instr, operand, block);
      }
    }
    for (size_t k = 0; k < results_.size(); ++k) store(results_[k], first, count, at(program_.outputs[k]));
  }

  void load(const ScalarInstr& instr, int64_t first, int64_t count, ScalarValue* out) const {
    const auto operand = static_cast<size_t>(instr.input);
    const void* data = operands_[operand]->raw();
    const ScalarDomain domain = domain_of(instr.dtype);
    for_runs(loop_.dims, loop_.strides[operand], first, count,
             [&](int64_t offset, int64_t stride, int64_t position, int64_t length) {
               const ElementRange range{offset, stride, length};
               if (domain == ScalarDomain::Number) {
                 load_scalars(instr.dtype, data, range, &out[position].number);
               } else if (domain != ScalarDomain::Opaque) {
                 load_integers(instr.dtype, data, range, &out[position].integer);
               } else {
                 const auto* base = static_cast<const char*>(data);
                 for (int64_t k = 0; k < length; ++k) {
                   const void* element = base + (offset + k * stride) * opaque_bytes(instr.dtype);
                   out[position + k].integer = static_cast<int64_t>(reinterpret_cast<uintptr_t>(element));
                 }
               }
             });
  }

  static void store(const Tensor& result, int64_t first, int64_t count, const ScalarValue* values) {
    const ElementRange range{first, 1, count};
    switch (domain_of(result.dtype())) {
      case ScalarDomain::Number: return store_scalars(result.dtype(), result.mutable_raw(), range, &values->number);
      case ScalarDomain::Integer:
      case ScalarDomain::Unsigned: return store_integers(result.dtype(), result.mutable_raw(), range, &values->integer);
      case ScalarDomain::Opaque: break;
    }
    if (result.dtype() == DType::String) {
      auto* strings = result.mutable_data<std::string>();
      for (int64_t k = 0; k < count; ++k) strings[first + k] = *static_cast<const std::string*>(address_of(values[k]));
      return;
    }
    const int64_t bytes = opaque_bytes(result.dtype());
    for (int64_t k = 0; k < count; ++k) {
      std::memcpy(result.mutable_data<char>() + (first + k) * bytes, address_of(values[k]), static_cast<size_t>(bytes));
    }
  }

  const ScalarProgram& program_;
  std::vector<int64_t> dims_;
  std::vector<const Tensor*> operands_;
  BroadcastLoop loop_;
  std::vector<Tensor> results_;
};

/// The operands' common dims. Inference let dims that it did not know pass: checked here.
Result<std::vector<int64_t>> common_dims(const EvalContext& ctx) {
  Dims dims;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    STROP_ASSIGN(dims, broadcast(dims, to_dims(ctx.in(i).dims())));
  }
  return *as_constants(dims);
}

}  // namespace

Result<void> evaluate_pointwise(EvalContext& ctx) {
  const ScalarProgram& program = ctx.attrs.as<PointwiseAttrs>().program;
  if (program.empty()) {
    ctx.outputs[0] = ctx.in(0).clone();
    return {};
  }
  STROP_ASSIGN(auto dims, common_dims(ctx));
  auto results = Evaluation(program, ctx, std::move(dims)).run(ctx.threads);
  for (size_t k = 0; k < results.size(); ++k) ctx.outputs[k] = std::move(results[k]);
  return {};
}

}  // namespace strop::ops
