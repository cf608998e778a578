#include "select/selector.h"

#include <gtest/gtest.h>

#include "device/fake_device.h"
#include "ops/softmax/softmax.h"
#include "select/problem_text.h"

namespace strop::select {
namespace {

using device::FakeDevice;
using tactics::Config;
using tactics::Numerics;
using tactics::Problem;
using tactics::Tactic;

// What a fake tactic does: it takes as long as its configuration says, and has that workspace.
class FakeLaunch final : public tactics::Launch {
 public:
  FakeLaunch(double duration_us, int64_t workspace_bytes) : duration_us_(duration_us), workspace_(workspace_bytes) {}
  int64_t workspace_bytes() const override { return workspace_; }
  Result<void> run(const tactics::LaunchArgs& args) const override {
    return FakeDevice::on(*args.stream).work(*args.stream, duration_us_);
  }

 private:
  double duration_us_;
  int64_t workspace_;
};

std::optional<std::string> applies(const Problem&) { return std::nullopt; }

template <int kNanoseconds, int kWorkspace = 0>
Result<std::unique_ptr<tactics::Launch>> takes(const tactics::PrepareArgs& args) {
  const auto scale = static_cast<double>(args.config.get("scale", 1));
  return std::unique_ptr<tactics::Launch>(std::make_unique<FakeLaunch>(kNanoseconds / 1e3 * scale, kWorkspace));
}

Tactic fake(std::string_view name, decltype(Tactic::prepare) prepare, Numerics numerics = Numerics::Exact) {
  Tactic tactic;
  tactic.name = name;
  tactic.device = device::Kind::Fake;
  tactic.numerics = numerics;
  tactic.op = "Softmax";
  tactic.why_not = applies;
  tactic.prepare = prepare;
  return tactic;
}

Problem softmax(const Dims& dims) {
  Problem problem;
  problem.op = &ops::kSoftmax;
  problem.attrs = ops::SoftmaxAttrs{};
  problem.inputs = {Type(DType::F32, dims)};
  problem.outputs = {Type(DType::F32, dims)};
  return problem;
}

const Dims kDims = {Dim(64), Dim(128)};

/// A fake device with these tactics.
struct Fake {
  explicit Fake(std::vector<Tactic> given, device::FakeScript script = {}) : device(std::move(script)) {
    owned = std::move(given);
    for (const Tactic& tactic : owned) pointers.push_back(&tactic);
    list.add(pointers);
  }
  Selector selector(SelectOptions options = {}) {
    return Selector({list, device, threads, "test", cache}, route, std::move(options));
  }

