#include "select/choose.h"

namespace strop::select {
namespace {

bool is_library(const tactics::Tactic& tactic) { return tactic.name.ends_with(".onednn"); }

std::optional<std::string> refusal(const tactics::Tactic& tactic, const tactics::Problem& problem, Sources sources) {
  if (sources == Sources::Reference) return "switched off by tactics.sources=reference";
  if (sources == Sources::Own && is_library(tactic)) return "switched off by tactics.sources=own";
  return tactic.why_not(problem);
}

}  // namespace

std::vector<const KnobInfo*> knobs() { return {&kSources.info}; }

Choice choose(const tactics::Problem& problem, const tactics::TacticList& tactics, const Route& route) {
  const Sources sources = route.get(kSources);
  Choice choice;
  double best = 0;
  int applicable = 0;
  for (const tactics::Tactic* tactic : tactics.for_op(problem.op->name, tactics::DeviceKind::Cpu)) {
    plan::Candidate candidate{std::string(tactic->name), "", {}, {}, ""};
    if (auto reason = refusal(*tactic, problem, sources)) {
      candidate.refused = std::move(*reason);
    } else {
      const double rank = tactic->rank(problem);
      const tactics::Config config = tactic->configs(problem).front();
      candidate.config = config.to_string();
      ++applicable;
      if (!choice.tactic || rank < best) {
        choice.tactic = tactic;
        choice.config = config;
        best = rank;
      }
    }
    choice.candidates.push_back(std::move(candidate));
  }
  choice.candidates.push_back({tactics::reference_tactic_name(problem.op->name), "", {}, {}, ""});
  if (!choice.tactic) {
    choice.why = "no other tactic applies";
  } else if (applicable == 1) {
    choice.why = "the only one that applies besides the reference";
  } else {
    choice.why = fmt::format("lowest expected cost of {} that apply; nothing was measured", applicable);
  }
  return choice;
}

}  // namespace strop::select
