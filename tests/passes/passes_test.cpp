/// Runs every text test of this folder: the pass turns the graph before into the graph after, changes nothing when it
/// runs again, keeps the names of the ONNX nodes, and does not change what the graph computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "ir/graph.h"
#include "passes/case_file.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

std::vector<std::filesystem::path> case_paths() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(STROP_PASS_CASES)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

CaseFile read_case(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  auto file = parse_case(text.str());
  EXPECT_TRUE(file.ok()) << path << ": " << file.error().message;
  return file.ok() ? *file : CaseFile();
}

std::shared_ptr<ir::Graph> parse_graph(const std::string& text) {
  auto graph = ir::parse_text(text, ops::builtin_operators());
  EXPECT_TRUE(graph.ok()) << graph.error().message << "\n" << text;
  return graph.ok() ? *graph : nullptr;
}

/// Every node gets a source of its own, as import gives them.
void name_sources(ir::Graph& graph, const std::string& prefix) {
  for (const ir::NodeId id : graph.order()) {
    ir::Node& node = graph.node(id);
    if (node.sources.empty()) node.sources = {fmt::format("{}{}", prefix, id)};
    for (const auto& region : node.regions) name_sources(*region, prefix + std::to_string(id) + "/");
  }
}

void expect_sources(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.order()) {
    EXPECT_FALSE(graph.node(id).sources.empty()) << "no source: " << ir::describe(graph, id);
    for (const auto& region : graph.node(id).regions) expect_sources(*region);
  }
}

std::vector<Stage> stages_of(const CaseFile& file) {
  Stage stage;
  stage.max_rounds = file.rounds;
  for (const std::string& name : file.passes) {
    const auto passes = all_passes();
    const auto found = std::find_if(passes.begin(), passes.end(), [&](const Pass* pass) { return pass->name == name; });
    EXPECT_NE(found, passes.end()) << "no pass '" << name << "'";
    if (found != passes.end()) stage.passes.push_back(*found);
  }
  return {stage};
}

/// Seeded inputs; symbols get different small values.
class Inputs {
 public:
  explicit Inputs(const CaseFile& file) : file_(file) {}

  std::vector<Value> make(const ir::Graph& graph) {
    std::vector<Value> values;
    for (const ir::Port& port : graph.inputs) values.push_back(make(graph.value(port.value).type));
    return values;
  }

 private:
  Value make(const Type& type) {
    EXPECT_TRUE(type.is_tensor() && type.tensor.has_rank()) << "inputs: none is for graphs with such inputs";
    const auto lookup = [&](const std::string& symbol) -> std::optional<int64_t> {
      return symbols_.try_emplace(symbol, 2 + static_cast<int64_t>(symbols_.size())).first->second;
    };
    std::vector<int64_t> dims;
    for (const Dim& dim : type.tensor.dims()) dims.push_back(*dim.evaluate(lookup));
    std::vector<double> numbers(static_cast<size_t>(element_count(dims)));
    std::normal_distribution<double> normal;
    for (double& number : numbers) {
      number = file_.positive ? std::uniform_real_distribution<double>(0.1, 2)(random_) : normal(random_);
    }
    if (is_float(type.tensor.dtype)) return store_f64(type.tensor.dtype, dims, numbers);
    std::vector<int64_t> integers;
    for (const double number : numbers) {
      integers.push_back(type.tensor.dtype == DType::Bool ? number > 0 : static_cast<int64_t>(std::abs(number) * 3));
    }
    return store_i64(type.tensor.dtype, dims, integers);
  }

  const CaseFile& file_;
  std::mt19937 random_{1};
  std::map<std::string, int64_t> symbols_;
};

void expect_equal(const Tensor& before, const Tensor& after, bool approximate) {
  ASSERT_EQ(to_string(before.type()), to_string(after.type()));
  if (before.dtype() == DType::String) {
    EXPECT_EQ(before.strings(), after.strings());
  } else if (!approximate || !is_float(before.dtype())) {
    EXPECT_EQ(std::memcmp(before.raw(), after.raw(), static_cast<size_t>(before.bytes())), 0);
  } else {
    const auto a = load_f64(before);
    const auto b = load_f64(after);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::max(1.0, std::abs(a[i]))) << i;
  }
}

class PassCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PassCase, TurnsBeforeIntoAfter) {
  const CaseFile file = read_case(GetParam());
  auto graph = parse_graph(file.before);
  auto expected = parse_graph(file.after);
  ASSERT_TRUE(graph && expected);
  name_sources(*graph, "node");
  const auto original = graph->clone();

  Route route{KnobList(pass_knobs())};
  const auto set = route.parse(file.knobs);
  ASSERT_TRUE(set.ok()) << set.error().message;
  SingleThread threads;
  const PassContext ctx{route, ops::builtin_operators(), threads};
  auto reports = run_passes(*graph, stages_of(file), ctx);
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  EXPECT_EQ(ir::to_text(*graph), ir::to_text(*expected));
  expect_sources(*graph);
  const bool changed = std::any_of(reports->begin(), reports->end(), [](const PassReport& r) { return r.changed; });
  EXPECT_EQ(changed, file.before != file.after);

  const std::string once = ir::to_text(*graph);
  auto again = run_passes(*graph, stages_of(file), ctx);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(ir::to_text(*graph), once) << "the pass changes its own result";

  if (!file.evaluated) return;
  const auto inputs = Inputs(file).make(*original);
  const auto before = ir::interpret(*original, inputs, threads);
  const auto after = ir::interpret(*graph, inputs, threads);
  ASSERT_TRUE(before.ok()) << before.error().message;
  ASSERT_TRUE(after.ok()) << after.error().message;
  for (size_t i = 0; i < before->size(); ++i) {
    SCOPED_TRACE(graph->outputs[i].name);
    expect_equal((*before)[i].tensor(), (*after)[i].tensor(), file.approximate);
  }
}

INSTANTIATE_TEST_SUITE_P(Text, PassCase, testing::ValuesIn(case_paths()), [](const auto& test) {
  std::string name = test.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(PassList, EveryPassHasATextTestAndASwitch) {
  std::set<std::string> tested;
  for (const auto& path : case_paths()) {
    for (const std::string& name : read_case(path).passes) tested.insert(name);
  }
  for (const Pass* pass : all_passes()) {
    EXPECT_TRUE(tested.contains(std::string(pass->name)))
        << "no text test of " << pass->name << " in " << STROP_PASS_CASES;
    ASSERT_NE(pass->enabled, nullptr) << pass->name;
    EXPECT_EQ(pass->enabled->info.name, fmt::format("passes.{}", pass->name));
  }
}

}  // namespace
}  // namespace strop::passes
