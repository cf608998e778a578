#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "ops/late.h"
#include "ops/strings/strings.h"

namespace strop::ops {
namespace {

/// Elements as texts that are equal where the elements are.
std::vector<std::string> as_keys(const Tensor& tensor) {
  if (tensor.dtype() == DType::String) return tensor.strings();
  std::vector<std::string> keys;
  const auto add = [&](uint64_t bits) { keys.emplace_back(reinterpret_cast<const char*>(&bits), sizeof(bits)); };
  if (is_float(tensor.dtype())) {
    for (const double value : load_f64(tensor)) {
      add(std::isnan(value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(value + 0.0));  // -0 becomes 0
    }
  } else {
    for (const int64_t value : load_i64(tensor)) add(static_cast<uint64_t>(value));
  }
  return keys;
}

// -- LabelEncoder --

Result<void> infer_encoder(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<LabelEncoderAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!attrs.keys.defined() || x.dtype != attrs.keys.dtype()) {
    return violates("(C1) keys of {} for {}", to_string(attrs.keys.dtype()), to_string(x));
  }
  if (attrs.keys.count() != attrs.values.count()) {
    return violates("(C2) {} keys and {} values", attrs.keys.count(), attrs.values.count());
  }
  if (attrs.fallback.dtype() != attrs.values.dtype() || attrs.fallback.count() != 1) {
    return violates("(C2) the default must be one value of {}", to_string(attrs.values.dtype()));
  }
  ctx.outputs[0] = TensorType{attrs.values.dtype(), x.shape, {}};
  return {};
}

Result<void> evaluate_encoder(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<LabelEncoderAttrs>();
  std::unordered_map<std::string, int64_t> places;
  const auto keys = as_keys(attrs.keys);
  for (size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i], static_cast<int64_t>(i));
  std::vector<int64_t> index;
  for (const std::string& key : as_keys(ctx.in(0))) {
    const auto found = places.find(key);
    index.push_back(found == places.end() ? -1 : found->second);
  }
  ctx.outputs[0] = gather_elements(attrs.values, ctx.in(0).dims(), index, &attrs.fallback);
  return {};
}

// -- TfIdf --

int64_t columns_of(const TfIdfAttrs& attrs) {
  return attrs.columns.empty() ? 0 : *std::max_element(attrs.columns.begin(), attrs.columns.end()) + 1;
}

// Where the n-grams of `length` elements start in the pool, and where they end.
std::pair<int64_t, int64_t> grams_of(const TfIdfAttrs& attrs, int64_t length) {
  const auto at = static_cast<size_t>(length - 1);
  if (at >= attrs.starts.size()) return {0, 0};
  return {attrs.starts[at], at + 1 < attrs.starts.size() ? attrs.starts[at + 1] : attrs.pool.count()};
}

Result<void> check_pool(const TfIdfAttrs& attrs) {
  if (!attrs.pool.defined()) return violates("(C2) there is no pool of n-grams");
  if (attrs.min_length < 1 || attrs.max_length < attrs.min_length || attrs.max_skip < 0) {
    return violates("(C2) n-grams of {} to {} elements, {} skipped", attrs.min_length, attrs.max_length,
                    attrs.max_skip);
  }
  int64_t grams = 0;
  for (size_t n = 1; n <= attrs.starts.size(); ++n) {
    const auto [from, to] = grams_of(attrs, static_cast<int64_t>(n));
    const auto length = static_cast<int64_t>(n);
    if (from < 0 || to < from || to > attrs.pool.count() || (to - from) % length != 0) {
      return violates("(C2) {}-grams from {} to {} of a pool of {}", n, from, to, attrs.pool.count());
    }
    grams += (to - from) / length;
  }
  const auto count = static_cast<int64_t>(attrs.columns.size());
  const bool weights_fit = attrs.weights.empty() || attrs.weights.size() == attrs.columns.size();
  if (grams != count || !weights_fit) {
    return violates("(C2) {} n-grams, {} columns, {} weights", grams, count, attrs.weights.size());
  }
  for (const int64_t column : attrs.columns) {
    if (column < 0 || column > kMaxElements) return violates("(C2) column {}", column);
  }
  return {};
}

Result<void> infer_tf_idf(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<TfIdfAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_TRY(check_pool(attrs));
  const bool texts = x.dtype == DType::String;
  if ((!texts && !is_integer(x.dtype)) || texts != (attrs.pool.dtype() == DType::String)) {
    return violates("(C1) {} with a pool of {}", to_string(x), to_string(attrs.pool.dtype()));
  }
  ctx.outputs[0] = Type::unranked(DType::F32);
  if (!x.has_rank()) return {};
  if (x.rank() != 1 && x.rank() != 2) return violates("(C1) {} is neither [C] nor [N, C]", to_string(x));
  const Dim columns(columns_of(attrs));
  ctx.outputs[0] = Type(DType::F32, x.rank() == 1 ? Dims{columns} : Dims{x.dim(0), columns});
  return {};
}

using Gram = std::vector<std::string>;

// Every n-gram of the pool, and which one it is.
std::map<Gram, int64_t> grams_in(const TfIdfAttrs& attrs) {
  const auto pool = as_keys(attrs.pool);
  std::map<Gram, int64_t> grams;
  int64_t number = 0;
  for (int64_t length = 1; length <= static_cast<int64_t>(attrs.starts.size()); ++length) {
    const auto [from, to] = grams_of(attrs, length);
    for (int64_t i = from; i < to; i += length) {
      grams.emplace(Gram(pool.begin() + i, pool.begin() + i + length), number++);
    }
  }
  return grams;
}

void count_grams(const TfIdfAttrs& attrs, const std::map<Gram, int64_t>& grams, std::span<const std::string> row,
                 std::vector<int64_t>& counts) {
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t length = attrs.min_length; length <= std::min(attrs.max_length, size); ++length) {
    const int64_t skips = length == 1 ? 0 : std::min(attrs.max_skip, size);
    for (int64_t step = 1; step <= skips + 1; ++step) {
      for (int64_t first = 0; first + (length - 1) * step < size; ++first) {
        Gram gram;
        for (int64_t i = 0; i < length; ++i) gram.push_back(row[static_cast<size_t>(first + i * step)]);
        const auto found = grams.find(gram);
        if (found != grams.end()) ++counts[static_cast<size_t>(found->second)];
      }
    }
  }
}

