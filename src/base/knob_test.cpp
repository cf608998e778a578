#include "base/knob.h"

#include <gtest/gtest.h>

namespace strop {
namespace {

enum class Order { Depth, Breadth, Random };
constexpr std::string_view kOrders[] = {"depth", "breadth", "random"};
constexpr std::string_view kTiles[] = {"16", "32", "64"};
constexpr std::string_view kSources[] = {"own", "library"};

constexpr Knob<bool> kFuse{{.name = "passes.fuse_epilogues", .help = "fuse"}};
constexpr Knob<bool> kFast{{.name = "cpu.fast_math", .help = "f", .default_value = "off", .effect = Effect::Numerics}};
constexpr Knob<int64_t> kTile{{.name = "codegen.tile",
                               .help = "rows of a tile",
                               .default_value = "32",
                               .values = kTiles,
                               .when_knob = "passes.fuse_epilogues",
                               .when_value = "on",
                               .min = 1,
                               .max = 128}};
constexpr Knob<Order> kOrder{{.name = "plan.order", .help = "o", .default_value = "breadth", .values = kOrders}};
constexpr Knob<std::string_view> kSource{
    {.name = "tactics.source", .help = "s", .default_value = "own", .values = kSources}};
constexpr Knob<bool> kUnlisted{{.name = "test.unlisted", .help = "u"}};

KnobList knobs() { return KnobList({&kFuse.info, &kFast.info, &kTile.info, &kOrder.info, &kSource.info}); }

TEST(Knob, RoutesStartAtTheDefaults) {
  const Route route(knobs());
  EXPECT_EQ(route.get(kFuse), true);
  EXPECT_EQ(route.get(kFast), false);
  EXPECT_EQ(route.get(kTile), 32);
  EXPECT_EQ(route.get(kOrder), Order::Breadth);
  EXPECT_EQ(route.get(kSource), "own");
  EXPECT_TRUE(route.non_default().empty());
  EXPECT_EQ(route.to_string(), "");
  EXPECT_EQ(route.full_text(),
            "codegen.tile=32 cpu.fast_math=off passes.fuse_epilogues=on plan.order=breadth tactics.source=own");
}

TEST(Knob, ParseSetsWhatToStringWrites) {
  Route route(knobs());
  ASSERT_TRUE(route.parse(" tactics.source=library\t-plan.order=random codegen.tile=7 \n cpu.fast_math=off").ok());
  EXPECT_EQ(route.get(kTile), 7);  // any integer of the range, not only the values to try
  EXPECT_EQ(route.get(kOrder), Order::Random);
  EXPECT_EQ(route.get(kSource), "library");
  EXPECT_EQ(route.to_string(), "codegen.tile=7 plan.order=random tactics.source=library");
  EXPECT_EQ(route.non_default().size(), 3u);
  Route other(knobs());
  EXPECT_FALSE(other == route);
  ASSERT_TRUE(other.parse(route.to_string()).ok());
  EXPECT_TRUE(other == route);
  other.set_default("plan.order");
  EXPECT_EQ(other.get(kOrder), Order::Breadth);
}

TEST(Knob, ErrorsSayWhatIsLegalAndChangeNothing) {
  Route route(knobs());
  const auto message = [&](std::string_view text) {
    const auto result = route.parse(text);
    return result.ok() ? std::string("ok") : result.error().message;
  };
  EXPECT_EQ(message("passes.fuse_epilouges=on"),
            "unknown knob 'passes.fuse_epilouges'; did you mean 'passes.fuse_epilogues'?");
  EXPECT_EQ(message("x=1"), "unknown knob 'x'; 'strop knobs' lists them all");
  EXPECT_EQ(message("cpu.fast_math=true"), "knob 'cpu.fast_math' cannot be 'true'; it is on or off");
  EXPECT_EQ(message("plan.order=deep"), "knob 'plan.order' cannot be 'deep'; it is depth, breadth or random");
  for (const char* text : {"0", "129", "", "1x", "99999999999999999999", "-1", "1.5", "0x10"}) {
    EXPECT_EQ(message(fmt::format("codegen.tile={}", text)),
              fmt::format("knob 'codegen.tile' cannot be '{}'; it is an integer from 1 to 128", text));
  }
  EXPECT_EQ(message("plan.order"), "route: 'plan.order' is not of the form knob=value");
  EXPECT_EQ(message("codegen.tile=1 codegen.tile=2"), "route: knob 'codegen.tile' is given twice");
  EXPECT_EQ(message("codegen.tile@stage3/*=1"),
            "knob 'codegen.tile@stage3/*': a value for a part of the graph ('@stage3/*') is not supported; set "
            "'codegen.tile'");
  EXPECT_EQ(message("codegen.tile=5 plan.order=deep"),
            "knob 'plan.order' cannot be 'deep'; it is depth, breadth or random");
  EXPECT_EQ(route.to_string(), "");  // not even the tokens before the wrong one
}

TEST(Knob, ReadingAnUnlistedKnobIsABug) {
  const Route route(knobs());
  EXPECT_THROW(route.get(kUnlisted), Bug);
  static constexpr Knob<bool> kImpostor{{.name = "cpu.fast_math", .help = "same name, another knob"}};
  EXPECT_THROW(route.get(kImpostor), Bug);
}

TEST(Knob, ListsAreChecked) {
  EXPECT_THROW(KnobList({&kFuse.info, &kFuse.info}), Bug);
  EXPECT_THROW(KnobList({&kTile.info}), Bug);  // its condition names a knob that is not there
  EXPECT_EQ(knobs().all().size(), 5u);
  EXPECT_EQ(knobs().all()[0]->name, "codegen.tile");
  EXPECT_EQ(KnobList().all().size(), 0u);
}

TEST(Knob, ConditionsTellWhetherAKnobMatters) {
  Route route(knobs());
  EXPECT_TRUE(route.is_active(kTile.info));
  ASSERT_TRUE(route.parse("passes.fuse_epilogues=off").ok());
  EXPECT_FALSE(route.is_active(kTile.info));
  EXPECT_TRUE(route.check_conditions().ok());
  ASSERT_TRUE(route.parse("codegen.tile=64").ok());
  EXPECT_EQ(route.check_conditions().error().message,
            "knob 'codegen.tile=64' has no effect unless passes.fuse_epilogues=on");
}

TEST(Knob, DescribesItself) {
  EXPECT_EQ(kFuse.info.type, KnobType::Bool);
  EXPECT_EQ(std::vector<std::string_view>(kFuse.info.values.begin(), kFuse.info.values.end()),
            (std::vector<std::string_view>{"on", "off"}));
  EXPECT_EQ(to_string(kTile.info.type), "int");
  EXPECT_EQ(to_string(kOrder.info.type), "choice");
  EXPECT_EQ(to_string(kFast.info.effect), "numerics");
}

}  // namespace
}  // namespace strop
