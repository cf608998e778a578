/// The CPU tactics of the normalisations. Private to norm/.
#pragma once

#include "tactics/tactic.h"

namespace strop::ops {

extern const tactics::Tactic kLayerNormRows;
extern const tactics::Tactic kGroupNormPlanes;
extern const tactics::Tactic kGroupNormChannelsLast;
extern const tactics::Tactic kBatchNormPlanes;
extern const tactics::Tactic kLocalResponseNormTiles;

}  // namespace strop::ops
