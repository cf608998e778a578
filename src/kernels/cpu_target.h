/// Which instruction set the kernels use. One source, compiled per target by Highway, chosen at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strop::kernels {

/// The targets that every vectorised kernel is compiled for; each includes those before it.
enum class CpuTarget { Portable, Avx2, Avx512 };

/// The best target that this CPU (and a Highway build limit) offers.
CpuTarget best_cpu_target();

/// "portable", "avx2", "avx512".
const char* to_string(CpuTarget target);
/// The inverse; nullopt for any other name, such as one of a newer Strop's.
std::optional<CpuTarget> parse_cpu_target(std::string_view name);

}  // namespace strop::kernels
