// Counts allocations: a program of its own, because it replaces operator new.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/runtime/fixture.h"

namespace {
std::atomic<int64_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace strop {
namespace {

TEST(Allocations, ThereAreNoneAtAShapeSeenBefore) {
  Machine machine = make_machine(R"(graph "g" (x: f32[n, 8, 8, 4]) -> (y = %y) {
  %w = constant f32[4, 4, 1, 1] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
  %m = constant f32[4, 2] {1, 2, 3, 4, 5, 6, 7, 8}
  %a = Conv(%x, %w) {strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], output_padding=[0, 0], input_channels_last=true, output_channels_last=true} : f32[n, 8, 8, 4]
  %b = Pointwise(%a) {program=(x0: f32) { v1 = Tanh(x0) } -> v1} : f32[n, 8, 8, 4]
  %c = MatMul(%b, %m) : f32[n, 8, 8, 2]
  %t = Transpose(%c) {perm=[0, 3, 1, 2]} : f32[n, 2, 8, 8]
  %y = Reshape(%t) {shape=[n, 128]} : f32[n, 128]
}
)");
  ASSERT_EQ(machine.stats.reference_steps, 0);
  const std::vector<Value> small = {random_f32({1, 8, 8, 4})};
  const std::vector<Value> large = {random_f32({3, 8, 8, 4})};
  std::vector<Value> small_out = {Tensor(DType::F32, {1, 128})};
  std::vector<Value> large_out = {Tensor(DType::F32, {3, 128})};
  const auto count = [&](const std::vector<Value>& in, std::vector<Value>& out) {
    const int64_t before = allocations;
    const bool ok = machine.executor->run(in, out).ok();
    const int64_t after = allocations;
    EXPECT_TRUE(ok);
    return after - before;
  };
  EXPECT_GT(count(small, small_out), 0);  // the counter counts: a new shape is planned
  EXPECT_EQ(count(small, small_out), 0);
  EXPECT_GT(count(large, large_out), 0);
  EXPECT_EQ(count(large, large_out), 0);
  EXPECT_EQ(count(small, small_out), 0);  // back at a shape seen before
  EXPECT_EQ(count(large, large_out), 0);
}

}  // namespace
}  // namespace strop
