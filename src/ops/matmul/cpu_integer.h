/// The tactic for matrix products of integers.
#pragma once

#include "tactics/tactic.h"

namespace strop::ops {

const tactics::Tactic& integer_matmul_tactic();

}  // namespace strop::ops
