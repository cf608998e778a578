/// Part of the C++ API: what the shared libraries export. Everything else in them is hidden.
#pragma once

#define STROP_API __attribute__((visibility("default")))
