/// What is timed: an engine with its inputs and outputs bound, on one or several streams.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensors.h"

namespace strop::tool {

/// One context with its own threads.
class Stream {
 public:
  /// Binds the inputs, which must outlive the stream, runs once, and binds outputs of the sizes that came out.
  Stream(const Engine& engine, const Inputs& inputs);
  void run() { or_fail(context_.run()); }
  Context& context() { return context_; }

 private:
  Context context_;
  std::vector<HostTensor> outputs_;
};

/// An engine or model from the command line, ready to be timed.
class Subject {
 public:
  struct Request {
    std::string path;
    CompileFlags compile;
    InputOptions inputs;
    int streams = 1;
  };
  /// The threads of `runtime` are shared out among the streams, at least one each.
  Subject(const Request& request, const Runtime& runtime);

  const Engine& engine() const { return engine_; }
  Stream& stream(size_t index) { return *streams_[index]; }
  size_t streams() const { return streams_.size(); }
  /// All runtimes, for cancelling.
  const std::vector<Runtime>& runtimes() const { return runtimes_; }
  int threads_per_stream() const { return runtimes_.back().threads(); }

 private:
  Engine engine_;
  Inputs inputs_;
  std::vector<Runtime> runtimes_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace strop::tool
