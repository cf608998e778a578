/// What the arithmetic of dimensions throws when it leaves 64 bits. A model can cause it, so the importer catches it;
/// anywhere else it is a bug like any other.
#pragma once

#include "base/check.h"

namespace strop {

class DimOverflow : public Bug {
 public:
  using Bug::Bug;
};

}  // namespace strop
