// Each hostile model is imported in a process of its own that may use 10 s of CPU and 2 GiB of address space.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "errors/hostile.h"
#include "errors/limited_process.h"
#include "onnx/import.h"

namespace strop::tests {
namespace {

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

class ModelErrors : public ::testing::TestWithParam<HostileModel> {};

TEST_P(ModelErrors, AreRefusedWith) {
  const HostileModel& model = GetParam();
  const auto folder = std::filesystem::path(::testing::TempDir());
  EXPECT_EQ(outcome_in_child([&] { return import_outcome(model, folder); }), model.code + ": " + model.message);
}

std::string name_of(const ::testing::TestParamInfo<HostileModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Damaged, ModelErrors, ::testing::ValuesIn(damaged_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Illegal, ModelErrors, ::testing::ValuesIn(illegal_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Greedy, ModelErrors, ::testing::ValuesIn(greedy_models()), name_of);

}  // namespace
}  // namespace strop::tests
