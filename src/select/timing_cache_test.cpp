#include "select/timing_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"

namespace strop::select {
namespace {

const TimingKey kKey{"MatMul f32[2, 3]", 2, "cpu X", "strop 0", ""};

CandidateTime timed(const std::string& tactic, double us, int samples) {
  return {.tactic = tactic, .us = us, .spread_us = 0.1, .samples = samples};
}

class TimingCacheFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("strop_timing_cache_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST(TimingCache, TimesHaveFourDigits) {
  EXPECT_EQ(rounded_time(123.456789), 123.5);
  EXPECT_EQ(rounded_time(0.00123456), 0.001235);
  EXPECT_EQ(rounded_time(987654), 987700);
  EXPECT_EQ(rounded_time(0), 0);
}

TEST(TimingCache, TextAndBack) {
  TimingCache cache;
  CandidateTime failed{.tactic = "c", .version = 3, .config = "threads=1", .failure = "it \"broke\""};
  cache.insert(kKey, {timed("b", 12.5, 7), failed, timed("a", 0.1, 3)});
  const std::string text = cache.text();
  EXPECT_EQ(text,
            "{\"strop_timing_cache\":1}\n"
            "{\"problem\":\"MatMul f32[2, 3]\",\"threads\":2,\"candidates\":["
            "{\"tactic\":\"a\",\"version\":1,\"us\":0.1,\"spread_us\":0.1,\"samples\":3},"
            "{\"tactic\":\"b\",\"version\":1,\"us\":12.5,\"spread_us\":0.1,\"samples\":7},"
            "{\"tactic\":\"c\",\"version\":3,\"config\":\"threads=1\",\"failure\":\"it \\\"broke\\\"\"}],"
            "\"device\":\"cpu X\",\"software\":\"strop 0\"}\n");
  const TimingCache back = TimingCache::parse(text, "x").value();
  EXPECT_EQ(back.entries(), cache.entries());
  EXPECT_EQ(back.text(), text);
}

TEST(TimingCache, UnusableLinesAreCounted) {
  TimingCache cache;
  cache.insert(kKey, {timed("a", 1, 1)});
  const std::string damaged = cache.text() +
                              "{\"problem\": 7}\nnot json\n{\"problem\":\"p\",\"threads\":1,\"device\":" +
                              R"("d","software":"s","candidates":[{"tactic":"t","version":1,"us":-1}]})" + "\n";
  const TimingCache read = TimingCache::parse(damaged, "x").value();
  EXPECT_EQ(read.size(), 1U);
  EXPECT_EQ(read.unusable_lines(), 3);
  const TimingCache newer = TimingCache::parse("{\"strop_timing_cache\":2}\n{\"a\":1}\n", "x").value();
  EXPECT_EQ(newer.size(), 0U);
  EXPECT_EQ(newer.unusable_lines(), 1);
  EXPECT_TRUE(newer.is_newer());
}

TEST(TimingCache, AnotherFileIsNotOverwritten) {
  const auto wrong = TimingCache::parse("weights\n", "model.onnx");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(
      wrong.error().message,
      "'model.onnx' is not a timing cache: it does not begin with {\"strop_timing_cache\": …}. Name another file");
}

TEST(TimingCache, OtherCandidatesAreAnotherEntry) {
  TimingCache cache;
  cache.insert(kKey, {timed("a", 3, 10), timed("b", 4, 10)});
  CandidateTime changed = timed("b", 2, 5);
  changed.version = 2;
  cache.insert(kKey, {changed, timed("a", 3, 5)});
  EXPECT_EQ(cache.size(), 2U);
  TimingKey key = kKey;
  key.candidates = "a@1; b@2";
  ASSERT_NE(cache.find(key), nullptr);
  EXPECT_EQ((*cache.find(key))[1].us, 2);
  key.candidates = "a@1";
  EXPECT_EQ(cache.find(key), nullptr);
}

TEST(TimingCache, MergingDoesNotDependOnTheOrder) {
  TimingCache one, two, three;
  one.insert(kKey, {timed("a", 3, 10)});
  two.insert(kKey, {timed("a", 2, 10)});
  three.insert(kKey, {timed("a", 9, 11)});
  three.insert({"other", 1, "d", "s", ""}, {timed("b", 1, 1)});
  const auto merged = [](std::vector<const TimingCache*> parts) {
    TimingCache all;
    for (const TimingCache* part : parts) all.merge(*part);
    return all.text();
  };
  const std::string text = merged({&one, &two, &three});
  EXPECT_EQ(text, merged({&three, &two, &one}));
  EXPECT_EQ(text, merged({&two, &three, &one, &two}));
  EXPECT_NE(text.find("\"us\":9.0"), std::string::npos);
  EXPECT_NE(merged({&one, &two}).find("\"us\":2.0"), std::string::npos);
}

TEST_F(TimingCacheFile, SavingMergesWithWhatIsThere) {
  TimingCache one, two;
  one.insert(kKey, {timed("a", 3, 10)});
  two.insert({"other", 1, "d", "s", ""}, {timed("b", 1, 1)});
  ASSERT_TRUE(one.save(path("cache")).ok());
  ASSERT_TRUE(two.save(path("cache")).ok());
  EXPECT_EQ(two.size(), 2U);
  EXPECT_EQ(TimingCache::load(path("cache")).value().size(), 2U);
  EXPECT_EQ(TimingCache::load(path("missing")).value().size(), 0U);
  ASSERT_TRUE(write_file_atomically(path("model"), "bytes").ok());
  EXPECT_FALSE(one.save(path("model")).ok());
  EXPECT_EQ(read_file(path("model")).value(), "bytes");
}

TEST_F(TimingCacheFile, ANewerOneIsNotReplaced) {
  const std::string newer = "{\"strop_timing_cache\":2}\n{\"a\":1}\n";
  ASSERT_TRUE(write_file_atomically(path("newer"), newer).ok());
  TimingCache cache;
  cache.insert(kKey, {timed("a", 3, 10)});
  const auto saved = cache.save(path("newer"));
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().message,
            fmt::format("timing cache '{}' is a newer Strop's and would be lost: name another file", path("newer")));
  EXPECT_EQ(read_file(path("newer")).value(), newer);
}

TEST_F(TimingCacheFile, ProcessesShareIt) {
  constexpr int kProcesses = 6, kEntries = 10;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    bool saved = true;
    for (int i = 0; i < kEntries; ++i) {
      TimingCache cache;
      cache.insert({std::to_string(process * kEntries + i), 1, "d", "s", ""}, {timed("a", 1, 1)});
      saved = saved && cache.save(path("shared")).ok();
    }
    _exit(saved ? 0 : 1);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(TimingCache::load(path("shared")).value().size(), static_cast<size_t>(kProcesses * kEntries));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(path("shared")).parent_path()), {}),
            1);
}

}  // namespace
}  // namespace strop::select
