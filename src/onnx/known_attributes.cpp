#include "onnx/known_attributes.h"

#include <charconv>
#include <map>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace strop::onnx {
namespace {

/// Operators that have the same attributes: names with the versions that have them, "axes<13" (until 12), "layout>=14"
/// (from 14). Source: the operators' definitions in ONNX 1.22 and all versions before; a test compares.
struct Row {
  std::string_view op_types;
  std::string_view attributes;
};
constexpr Row kRows[] = {
    // clang-format off
    {"Abs Ceil Exp Floor Log Max Mean Min Neg PRelu Reciprocal Relu Sigmoid Sqrt Sum Tanh",
     "consumed_inputs<6"},
    {"Acos Acosh Asin Asinh Atan Atanh BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cos Cosh "
     "Det DynamicQuantizeLinear Erf Expand GlobalAveragePool GlobalMaxPool GreaterOrEqual "
     "HardSwish Identity IsNaN LessOrEqual MatMul MatMulInteger Mish NonZero Not "
     "OptionalGetElement OptionalHasElement QLinearMatMul Round SequenceAt "
     "SequenceConstruct SequenceErase SequenceInsert SequenceLength Sign Sin Sinh Size "
     "Softplus Softsign StringConcat Tan Tile Where",
     ""},
    {"Add Div Mul Sub",
     "axis<7 broadcast<7 consumed_inputs<6"},
    {"AffineGrid",
     "align_corners"},
    {"And Equal Greater Less Or Pow Xor",
     "axis<7 broadcast<7"},
    {"ArgMax ArgMin",
     "axis keepdims select_last_index>=12"},
    {"Attention",
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap "
     "softmax_precision"},
    {"AveragePool",
     "auto_pad ceil_mode>=10 count_include_pad>=7 dilations>=19 kernel_shape pads strides"},
    {"BatchNormalization",
     "consumed_inputs<6 epsilon is_test<7 momentum spatial<9 training_mode>=14"},
    {"Bernoulli",
     "dtype seed"},
    {"BitCast",
     "to"},
    {"BitShift",
     "direction"},
    {"BlackmanWindow HammingWindow HannWindow",
     "output_datatype periodic"},
    {"Cast",
     "round_mode>=24 saturate>=19 to"},
    {"CastLike",
     "round_mode>=24 saturate>=19"},
    {"Celu Swish ThresholdedRelu",
     "alpha"},
    {"CenterCropPad MeanVarianceNormalization",
     "axes"},
    {"Clip",
     "consumed_inputs<6 max<11 min<11"},
    {"Col2Im",
     "dilations pads strides"},
    {"Compress Concat Flatten Gather GatherElements Hardmax LogSoftmax OneHot Scatter "
     "Softmax",
     "axis"},
    {"ConcatFromSequence",
     "axis new_axis"},
    {"Constant",
     "sparse_value>=11 value value_float>=12 value_floats>=12 value_int>=12 value_ints>=12 "
     "value_string>=12 value_strings>=12"},
    {"ConstantOfShape",
     "value"},
    {"Conv ConvInteger QLinearConv",
     "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose",
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"CumProd CumSum",
     "exclusive reverse"},
    {"DFT",
     "axis<20 inverse onesided"},
    {"DeformConv",
     "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace",
     "blocksize mode>=11"},
    {"DequantizeLinear",
     "axis>=13 block_size>=21 output_dtype>=23"},
    {"Dropout",
     "consumed_inputs<6 is_test<7 ratio<12 seed>=12"},
    {"Einsum",
     "equation"},
    {"Elu LeakyRelu",
     "alpha consumed_inputs<6"},
    {"EyeLike",
     "dtype k"},
    {"GRU",
     "activation_alpha activation_beta activations clip direction hidden_size layout>=14 "
     "linear_before_reset>=3 output_sequence<7"},
    {"GatherND",
     "batch_dims>=12"},
    {"Gelu",
     "approximate"},
    {"Gemm",
     "alpha beta broadcast<7 transA transB"},
    {"GlobalLpPool",
     "p"},
    {"GridSample",
     "align_corners mode padding_mode"},
    {"GroupNormalization",
     "epsilon num_groups stash_type>=21"},
    {"HardSigmoid",
     "alpha beta consumed_inputs<6"},
    {"If",
     "else_branch then_branch"},
    {"InstanceNormalization",
     "consumed_inputs<6 epsilon"},
    {"IsInf",
     "detect_negative detect_positive"},
    {"LRN",
     "alpha beta bias size"},
    {"LSTM",
     "activation_alpha activation_beta activations clip direction hidden_size input_forget "
     "layout>=14 output_sequence<7"},
    {"LayerNormalization RMSNormalization",
     "axis epsilon stash_type"},
    {"Loop SequenceMap",
     "body"},
    {"LpNormalization",
     "axis p"},
    {"LpPool",
     "auto_pad ceil_mode>=18 dilations>=18 kernel_shape p pads strides"},
    {"MaxPool",
     "auto_pad ceil_mode>=10 dilations>=10 kernel_shape pads storage_order>=8 strides"},
    {"MaxRoiPool",
     "pooled_shape spatial_scale"},
    {"MaxUnpool",
     "kernel_shape pads strides"},
    {"MelWeightMatrix",
     "output_datatype"},
    {"Mod",
     "fmod"},
    {"Multinomial",
     "dtype sample_size seed"},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
     "ignore_index reduction"},
    {"NonMaxSuppression",
     "center_point_box"},
    {"Optional",
     "type"},
    {"Pad",
     "mode paddings<2 pads>=2<11 value<11"},
    {"QuantizeLinear",
     "axis>=13 block_size>=21 output_dtype>=21 precision>=23 saturate>=19"},
    {"RNN",
     "activation_alpha activation_beta activations clip direction hidden_size layout>=14 "
     "output_sequence<7"},
    {"RandomNormal",
     "dtype mean scale seed shape"},
    {"RandomNormalLike",
     "dtype mean scale seed"},
    {"RandomUniform",
     "dtype high low seed shape"},
    {"RandomUniformLike",
     "dtype high low seed"},
    {"Range",
     "stash_type>=27"},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
     "ReduceProd ReduceSumSquare",
     "axes<18 keepdims noop_with_empty_axes>=18"},
    {"ReduceSum",
     "axes<13 keepdims noop_with_empty_axes>=13"},
    {"RegexFullMatch",
     "pattern"},
    {"Reshape",
     "allowzero>=14 consumed_inputs<5 shape<5"},
    {"Resize",
     "antialias>=18 axes>=18 coordinate_transformation_mode>=11 cubic_coeff_a>=11 "
     "exclude_outside>=11 extrapolation_value>=11 keep_aspect_ratio_policy>=18 mode "
     "nearest_mode>=11"},
    {"ReverseSequence",
     "batch_axis time_axis"},
    {"RoiAlign",
     "coordinate_transformation_mode>=16 mode output_height output_width sampling_ratio "
     "spatial_scale"},
    {"RotaryEmbedding",
     "interleaved num_heads rotary_embedding_dim"},
    {"STFT",
     "onesided"},
    {"Scan",
     "body directions<9 num_scan_inputs scan_input_axes>=9 scan_input_directions>=9 "
     "scan_output_axes>=9 scan_output_directions>=9"},
    {"ScatterElements",
     "axis reduction>=16"},
    {"ScatterND",
     "reduction>=16"},
    {"Selu",
     "alpha consumed_inputs<6 gamma"},
    {"SequenceEmpty",
     "dtype"},
    {"Shape",
     "end>=15 start>=15"},
    {"Shrink",
     "bias lambd"},
    {"Slice",
     "axes<10 ends<10 starts<10"},
    {"SpaceToDepth",
     "blocksize"},
    {"Split",
     "axis num_outputs>=18 split<13"},
    {"SplitToSequence",
     "axis keepdims"},
    {"Squeeze Unsqueeze",
     "axes<13"},
    {"StringNormalizer",
     "case_change_action is_case_sensitive locale stopwords"},
    {"StringSplit",
     "delimiter maxsplit"},
    {"TensorScatter",
     "axis mode"},
    {"TfIdfVectorizer",
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes "
     "pool_int64s pool_strings weights"},
    {"TopK",
     "axis k<10 largest>=11 sorted>=11"},
    {"Transpose",
     "perm"},
    {"Trilu",
     "upper"},
    {"Unique",
     "axis sorted"},
    {"Upsample",
     "height_scale<7 mode scales>=7<9 width_scale<7"},
    // clang-format on
};

