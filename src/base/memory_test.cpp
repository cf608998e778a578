#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace strop {
namespace {

TEST(Memory, CountsWhatIsTouched) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = resident_bytes();
  ASSERT_GT(before, 0);
  const auto memory = std::make_unique_for_overwrite<char[]>(kBytes);
  std::memset(memory.get(), 1, kBytes);
  EXPECT_GE(resident_bytes(), before + kBytes * 9 / 10);
  EXPECT_LE(resident_bytes(), before + kBytes * 11 / 10);
}

}  // namespace
}  // namespace strop
