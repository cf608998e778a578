// Blocks of pixels moved into channels and back: the import is a Transpose between two Reshapes.
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

struct Rearrangement {
  Dims split;
  std::vector<int64_t> perm;
  Dims joined;
};

Result<void> emit_rearrangement(NodeContext& ctx, Rearrangement steps) {
  STROP_ASSIGN(const ValueId split, ctx.emit(kReshape, ReshapeAttrs{std::move(steps.split)}, {ctx.input(0)}));
  STROP_ASSIGN(const ValueId moved, ctx.emit(kTranspose, TransposeAttrs{std::move(steps.perm)}, {split}));
  STROP_ASSIGN(const ValueId joined, ctx.emit(kReshape, ReshapeAttrs{std::move(steps.joined)}, {moved}));
  return ctx.set_output(0, joined);
}

struct Image {
  Dim n, c, h, w;
  Dim block;
};

// Operand [n, c, h, w] and block size; the mode says whether blocks come before channels (DCR) or after (CRD).
Result<Image> image_operand(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const int64_t block, ctx.attr_int("blocksize"));
  if (block < 1) return ctx.invalid("blocksize {}", block);
  if (!input.has_rank()) return ctx.unsupported("an operand of unknown rank");
  if (input.rank() != 4) return ctx.invalid("an operand of rank {}, not 4", input.rank());
  return Image{input.dim(0), input.dim(1), input.dim(2), input.dim(3), Dim(block)};
}

Result<bool> blocks_first(NodeContext& ctx) {
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD") return ctx.invalid("mode '{}' is neither DCR nor CRD", mode);
  return mode == "DCR";
}

Error indivisible(const NodeContext& ctx, const Dim& size, const Dim& by) {
  return ctx.invalid("{} cannot be divided by {}", size.to_string(), by.to_string());
}

bool divides(const Dim& by, const Dim& size) { return !size.is_constant() || size.constant() % by.constant() == 0; }

Result<void> import_depth_to_space(NodeContext& ctx) {
  STROP_ASSIGN(const Image image, image_operand(ctx));
  STROP_ASSIGN(const bool first, blocks_first(ctx));
  const auto& [n, c, h, w, b] = image;
  if (!divides(b * b, c)) return indivisible(ctx, c, b * b);
  const Dim channels = floor_div(c, b * b);
  Rearrangement steps;
  steps.split = first ? Dims{n, b, b, channels, h, w} : Dims{n, channels, b, b, h, w};
  steps.perm = first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  steps.joined = {n, channels, h * b, w * b};
  return emit_rearrangement(ctx, std::move(steps));
}

Result<void> import_space_to_depth(NodeContext& ctx) {
  STROP_ASSIGN(const Image image, image_operand(ctx));
  STROP_ASSIGN(const bool first, blocks_first(ctx));
  const auto& [n, c, h, w, b] = image;
  if (!divides(b, h)) return indivisible(ctx, h, b);
  if (!divides(b, w)) return indivisible(ctx, w, b);
  Rearrangement steps;
  steps.split = {n, c, floor_div(h, b), b, floor_div(w, b), b};
  steps.perm = first ? std::vector<int64_t>{0, 3, 5, 1, 2, 4} : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  steps.joined = {n, c * b * b, floor_div(h, b), floor_div(w, b)};
  return emit_rearrangement(ctx, std::move(steps));
}

}  // namespace

std::span<const onnx::Importer> space_depth_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"DepthToSpace", import_depth_to_space},
      onnx::Importer{"SpaceToDepth", import_space_to_depth},
  };
  return kImporters;
}

}  // namespace strop::ops
