/// Graphs lowered for tests: tactics by rank, nothing is measured.
#pragma once

#include "compiler/compile.h"
#include "compiler/lower.h"
#include "device/cpu_device.h"
#include "kernels/cpu_target.h"
#include "select/selector.h"

namespace strop {

inline Result<compiler::Lowered> lowered(const ir::Graph& graph, const Route& route,
                                         std::map<std::string, tactics::Range> ranges = {}) {
  const auto device = device::make_cpu_device(kernels::to_string(kernels::best_cpu_target()));
  SingleThread single;
  select::TimingCache cache;
  select::Selector selector({tactics::builtin_cpu_tactics(), *device, single, "", cache}, route, {.effort = 0});
  return compiler::lower(graph, {selector, route, single, std::move(ranges)});
}

}  // namespace strop
