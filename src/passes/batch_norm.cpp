#include "passes/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "ops/norm/norm.h"

namespace strop::passes {

std::optional<ChannelAffine> batch_norm_affine(const ir::Graph& graph, const ir::Node& node) {
  std::vector<std::vector<double>> parameters;  // scale, bias, mean, variance
  ChannelAffine affine;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* tensor = graph.constant_tensor(node.inputs[i]);
    if (!tensor) return std::nullopt;
    parameters.push_back(load_f64(*tensor));
    if (parameters.back().size() != parameters.front().size()) return std::nullopt;
    affine.sources.push_back(graph.value(node.inputs[i]).constant.get());
  }
  const double epsilon = node.attrs.as<ops::BatchNormAttrs>().epsilon;
  for (size_t c = 0; c < parameters[0].size(); ++c) {
    const double scale = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * scale);
  }
  return affine;
}

void add_origins(ir::Constant& constant, const std::vector<const ir::Constant*>& sources) {
  for (const ir::Constant* source : sources) {
    for (const std::string& origin : source->origins) {
      if (std::find(constant.origins.begin(), constant.origins.end(), origin) == constant.origins.end()) {
        constant.origins.push_back(origin);
      }
    }
  }
}

}  // namespace strop::passes
