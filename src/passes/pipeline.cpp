/// The list of passes: what runs, in which order, and why.
#include <algorithm>

#include "passes/pass.h"

namespace strop::passes {

extern const Pass kCancelViews;
extern const Pass kChannelsLast;
extern const Pass kCommonSubexpressions;
extern const Pass kDeadCode;
extern const Pass kFoldAffine;
extern const Pass kFoldConstants;
extern const Pass kFuseEpilogues;
extern const Pass kFusePointwise;
extern const Pass kFuseReductions;
extern const Pass kLowerBatchNorm;
extern const Pass kMatchActivations;
extern const Pass kMatchAttention;
extern const Pass kMatchNormalization;
extern const Pass kSimplifyPrograms;
extern const Pass kSinkTransposes;
extern const Pass kTidyCaptures;

std::vector<Stage> default_pipeline() {
  return {
      // What is left afterwards depends on the inputs, is needed and is there once.
      {{&kFoldConstants, &kTidyCaptures, &kSinkTransposes, &kCancelViews, &kCommonSubexpressions, &kDeadCode}, 8},
      // Patterns of single operators first: what follows would take scales and masks apart. Attention has a softmax.
      {{&kMatchNormalization, &kMatchAttention, &kDeadCode}},
      // Batch normalisation and other scales vanish in weights.
      {{&kFoldAffine, &kLowerBatchNorm, &kDeadCode}},
      // The layout that convolutions want, and what of the transposes that make it can be spared.
      {{&kChannelsLast}},
      {{&kFoldConstants, &kCancelViews, &kCommonSubexpressions, &kDeadCode}, 4},
      // What kernels do in registers goes first: it costs nothing there.
      {{&kFuseEpilogues, &kDeadCode}},
      // Pointwise regions, each as short as it can be said.
      {{&kFusePointwise, &kSimplifyPrograms, &kMatchActivations, &kFuseEpilogues, &kCommonSubexpressions, &kDeadCode},
       4},
      // What is left of pointwise work beside reductions.
      {{&kFuseReductions, &kDeadCode}},
  };
}

std::vector<const Pass*> all_passes() {
  std::vector<const Pass*> passes;
  for (const Stage& stage : default_pipeline()) {
    for (const Pass* pass : stage.passes) {
      if (std::find(passes.begin(), passes.end(), pass) == passes.end()) passes.push_back(pass);
    }
  }
  return passes;
}

std::vector<const KnobInfo*> pass_knobs() {
  std::vector<const KnobInfo*> knobs;
  for (const Pass* pass : all_passes()) {
    if (pass->enabled) knobs.push_back(&pass->enabled->info);
    knobs.insert(knobs.end(), pass->knobs.begin(), pass->knobs.end());
  }
  return knobs;
}

}  // namespace strop::passes
