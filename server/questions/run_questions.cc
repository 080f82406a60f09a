// Answers Play, StopPlaying, GetRun, GetRunEdits, Keep, GetPast, and Restore. The world acts at the
// beginning of its next flush, so the answers to Play, StopPlaying, and Restore come later than
// those to the questions that follow them.
#include <utility>

#include "registry/entity_registry.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"
#include "server/questions/seldom_work.h"

namespace muster {
namespace {

/// Limit on the number of sentences in an answer.
constexpr std::size_t lines_max = 100;

session::RunState state_of(const Asked& asked) {
  const WorldSide& world = asked.of().world;
  const std::optional<Run> run = world.run();
  session::RunState state;
  state.sequence = asked.registry.sequence();
  state.epoch = asked.of().desk.epoch();
  state.playing = run.has_value();
  state.level_sequence = run ? run->sequence : 0;
  state.level_tick = run ? run->tick : 0;
  // What was kept may concern anything.
  const bool tells_kept = !run && !asked.sight;
  for (const KeepReport& report : tells_kept ? world.kept() : std::vector<KeepReport>()) {
    state.kept += report.messages;
    state.nil_references += report.nil_references;
    for (const std::string& why : report.skipped)
      if (state.not_kept.size() < lines_max) state.not_kept.push_back(why);
  }
  return state;
}

void set_run(const Asked& asked, bool on) {
  asked.of().world.set_run(on, [asked, on](std::expected<void, std::string> done) {
    if (done) return asked.answer(state_of(asked));
    const bool is_on = asked.of().world.run().has_value();
    asked.fault(
        fault_of(session::FaultCode::refused, "no_run",
                 done.error() + (on == is_on ? on ? ": `muster stop` ends it" : ": `muster play` begins one" : "")));
  });
}

void keep(const Asked& asked, const session::Keep& what) {
  WorldSide& world = asked.of().world;
  if (const std::string* const error = world.recording_error()) return asked.fault(not_recorded_fault(*error));
  if (asked.epoch != asked.of().desk.epoch()) return asked.fault(epoch_over_fault());
  KeepSelection selection{.all = what.all, .steps = what.steps};
  for (std::size_t i = 0; i < what.entities.size(); ++i)
    selection.places.push_back({.entity = what.entities[i],
                                .component = i < what.components.size() ? what.components[i] : 0,
                                .field = i < what.fields.size() ? what.fields[i] : 0,
                                .name = i < what.names.size() ? what.names[i] : std::string()});
  const Session& from = asked.to();
  auto done = world.keep(selection, {.session = from.number, .user = from.user, .request = asked.request});
  if (!done) return asked.fault(fault_of(session::FaultCode::refused, "not_kept", std::move(done.error())));
  session::Kept kept;
  kept.marked = done->marked;
  kept.sequence = done->sequence;
  kept.messages = done->messages;
  kept.created = done->created;
  kept.nil_references = done->nil_references;
  kept.skipped = std::move(done->skipped);
  if (kept.skipped.size() > lines_max) kept.skipped.resize(lines_max);
  asked.answer(kept);
  ++from.seat()->edits;
  world.wake();  // watches have yet to be told
}

}  // namespace

void answer_once(const Asked& asked, const session::GetRunEdits& what, Steps& steps) {
  const std::uint32_t rows = rows_allowed(what.limit, asked.limits);
  steps.spend(rows);
  const WorldSide& world = asked.of().world;
  session::RunEdits page;
  page.sequence = asked.registry.sequence();
  page.playing = world.run().has_value();
  std::size_t bytes = 0;
  for (RunEdit& edit : world.run_edits(what.offset, rows)) {
    if (bytes >= asked.limits.page_bytes_max) break;
    bytes += 32 + edit.what.size();
    page.steps.push_back(edit.step);
    page.users.push_back(edit.user);
    page.whats.push_back(std::move(edit.what));
    page.marked.push_back(edit.marked ? 1 : 0);
  }
  asked.answer(page);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Keep& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] { keep(asked, what); });
}

void answer_once(const Asked& asked, const session::Play&, Steps&) { set_run(asked, true); }

void answer_once(const Asked& asked, const session::StopPlaying&, Steps&) { set_run(asked, false); }

void answer_once(const Asked& asked, const session::GetRun&, Steps&) { asked.answer(state_of(asked)); }

void answer_once(const Asked& asked, const session::GetPast& what, Steps& steps) {
  const std::uint32_t rows = rows_allowed(what.limit, asked.limits);
  steps.spend(rows);
  auto all = asked.of().world.past();
  if (!all) return asked.fault(fault_of(session::FaultCode::refused, "not_restored", std::move(all.error())));
  session::Past page;
  page.sequence = asked.registry.sequence();
  page.tick = asked.of().world.tick();
  for (std::size_t i = what.offset; i < all->size() && page.ticks.size() < rows; ++i) {
    KeptPast& past = (*all)[all->size() - 1 - i];
    page.saved.push_back(std::move(past.saved));
    page.ticks.push_back(past.tick);
    page.last_ticks.push_back(past.last_tick);
  }
  asked.answer(page);
}

void answer_once(const Asked& asked, const session::Restore& what, Steps&) {
  RestoreTarget target{.time = what.time};
  if (what.time.empty()) target.tick = what.tick;
  asked.of().world.restore(target, [asked](std::expected<Restored, std::string> done) {
    if (!done) return asked.fault(fault_of(session::FaultCode::refused, "not_restored", std::move(done.error())));
    session::Restored restored;
    restored.sequence = asked.registry.sequence();
    restored.epoch = asked.of().desk.epoch();
    restored.tick = done->tick;
    restored.saved = std::move(done->saved);
    restored.inputs = done->inputs;
    asked.answer(restored);
  });
}

}  // namespace muster
