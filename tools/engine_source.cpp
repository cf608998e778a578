#include "engine_source.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace strop::tool {

bool is_engine_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  if (!file || (!file.read(magic, sizeof magic) && errno != 0 && file.gcount() == 0)) {
    const ErrorCode code = errno == EISDIR ? ErrorCode::InvalidArgument : ErrorCode::NotFound;
    throw Failure{{code, fmt::format("cannot read '{}': {}", path, std::strerror(errno))}};
  }
  if (file.gcount() == 0) refuse("'{}' is empty: neither an engine nor a model", path);
  return std::string_view(magic, sizeof magic) == "STROPENG";
}

Engine compile(const std::string& model, const CompileFlags& flags, const Runtime& runtime) {
  BuildOptions options = build_options(flags);
  ProgressLine line;
  options.progress = [&](const Progress& progress) {
    std::string text = fmt::format("{} {}", progress.stage, progress.item);
    if (progress.total > 0) text += fmt::format(" ({} of {})", progress.done, progress.total);
    line.show(text);
  };
  auto engine = build(model, options, runtime);
  if (!engine.ok() && engine.error().code == ErrorCode::InvalidModel) {
    throw Failure{{ErrorCode::InvalidModel, fmt::format("'{}': {}", model, engine.error().message)}};
  }
  return or_fail(std::move(engine));
}

Engine open_engine(const std::string& path, const CompileFlags& flags, const Runtime& runtime) {
  if (!is_engine_file(path)) return compile(path, flags, runtime);
  const std::string given = given_for_models(flags);
  if (!given.empty()) refuse("'{}' is an engine: leave out {}, which only building a model heeds", path, given);
  return or_fail(Engine::load(path, runtime));
}

}  // namespace strop::tool
