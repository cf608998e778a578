#include "passes/case_file.h"

#include <sstream>

#include "base/text.h"

namespace strop::passes {

namespace {

Result<void> parse_setting(std::string_view line, CaseFile& file) {
  const size_t colon = line.find(':');
  const std::string_view name = trim(line.substr(0, colon));
  const std::string_view value = colon == std::string_view::npos ? "" : trim(line.substr(colon + 1));
  if (name == "pass") {
    for (const std::string_view word : split_words(value)) file.passes.emplace_back(word);
  } else if (name == "knobs") {
    file.knobs = value;
  } else if (name == "rounds") {
    file.rounds = std::stoi(std::string(value));
  } else if (name == "numerics" && value == "approximate") {
    file.approximate = true;
  } else if (name == "inputs" && value == "positive") {
    file.positive = true;
  } else if (name == "inputs" && value == "none") {
    file.evaluated = false;
  } else {
    return error(ErrorCode::InvalidArgument, "'{}' is not understood", line);
  }
  return {};
}

}  // namespace

Result<CaseFile> parse_case(const std::string& text) {
  CaseFile file;
  std::string* part = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "--- before") {
      part = &file.before;
    } else if (line == "--- after") {
      part = &file.after;
    } else if (part) {
      *part += line + "\n";
    } else if (!trim(line).empty() && line[0] != '#') {
      STROP_TRY(parse_setting(line, file));
    }
  }
  if (file.passes.empty() || file.before.empty()) return error(ErrorCode::InvalidArgument, "no pass, or no graph");
  if (file.after.empty()) file.after = file.before;
  return file;
}

}  // namespace strop::passes
