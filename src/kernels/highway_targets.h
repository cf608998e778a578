/// Include before <hwy/foreach_target.h>: restricts Highway to the targets of CpuTarget, to keep compile times small.
// No include guard on purpose: foreach_target.h re-includes the source file, and the values never change.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
