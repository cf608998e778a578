#include "select/race.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/fake_device.h"

namespace strop::select {
namespace {

using device::FakeDevice;

std::vector<Work> candidates(FakeDevice& fake, const std::vector<double>& durations_us) {
  std::vector<Work> works;
  for (const double duration : durations_us)
    works.emplace_back([&fake, duration](device::Stream& stream) { return fake.work(stream, duration); });
  return works;
}

size_t fastest(const std::vector<Timing>& timings) {
  return static_cast<size_t>(std::ranges::min_element(timings, {}, [](const Timing& timing) { return timing.us; }) -
                             timings.begin());
}

TEST(Race, WithoutNoiseTimesAreExact) {
  FakeDevice fake;
  const auto timings = race(fake, candidates(fake, {30, 20, 25}), {}).value();
  ASSERT_EQ(timings.size(), 3U);
  EXPECT_DOUBLE_EQ(timings[0].us, 30);
  EXPECT_DOUBLE_EQ(timings[1].us, 20);
  EXPECT_DOUBLE_EQ(timings[2].us, 25);
  EXPECT_EQ(timings[1].spread_us, 0);
}

TEST(Race, LosersLeaveEarly) {
  FakeDevice fake({.seed = 1, .noise = 0.01});
  const auto timings = race(fake, candidates(fake, {100, 200, 900, 101}), {.max_rounds = 40}).value();
  EXPECT_EQ(timings[1].samples, 3);
  EXPECT_EQ(timings[2].samples, 1);  // not even a round
  EXPECT_GT(timings[0].samples, 10);
  EXPECT_EQ(timings[0].samples, timings[3].samples);
  EXPECT_NEAR(timings[2].us, 900, 45);
}

TEST(Race, ShortWorkIsRepeated) {
  FakeDevice fake;
  const auto timings = race(fake, candidates(fake, {0.5}), {.max_rounds = 5, .batch_us = 20}).value();
  EXPECT_DOUBLE_EQ(timings[0].us, 0.5);
  EXPECT_EQ(fake.launches(), 2 + 3 * 40);  // decided after the least rounds
}

TEST(Race, TheBudgetEndsIt) {
  FakeDevice fake({.seed = 3, .noise = 0.2});
  const auto timings = race(fake, candidates(fake, {1000, 1000}), {.max_rounds = 1000, .budget_us = 20e3}).value();
  EXPECT_LT(timings[0].samples, 12);
  EXPECT_GE(timings[0].samples, 3);
}

TEST(Race, WhatFailsIsOutAndTheOthersGoOn) {
  FakeDevice fake;
  auto works = candidates(fake, {10, 20});
  works.emplace_back([](device::Stream&) -> Result<void> { return error(ErrorCode::Device, "launch refused"); });
  auto timings = race(fake, works, {}).value();
  EXPECT_EQ(timings[2].failure, "launch refused");
  EXPECT_DOUBLE_EQ(timings[0].us, 10);
  fake.fail_launch(5);  // in the middle: the first run of round one
  timings = race(fake, candidates(fake, {100, 120}), {}).value();
  EXPECT_EQ(timings[0].failure, "the fake device failed, as scripted");
  EXPECT_DOUBLE_EQ(timings[1].us, 120);
}

TEST(Race, CancellingEndsIt) {
  FakeDevice fake;
  RaceOptions options;
  options.cancel.cancel();
  EXPECT_EQ(race(fake, candidates(fake, {1, 2}), options).error().code, ErrorCode::Cancelled);
  EXPECT_EQ(fake.launches(), 0);
}

// 3 % noise, a clock that slows by 40 % a second, and spikes: of eight candidates as close as 1.5 %, the one that wins
// is within 2 % of the best.
TEST(Race, FindsTheBestThroughNoiseAndDrift) {
  const std::vector<double> durations = {104, 100, 101.5, 103, 110, 102.5, 150, 300};
  int found = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    FakeDevice fake({.seed = seed, .noise = 0.03, .drift_per_second = 0.4, .spike_probability = 0.02});
    const auto timings = race(fake, candidates(fake, durations), {.max_rounds = 100}).value();
    found += durations[fastest(timings)] <= 102;
  }
  EXPECT_GE(found, 990);
}

}  // namespace
}  // namespace strop::select
