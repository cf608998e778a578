// Engine files that were written by earlier versions keep loading, and give what they gave.
#include <gtest/gtest.h>

#include "kernels/cpu_target.h"
#include "strop/strop.h"

namespace strop {
namespace {

TEST(OldEngines, FormatOne) {
  const std::string path = STROP_ENGINE_DATA "/format_1.strop";
  // It was made by another build, which is worth a warning and no more.
  const auto engine = Engine::load(path, Runtime({.threads = 1, .log = [](LogLevel, std::string_view) {}}));
  if (kernels::best_cpu_target() == kernels::CpuTarget::Portable) {
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().message,
              "engine '" + path + "' needs avx2, this CPU offers portable: build it again here");
    return;
  }
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_EQ(engine->plan_digest(), "ec3ae4fed87aa71320aa0b1ff70dfba35d2f1a65d1f3c7ab623d85fee4e88f4f");
  EXPECT_EQ(engine->file_digest(), "2dba46dec81d6e9d80273c3c88a6c148a7992a1451ba611406f255b34a29cd70");
  ASSERT_EQ(engine->inputs().size(), 1U);
  EXPECT_EQ(engine->inputs()[0].name, "x");
  EXPECT_EQ(engine->inputs()[0].shape, (std::vector<std::string>{"n", "2"}));
  auto context = engine->context();
  ASSERT_TRUE(context.ok());
  HostTensor x(DType::F32, {3, 2});
  const std::vector<float> values = {1, 2, -1, 1, 0, 0};
  std::copy(values.begin(), values.end(), x.data<float>());
  ASSERT_TRUE(context->bind("x", x).ok());
  const auto ran = context->run();
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const auto y = context->output("y");
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(y->shape, (std::vector<int64_t>{3, 3}));
  const auto* data = static_cast<const float*>(y->data);
  // relu of 1+8+0.5, -2-10, 3+12-1; of -1+4+0.5, 2-5, -3+6-1; of the bias.
  EXPECT_EQ(std::vector<float>(data, data + 9), (std::vector<float>{9.5F, 0, 14, 3.5F, 0, 2, 0.5F, 0, 0}));
}

}  // namespace
}  // namespace strop