int64_t number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  STROP_CHECK(status == std::errc() && end == text.data() + text.size(), "'{}' in the table of attributes", text);
  return value;
}

/// "name", "name<13", "name>=2<11".
KnownAttribute parse(std::string_view text) {
  KnownAttribute attribute;
  if (const size_t at = text.find('<'); at != std::string_view::npos) {
    attribute.until = number_of(text.substr(at + 1)) - 1;
    text = text.substr(0, at);
  }
  if (const size_t at = text.find(">="); at != std::string_view::npos) {
    attribute.since = number_of(text.substr(at + 2));
    text = text.substr(0, at);
  }
  attribute.name = text;
  return attribute;
}

using Table = std::map<std::string_view, std::vector<KnownAttribute>>;

const Table& table() {
  static const Table kTable = [] {
    Table made;
    for (const Row& row : kRows) {
      std::vector<KnownAttribute> attributes;
      for (const std::string_view text : split(row.attributes, ' ')) {
        if (!text.empty()) attributes.push_back(parse(text));
      }
      for (const std::string_view op_type : split(row.op_types, ' ')) made[op_type] = attributes;
    }
    return made;
  }();
  return kTable;
}

/// "it has axis (until opset 6) and ratio"
std::string list_of(const std::vector<KnownAttribute>& attributes, int64_t opset) {
  std::vector<std::string> names;
  for (const KnownAttribute& attribute : attributes) {
    if (attribute.since <= opset && opset <= attribute.until) names.emplace_back(attribute.name);
  }
  return names.empty() ? "it has none" : "it has " + join(names, ", ");
}

}  // namespace

std::string why_not_attribute(std::string_view op_type, std::string_view name, int64_t opset) {
  const auto found = table().find(op_type);
  if (found == table().end()) return "";
  std::vector<std::string_view> names;
  for (const KnownAttribute& attribute : found->second) {
    if (attribute.name == name) {
      if (attribute.since <= opset && opset <= attribute.until) return "";
      if (opset > attribute.until)
        return fmt::format("belongs to opsets until {}, and the model's is {}", attribute.until, opset);
      return fmt::format("belongs to opsets from {}, and the model's is {}", attribute.since, opset);
    }
    names.push_back(attribute.name);
  }
  return fmt::format("is not known{}; {}", did_you_mean(name, names), list_of(found->second, opset));
}

}  // namespace strop::onnx
