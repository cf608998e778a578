// The tactics of every family, apart from what uses a list of tactics: that links without kernels.
#include "ops/families.h"
#include "tactics/tactic.h"

namespace strop::tactics {

const TacticList& builtin_cpu_tactics() {
  static const TacticList list = [] {
    TacticList all;
#define STROP_ADD_FAMILY(folder) all.add(ops::folder##_cpu_tactics());
    STROP_OPERATOR_FAMILIES(STROP_ADD_FAMILY)
#undef STROP_ADD_FAMILY
    return all;
  }();
  return list;
}

}  // namespace strop::tactics
