// Answers Play, StopPlaying, and GetRun. The world acts at the beginning of its next flush, so the
// answers to Play and StopPlaying come later than those to the questions that follow them.
#include <utility>

#include "registry/entity_registry.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

session::RunState state_of(const Asked& asked) {
  const WorldSide& world = asked.of().world;
  const std::optional<Run> run = world.run();
  session::RunState state;
  state.sequence = asked.registry.sequence();
  state.epoch = asked.of().desk.epoch();
  state.playing = run.has_value();
  state.level_sequence = run ? run->sequence : 0;
  state.level_tick = run ? run->tick : 0;
  return state;
}

void set_run(const Asked& asked, bool on) {
  asked.of().world.set_run(on, [asked](std::expected<void, std::string> done) {
    if (done) return asked.answer(state_of(asked));
    asked.fault(fault_of(session::FaultCode::refused, "no_run", std::move(done.error())));
  });
}

}  // namespace

void answer_once(const Asked& asked, const session::Play&, Steps&) { set_run(asked, true); }

void answer_once(const Asked& asked, const session::StopPlaying&, Steps&) { set_run(asked, false); }

void answer_once(const Asked& asked, const session::GetRun&, Steps&) { asked.answer(state_of(asked)); }

}  // namespace muster
