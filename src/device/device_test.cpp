#include "device/device.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "device/cpu_device.h"
#include "device/fake_device.h"

namespace strop::device {
namespace {

TEST(CpuDevice, TimesWorkAndHoldsBytes) {
  const auto cpu = make_cpu_device("avx2");
  EXPECT_EQ(cpu->properties().kind, Kind::Cpu);
  EXPECT_NE(cpu->properties().fingerprint.find(cpu->properties().name), std::string::npos);
  EXPECT_NE(cpu->properties().fingerprint.find(" avx2 "), std::string::npos);
  EXPECT_GT(cpu->properties().memory_bytes, 0);

  const auto stream = cpu->make_stream();
  const auto time = time_us(*cpu, *stream, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return Result<void>();
  });
  ASSERT_TRUE(time.ok());
  EXPECT_GE(*time, 3000);

  const auto memory = cpu->allocate(100).value();
  EXPECT_EQ(memory->bytes(), 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 256, 0U);
  const std::array<std::byte, 4> sent = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::array<std::byte, 2> received = {};
  ASSERT_TRUE(cpu->upload(*memory, 96, sent).ok());
  ASSERT_TRUE(cpu->download(*memory, 98, received).ok());
  EXPECT_EQ(received[0], std::byte{3});
  EXPECT_EQ(received[1], std::byte{4});
  EXPECT_THROW((void)cpu->upload(*memory, 97, sent), Bug);
}

TEST(CpuDevice, WorkThatFailsHasNoTime) {
  const auto cpu = make_cpu_device("avx2");
  const auto stream = cpu->make_stream();
  const auto time = time_us(*cpu, *stream, []() -> Result<void> { return error(ErrorCode::Device, "no"); });
  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.error().message, "no");
}

TEST(FakeDevice, TimePassesAsScripted) {
  FakeDevice fake({.drift_per_second = 0.5});
  const auto stream = fake.make_stream();
  const auto timed = [&](double duration) {
    return time_us(fake, *stream, [&] { return fake.work(*stream, duration); });
  };
  EXPECT_DOUBLE_EQ(timed(1e6).value(), 1e6);
  EXPECT_DOUBLE_EQ(timed(1e6).value(), 1.5e6);  // after one second everything takes half as long again
  EXPECT_DOUBLE_EQ(fake.now_us(), 2.5e6);
  EXPECT_EQ(fake.launches(), 2);
}

TEST(FakeDevice, NoiseIsSeededAndOfItsSize) {
  const auto draw = [](uint64_t seed) {
    FakeDevice fake({.seed = seed, .noise = 0.03});
    const auto stream = fake.make_stream();
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; ++i) {
      const double t = time_us(fake, *stream, [&] { return fake.work(*stream, 10); }).value();
      sum += t;
      squares += (t - 10) * (t - 10);
    }
    return std::pair(sum / 2000, std::sqrt(squares / 2000));
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_NEAR(draw(1).first, 10, 0.03);
  EXPECT_NEAR(draw(1).second, 0.3, 0.02);
}

TEST(FakeDevice, FailsWhereScripted) {
  FakeDevice fake({.memory_bytes = 100});
  const auto stream = fake.make_stream();
  fake.fail_launch(2);
  EXPECT_TRUE(fake.work(*stream, 1).ok());
  EXPECT_EQ(fake.work(*stream, 1).error().code, ErrorCode::Device);
  EXPECT_TRUE(fake.work(*stream, 1).ok());
  {
    const auto most = fake.allocate(90).value();
    EXPECT_EQ(fake.allocated_bytes(), 90);
    EXPECT_EQ(fake.allocate(11).error().message, "the fake device has no 11 bytes left");
  }
  EXPECT_EQ(fake.allocated_bytes(), 0);
  EXPECT_TRUE(fake.allocate(100).ok());
}

}  // namespace
}  // namespace strop::device
