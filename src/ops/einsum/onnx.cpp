#include <algorithm>
#include <array>
#include <set>

#include "onnx/importer.h"
#include "ops/einsum/einsum.h"
#include "ops/families.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;
using Labels = std::vector<int>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// A value whose axes have labels.
struct Labelled {
  ValueId value = ir::kNone;
  Labels labels;
};

// Equations that are a transposed sum (one operand) or a matrix product (two).
class Contraction {
 public:
  Contraction(NodeContext& ctx, EinsumIndices indices) : ctx_(ctx), indices_(std::move(indices)) {}

  bool applies() const {
    if (indices_.operands.empty() || indices_.operands.size() > 2) return false;
    for (const Labels& labels : indices_.operands) {
      if (std::set<int>(labels.begin(), labels.end()).size() != labels.size()) return false;
    }
    // Integers would need sums that wrap: left to the operator. So is broadcasting within an index.
    if (!is_float(type(0).dtype)) return false;
    if (indices_.operands.size() == 1) return true;
    for (const int label : indices_.operands[0]) {
      if (contains(indices_.operands[1], label) && !(size_of(0, label) == size_of(1, label))) return false;
    }
    return true;
  }

  Result<ValueId> emit() {
    Labelled result;
    if (indices_.operands.size() == 1) {
      STROP_ASSIGN(result, summed(0));
    } else {
      STROP_ASSIGN(const Labelled a, summed(0));
      STROP_ASSIGN(const Labelled b, summed(1));
      STROP_ASSIGN(result, product(a, b));
    }
    STROP_ASSIGN(const Labelled ordered, arranged(result, indices_.result));
    return ordered.value;
  }

 private:
  const TensorType& type(size_t operand) const { return ctx_.type(operand).tensor; }
  Dim size_of(size_t operand, int label) const {
    const Labels& labels = indices_.operands[operand];
    return type(operand).dims()[static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin())];
  }
  Dims sizes_of(const Labels& labels) const {
    Dims sizes;
    for (const int label : labels) sizes.push_back(size_of(contains(indices_.operands[0], label) ? 0 : 1, label));
    return sizes;
  }

  // The operand, summed over what neither the result nor the other operand has.
  Result<Labelled> summed(size_t operand) {
    const Labels& labels = indices_.operands[operand];
    Labelled result{ctx_.input(operand), {}};
    ReduceAttrs reduce;
    reduce.keep_dims = false;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      const bool elsewhere = indices_.operands.size() == 2 && contains(indices_.operands[1 - operand], labels[axis]);
      if (elsewhere || contains(indices_.result, labels[axis])) {
        result.labels.push_back(labels[axis]);
      } else {
        reduce.axes.push_back(Dim(static_cast<int64_t>(axis)));
      }
    }
    if (reduce.axes.empty()) return result;
    STROP_ASSIGN(result.value, ctx_.emit(kReduce, std::move(reduce), {result.value}));
    return result;
  }

  Result<Labelled> arranged(const Labelled& from, const Labels& labels) {
    if (from.labels == labels) return from;
    TransposeAttrs transpose;
    for (const int label : labels) {
      transpose.perm.push_back(std::find(from.labels.begin(), from.labels.end(), label) - from.labels.begin());
    }
    STROP_ASSIGN(const ValueId value, ctx_.emit(kTranspose, std::move(transpose), {from.value}));
    return Labelled{value, labels};
  }

  // batch…, first…, second… as [batch…, product of first, product of second].
  Result<ValueId> as_matrices(const Labelled& from, const Labels& batch, const Labels& first, const Labels& second) {
    Labels all = batch;
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    STROP_ASSIGN(const Labelled ordered, arranged(from, all));
    if (first.size() == 1 && second.size() == 1) return ordered.value;
    Dims shape = sizes_of(batch);
    shape.push_back(strop::product(sizes_of(first)));
    shape.push_back(strop::product(sizes_of(second)));
    return ctx_.emit(kReshape, ReshapeAttrs{std::move(shape), false}, {ordered.value});
  }

  Result<Labelled> product(const Labelled& a, const Labelled& b) {
    Labels batch, contracted, rows, columns;
    for (const int label : a.labels) {
      const bool shared = contains(b.labels, label);
      (!shared ? rows : contains(indices_.result, label) ? batch : contracted).push_back(label);
    }
    for (const int label : b.labels) {
      if (!contains(a.labels, label)) columns.push_back(label);
    }
    STROP_ASSIGN(const ValueId left, as_matrices(a, batch, rows, contracted));
    STROP_ASSIGN(const ValueId right, as_matrices(b, batch, contracted, columns));
    STROP_ASSIGN(ValueId value, ctx_.emit(kMatMul, MatMulAttrs{}, {left, right}));
    Labels labels = batch;
    labels.insert(labels.end(), rows.begin(), rows.end());
    labels.insert(labels.end(), columns.begin(), columns.end());
    if (rows.size() != 1 || columns.size() != 1) {
      STROP_ASSIGN(value, ctx_.emit(kReshape, ReshapeAttrs{sizes_of(labels), false}, {value}));
    }
    return Labelled{value, std::move(labels)};
  }

  NodeContext& ctx_;
  EinsumIndices indices_;
};

Result<void> import_einsum(NodeContext& ctx) {
  EinsumAttrs attrs;
  STROP_ASSIGN(attrs.equation, ctx.attr_string("equation"));
  std::vector<ValueId> operands;
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    STROP_ASSIGN(const TensorType type, ctx.tensor(i));
    if (type.has_rank()) ranks.push_back(type.rank());
    operands.push_back(ctx.input(i));
  }
  if (ranks.size() == operands.size()) {
    const auto indices = parse_einsum(attrs.equation, ranks);
    if (!indices.ok()) return ctx.invalid("{}", indices.error().message);
    Contraction contraction(ctx, *indices);
    if (contraction.applies()) {
      STROP_ASSIGN(const ValueId result, contraction.emit());
      return ctx.set_output(0, result);
    }
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kEinsum, std::move(attrs), std::move(operands)));
  return ctx.set_output(0, result);
}

Result<void> import_det(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId result, ctx.emit(kDet, NoAttrs{}, {ctx.input(0)}));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> einsum_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Einsum", import_einsum, 12},
      onnx::Importer{"Det", import_det, 11},
  };
  return kImporters;
}

}  // namespace strop::ops