Result<void> evaluate_tf_idf(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<TfIdfAttrs>();
  const Tensor& x = ctx.in(0);
  const int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
  const auto size = static_cast<size_t>(x.dim(x.rank() - 1));
  const int64_t columns = columns_of(attrs);
  const auto elements = as_keys(x);
  const auto grams = grams_in(attrs);
  std::vector<double> values(static_cast<size_t>(rows * columns), 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int64_t> counts(attrs.columns.size(), 0);
    count_grams(attrs, grams, std::span(elements).subspan(static_cast<size_t>(r) * size, size), counts);
    for (size_t i = 0; i < counts.size(); ++i) {
      const double weight = attrs.weights.empty() ? 1.0 : attrs.weights[i];
      const auto count = static_cast<double>(counts[i]);
      double& value = values[static_cast<size_t>(r * columns + attrs.columns[i])];
      switch (attrs.weighting) {
        case TermWeighting::Tf: value += count; break;
        case TermWeighting::Idf: value += count > 0 ? weight : 0; break;
        case TermWeighting::TfIdf: value += count * weight; break;
      }
    }
  }
  ctx.outputs[0] = store_f64(DType::F32, x.rank() == 1 ? std::vector{columns} : std::vector{rows, columns}, values);
  return {};
}

}  // namespace

const Operator kLabelEncoder = {
    .name = "LabelEncoder",
    .make_attrs = [] { return Attrs(LabelEncoderAttrs{}); },
    .infer = infer_encoder,
    .evaluate = evaluate_encoder,
};
const Operator kTfIdf = {
    .name = "TfIdfVectorizer",
    .make_attrs = [] { return Attrs(TfIdfAttrs{}); },
    .infer = infer_tf_idf,
    .evaluate = evaluate_tf_idf,
};

}  // namespace strop::ops
