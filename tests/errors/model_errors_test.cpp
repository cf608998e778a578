// Each hostile model is imported in a process of its own that may use 10 s of CPU and 2 GiB of address space.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "errors/hostile.h"
#include "onnx/import.h"

namespace strop::tests {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitMemory = false;  // the sanitizer reserves terabytes
#else
constexpr bool kLimitMemory = true;
#endif

void limit_this_process() {
  const rlimit cpu{10, 10};
  ::setrlimit(RLIMIT_CPU, &cpu);
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  if (!kLimitMemory) return;
  const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
}

std::string describe(const Error& error) { return std::string(to_string(error.code)) + ": " + error.message; }

/// What the importer says, from the child process.
std::string import_outcome(const HostileModel& model, const std::filesystem::path& folder) {
  onnx::ImportOptions options;
  options.folder = folder;
  const auto owner = std::make_shared<const std::string>(model.bytes);
  try {
    const auto imported = onnx::import_bytes(*owner, owner, options);
    return imported.ok() ? "accepted" : describe(imported.error());
  } catch (const std::exception& bug) {
    return std::string("threw ") + bug.what();
  }
}

std::string outcome_in_child(const HostileModel& model, const std::filesystem::path& folder) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no process";
  if (child == 0) {
    ::close(ends[0]);
    limit_this_process();
    const std::string outcome = import_outcome(model, folder);
    const ssize_t written = ::write(ends[1], outcome.data(), outcome.size());
    ::_exit(written == static_cast<ssize_t>(outcome.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string outcome;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    outcome.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? outcome : "the process ended with status " + std::to_string(status);
}

class ModelErrors : public ::testing::TestWithParam<HostileModel> {};

TEST_P(ModelErrors, AreRefusedWith) {
  const HostileModel& model = GetParam();
  const auto folder = std::filesystem::path(::testing::TempDir());
  EXPECT_EQ(outcome_in_child(model, folder), model.code + ": " + model.message);
}

std::string name_of(const ::testing::TestParamInfo<HostileModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Damaged, ModelErrors, ::testing::ValuesIn(damaged_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Illegal, ModelErrors, ::testing::ValuesIn(illegal_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Greedy, ModelErrors, ::testing::ValuesIn(greedy_models()), name_of);

}  // namespace
}  // namespace strop::tests
