// strop: compile trained models into engines, run, time and prove them.
#include <cstdio>
#include <exception>
#include <span>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "strop/strop.h"

namespace strop::tool {
namespace {

constexpr int kUsage = 2;
constexpr int kNotThere = 3;  // the call is right: this build lacks it

/// Commands of the contract that are not there yet.
struct Planned {
  const char* name;
  const char* what;
};
constexpr Planned kPlanned[] = {{"tune", "search build routes"},
                                {"bisect", "find the first step whose answer is wrong"},
                                {"calibrate", "find activation ranges for int8"},
                                {"exec", "the flags of trtexec"}};

std::string planned_names(const std::string& but = "") {
  std::string names;
  for (const Planned& command : kPlanned) {
    if (command.name != but) names += fmt::format("{}{}", names.empty() ? "" : ", ", command.name);
  }
  return names;
}

/// A command that nobody mistyped, and that this version cannot do.
void check_planned(const std::string& word) {
  for (const Planned& command : kPlanned) {
    if (word != command.name) continue;
    throw Failure{{ErrorCode::Unsupported, fmt::format("strop {} ({}) is not there yet in version {}; nor are {}",
                                                       command.name, command.what, version(), planned_names(word))},
                  kNotThere};
  }
}

std::vector<std::string> command_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The long options of a command, hidden ones left out.
std::vector<std::string> option_names(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (!option->get_group().empty()) names.push_back("--" + name);
    }
  }
  return names;
}

/// Unknown words are refused here rather than by CLI11, so that the message names the nearest known one. `path` is how
/// the command was called: "strop", "strop cache".
void check_words(CLI::App& app, std::span<const std::string> words, const std::string& path) {
  if (words.empty() || words[0].starts_with('-')) return;
  const std::vector<std::string> commands = command_names(app);
  if (path == "strop") check_planned(words[0]);
  if (std::find(commands.begin(), commands.end(), words[0]) == commands.end()) {
    refuse("there is no command '{}'{} ({} --help lists them)", words[0], did_you_mean(words[0], commands), path);
  }
  CLI::App& command = *app.get_subcommand(words[0]);
  const std::string called = path + " " + words[0];
  if (!command.get_subcommands([](CLI::App*) { return true; }).empty())
    return check_words(command, words.subspan(1), called);
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::string name = words[i].substr(0, words[i].find('='));
    if (command.get_option_no_throw(name) != nullptr) continue;
    refuse("{} has no option {}{} ({} --help lists them)", called.substr(called.find(' ') + 1), name,
           did_you_mean(name, option_names(command)), called);
  }
}

int report(const Error& error, bool json, std::optional<int> status = {}) {
  say(fmt::format("error: {}", error.message));
  if (json) print_json({{"error", {{"code", to_string(error.code)}, {"message", error.message}}}});
  return status.value_or(exit_code(error.code));
}

void add_commands(CLI::App& app, Job& job) {
  add_build(app, job);
  add_run(app, job);
  add_bench(app, job);
  add_verify(app, job);
  add_inspect(app, job);
  add_knobs(app, job);
  add_conformance(app, job);
  add_cache(app, job);
  add_doctor(app, job);
}

int run(const std::vector<std::string>& words) {
  CLI::App app("Compiles ONNX models into fast, verified engines.", "strop");
  app.set_version_flag("--version", std::string("strop ") + version());
  app.require_subcommand(1);
  app.footer("Not there yet: " + planned_names());
  Job job;
  add_commands(app, job);
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  try {
    check_words(app, words, "strop");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them backwards
    return job();
  } catch (const CLI::Success& asked) {
    return app.exit(asked);  // --help, --version
  } catch (const CLI::ParseError& wrong) {
    if (words.empty()) {
      std::fputs(app.help().c_str(), stderr);
      return kUsage;
    }
    return report({ErrorCode::InvalidArgument, wrong.what()}, json);
  } catch (const Failure& failure) {
    return report(failure.error, json, failure.status);
  } catch (const std::bad_alloc&) {
    return report({ErrorCode::OutOfMemory, "not enough memory"}, json);
  } catch (const std::exception& other) {
    return report({ErrorCode::Internal, std::string("this is a bug of Strop, please report it: ") + other.what()},
                  json);
  }
}

}  // namespace
}  // namespace strop::tool

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): no memory for the arguments
  strop::tool::block_interrupts();
  return strop::tool::run(std::vector<std::string>(argv + 1, argv + argc));
}