  FakeDevice device;
  std::vector<Tactic> owned;
  std::vector<const Tactic*> pointers;
  tactics::TacticList list;
  SingleThread threads;
  TimingCache cache;
  Route route{KnobList(knobs())};
};

TEST(Selector, TakesTheFastestAndSaysWhy) {
  Tactic refusing = fake("Softmax.fake.never", takes<1>);
  refusing.why_not = [](const Problem&) { return std::optional<std::string>("not today"); };
  Fake machine({fake("Softmax.fake.slow", takes<30000>), fake("Softmax.fake.fast", takes<20000>), refusing});
  const Choice choice = machine.selector().choose(softmax(kDims)).value();
  EXPECT_EQ(choice.tactic->name, "Softmax.fake.fast");
  EXPECT_EQ(choice.why, "the fastest of 2: 20 µs");
  ASSERT_EQ(choice.candidates.size(), 4U);
  EXPECT_EQ(choice.candidates[0].time_us, 30);
  EXPECT_EQ(choice.candidates[1].time_us, 20);
  EXPECT_EQ(choice.candidates[2].refused, "not today");
  EXPECT_EQ(choice.candidates[3].tactic, "Softmax.cpu.reference");
  EXPECT_EQ(choice.candidates[3].refused, "the last resort: not timed where others apply");
}

TEST(Selector, EqualProblemsAreTimedOnce) {
  Fake machine({fake("Softmax.fake.a", takes<10000>), fake("Softmax.fake.b", takes<20000>)});
  Selector selector = machine.selector();
  ASSERT_TRUE(selector.choose(softmax(kDims)).ok());
  const int64_t launches = machine.device.launches();
  ASSERT_TRUE(selector.choose(softmax(kDims)).ok());
  EXPECT_EQ(machine.device.launches(), launches);
  EXPECT_EQ(selector.stats().measured, 1);
  EXPECT_EQ(selector.stats().cached, 1);
  ASSERT_TRUE(selector.choose(softmax({Dim(64), Dim(64)})).ok());
  EXPECT_EQ(selector.stats().measured, 2);
  EXPECT_EQ(selector.used().size(), 2U);
}

TEST(Selector, WithinNoiseTheSmallerWorkspaceThenTheMoreExactWins) {
  Fake machine({fake("Softmax.fake.big", takes<10000, 4096>), fake("Softmax.fake.small", takes<10000, 64>),
                fake("Softmax.fake.small_too", takes<10000, 64>, Numerics::Reduced)});
  EXPECT_EQ(machine.selector().choose(softmax(kDims)).value().tactic->name, "Softmax.fake.small");
  Fake exact({fake("Softmax.fake.reduced", takes<10000>, Numerics::Reduced), fake("Softmax.fake.exact", takes<10000>)});
  const Choice choice = exact.selector().choose(softmax(kDims)).value();
  EXPECT_EQ(choice.tactic->name, "Softmax.fake.exact");
  EXPECT_EQ(choice.why, "as fast as Softmax.fake.reduced (10 µs) within noise, with more exact numerics");
}

TEST(Selector, ConfigsCompete) {
  Tactic tactic = fake("Softmax.fake.scaled", takes<10000>);
  tactic.configs = [](const Problem&) {
    return std::vector<Config>{{{{"scale", 3}}}, {{{"scale", 1}}}, {{{"scale", 2}}}};
  };
  Fake machine({tactic});
  const Choice choice = machine.selector().choose(softmax(kDims)).value();
  EXPECT_EQ(choice.config.to_string(), "scale=1");
  EXPECT_EQ(choice.candidates.size(), 4U);
}

TEST(Selector, AFailingCandidateIsListedAndNotChosen) {
  Tactic broken = fake("Softmax.fake.broken", takes<1000>);
  broken.prepare = [](const tactics::PrepareArgs&) -> Result<std::unique_ptr<tactics::Launch>> {
    return error(ErrorCode::Device, "no such unit");
  };
  Fake machine({broken, fake("Softmax.fake.whole", takes<10000>)});
  const Choice choice = machine.selector().choose(softmax(kDims)).value();
  EXPECT_EQ(choice.tactic->name, "Softmax.fake.whole");
  EXPECT_EQ(choice.candidates[0].refused, "failed when it was timed: no such unit");
}

TEST(Selector, EffortZeroAndTheCacheAloneMeasureNothing) {
  Tactic ranked = fake("Softmax.fake.ranked", takes<20000>);
  ranked.rank = [](const Problem&) { return 0.5; };
  Fake machine({fake("Softmax.fake.a", takes<10000>), ranked});
  Selector estimating = machine.selector({.effort = 0});
  Choice choice = estimating.choose(softmax(kDims)).value();
  EXPECT_EQ(choice.tactic->name, "Softmax.fake.ranked");
  EXPECT_EQ(choice.why, "lowest expected cost of 2 that apply; not measured: effort 0 measures nothing");
  EXPECT_EQ(estimating.stats().estimated, 1);
  EXPECT_EQ(machine.device.launches(), 0);

  Selector cached = machine.selector({.cache_only = true});
  ASSERT_TRUE(cached.choose(softmax(kDims)).ok());
  EXPECT_EQ(cached.missing(), std::vector<std::string>{problem_text(softmax(kDims))});
  ASSERT_TRUE(machine.selector().choose(softmax(kDims)).ok());  // fills the cache
  EXPECT_EQ(machine.selector({.effort = 0}).choose(softmax(kDims)).value().tactic->name, "Softmax.fake.a");
}

TEST(Selector, OpenDimensionsAreMeasuredAtTheOptimum) {
  Fake machine({fake("Softmax.fake.a", takes<10000>), fake("Softmax.fake.b", takes<20000>)});
  const Problem open = softmax({Dim::symbol("n"), Dim(128)});
  const Choice estimated = machine.selector().choose(open).value();
  EXPECT_NE(estimated.why.find("its dimensions are open and have no optimum"), std::string::npos);
  Selector selector = machine.selector({.optimum = {{"n", 64}}});
  EXPECT_EQ(selector.choose(open).value().why, "the fastest of 2: 10 µs");
  ASSERT_TRUE(selector.choose(softmax(kDims)).ok());
  EXPECT_EQ(selector.stats().cached, 1);  // the same problem
}

TEST(Selector, WhatDoesNotFitTheMemoryLimitIsEstimated) {
  Fake machine({fake("Softmax.fake.a", takes<10000>), fake("Softmax.fake.b", takes<20000>)});
  const Choice choice = machine.selector({.memory_limit_bytes = 1}).choose(softmax(kDims)).value();
  EXPECT_NE(choice.why.find("measuring it needs more than the memory limit"), std::string::npos);
  EXPECT_EQ(machine.device.allocated_bytes(), 0);
}

TEST(Selector, CancellingEndsIt) {
  Fake machine({fake("Softmax.fake.a", takes<10000>), fake("Softmax.fake.b", takes<20000>)});
  SelectOptions options;
  options.cancel.cancel();
  EXPECT_EQ(machine.selector(options).choose(softmax(kDims)).error().code, ErrorCode::Cancelled);
}

// The same cache gives the same choice, whatever the noise of a later day.
TEST(Selector, TheCacheDecides) {
  const std::vector<Tactic> close = {fake("Softmax.fake.a", takes<10000>), fake("Softmax.fake.b", takes<10050>),
                                     fake("Softmax.fake.c", takes<10100>)};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Fake cold(close, {.seed = seed, .noise = 0.03});
    Selector measuring = cold.selector();
    const Choice first = measuring.choose(softmax(kDims)).value();
    Fake warm(close, {.seed = seed + 100, .noise = 0.03});
    warm.cache = TimingCache::parse(cold.cache.text(), "x").value();
    Selector reading = warm.selector();
    const Choice second = reading.choose(softmax(kDims)).value();
    EXPECT_EQ(first.tactic->name, second.tactic->name);
    EXPECT_EQ(first.why, second.why);
    EXPECT_EQ(measuring.used().text(), reading.used().text());
    EXPECT_EQ(warm.device.launches(), 0);
  }
}

// 3 % noise and drift: the choice is within 2 % of the best in at least 99 of 100 seeds.
TEST(Selector, ChoosesWellThroughNoiseAndDrift) {
  int good = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Fake machine({fake("Softmax.fake.a", takes<103000>), fake("Softmax.fake.b", takes<100000, 64>),
                  fake("Softmax.fake.c", takes<101500, 32>), fake("Softmax.fake.d", takes<102500>),
                  fake("Softmax.fake.e", takes<105000>), fake("Softmax.fake.f", takes<140000>)},
                 {.seed = seed, .noise = 0.03, .drift_per_second = 0.4, .spike_probability = 0.02});
    const std::string_view name = machine.selector({.effort = 4}).choose(softmax(kDims)).value().tactic->name;
    good += name == "Softmax.fake.b" || name == "Softmax.fake.c";
  }
  EXPECT_GE(good, 99);
}

}  // namespace
}  // namespace strop::select
