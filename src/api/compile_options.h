/// Public build options as the compiler takes them.
#pragma once

#include "base/result.h"
#include "compiler/compile.h"
#include "strop/strop.h"

namespace strop::api {

/// What cannot be met whatever the model: a device or precision that is not there, numbers out of range. Says aloud
/// which device was chosen.
Result<void> check_environment(const BuildOptions& options, Log& log);

/// Shapes, outputs, route and progress; the ranges of dynamic shapes are added once the model is imported.
Result<compiler::CompileOptions> compile_options(const BuildOptions& options);

compiler::ModelSource source_of(const Model& model);

}  // namespace strop::api
