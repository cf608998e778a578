/// An engine from an engine file or a model.
#pragma once

#include <string>

#include "options.h"

namespace strop::tool {

/// Whether the file begins as an engine does. Failure: it cannot be read, or is empty.
bool is_engine_file(const std::string& path);

/// Compiles with a progress line.
Engine compile(const std::string& model, const CompileFlags& flags, const Runtime& runtime);

/// Loads an engine, or compiles a model in memory. Options of compiling together with an engine are refused.
Engine open_engine(const std::string& path, const CompileFlags& flags, const Runtime& runtime);

}  // namespace strop::tool
