// strop knobs [NAME]
#include <memory>

#include "commands.h"
#include "options.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  std::string name;
};

std::vector<KnobDescription> wanted(const std::string& name) {
  std::vector<KnobDescription> all = knobs();
  if (name.empty()) return all;
  std::vector<std::string> names;
  for (const KnobDescription& knob : all) {
    if (knob.name == name) return {knob};
    names.push_back(knob.name);
  }
  refuse("there is no knob '{}'{}", name, did_you_mean(name, names));
}

std::string values_text(const KnobDescription& knob) {
  std::string text;
  for (const std::string& value : knob.values) text += (text.empty() ? "" : "|") + value;
  return text;
}

int run(const Options& options) {
  const std::vector<KnobDescription> list = wanted(options.name);
  if (options.common.json) {
    Json document = Json::array();
    for (const KnobDescription& knob : list) {
      document.push_back({{"name", knob.name},
                          {"help", knob.help},
                          {"values", knob.values},
                          {"default", knob.default_value},
                          {"effect", knob.effect},
                          {"when", knob.when}});
    }
    print_json(document);
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  for (const KnobDescription& knob : list)
    rows.push_back({knob.name, values_text(knob), knob.default_value, knob.effect, knob.help});
  print_table({"knob", "values", "default", "effect", "what it does"}, rows);
  return 0;
}

}  // namespace

void add_knobs(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("knobs", "List the decisions that --route can turn");
  command.add_option("NAME", options->name, "Just this one");
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
