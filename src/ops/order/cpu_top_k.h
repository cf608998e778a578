/// TopK by selection: the k best of each line are chosen in one pass, then sorted.
#pragma once

#include "tactics/tactic.h"

namespace strop::ops {

extern const tactics::Tactic kTopKSelect;

}  // namespace strop::ops
