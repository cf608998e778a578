#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/cancel.h"

namespace strop {
namespace {

class RecordingLog final : public Log {
 public:
  bool enabled(LogLevel level) const override { return level <= LogLevel::Info; }
  void write(LogLevel level, std::string_view message) override {
    lines.push_back(fmt::format("{}|{}", to_string(level), message));
  }
  std::vector<std::string> lines;
};

TEST(Log, FormatsWhatIsEnabled) {
  RecordingLog log;
  log.warning("{} of {}", 1, "two");
  log.info("plain");
  log.debug("not wanted {}", 3);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"warning|1 of two", "info|plain"}));
}

TEST(Log, StderrLinesNameTheProgram) {
  StderrLog log(LogLevel::Info);
  testing::internal::CaptureStderr();
  log.warning("low on {}", "memory");
  log.info("reading");
  log.debug("hidden");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "strop: warning: low on memory\nstrop: reading\n");
}

TEST(Log, NullLogIsSilent) {
  NullLog log;
  EXPECT_FALSE(log.enabled(LogLevel::Warning));
  testing::internal::CaptureStderr();
  log.warning("nobody hears");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(CancelToken, CopiesShareTheFlag) {
  const CancelToken token;
  const CancelToken copy = token;
  const CancelToken other;
  EXPECT_TRUE(token.check().ok());
  std::thread([&] { copy.cancel(); }).join();
  EXPECT_TRUE(token.cancelled());
  EXPECT_FALSE(other.cancelled());
  EXPECT_EQ(token.check().error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace strop
