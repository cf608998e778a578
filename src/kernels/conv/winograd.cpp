#include "kernels/conv/methods.h"

namespace strop::kernels::conv {
namespace {
const char* never(const ConvProblem&, CpuTarget) { return "not written yet"; }
}  // namespace
const Method kWinograd2{never, nullptr, nullptr, nullptr, nullptr, nullptr};
const Method kWinograd4{never, nullptr, nullptr, nullptr, nullptr, nullptr};
}  // namespace strop::kernels::conv
