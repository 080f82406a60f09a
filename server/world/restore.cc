// Returns to past states. The file contains them as checkpoints whose rows are kept, and the inputs
// after each of them.
//
//   restore()   save, so that the present becomes a past state too
//               find the checkpoint, and the input before which to stop     Store::past
//               read its rows, and do the inputs again                      Recovery
//               begin to save                                               LevelAct::replace
//
// If the process dies before the second save is complete, the file still contains the present.
#include <cstring>
#include <ranges>

#include "registry/moments/moments.h"
#include "server/world/journal/journal_format.h"
#include "server/world/world_impl.h"

namespace muster {
namespace {

/// Returns the sequence number of the input that begins `tick`, or 0 if the group does not contain
/// its record.
std::uint64_t beginning_of(const JournalGroup& group, std::uint64_t tick) {
  if (tick < group.first_tick || tick > group.last_tick) return 0;
  std::size_t at = 0;
  while (at + sizeof(journal_format::TickRecord) <= group.records.size()) {
    journal_format::TickRecord record;
    std::memcpy(&record, group.records.data() + at, sizeof record);
    if (record.kind == journal_format::kind_tick && record.tick == tick) return record.sequence;
    if (record.bytes < sizeof record) return 0;
    at += record.bytes;
  }
  return 0;
}

std::string text_of(const FilePast& past) {
  const std::string from = std::to_string(past.point.tick);
  return (past.last_tick == past.point.tick ? "tick " + from
                                            : "ticks " + from + " to " + std::to_string(past.last_tick)) +
         ", saved at " + past.point.saved;
}

/// Says which states are kept, if the wanted one is not.
std::string text_of(const std::vector<FilePast>& all, const std::optional<std::uint64_t>& tick) {
  std::string text = "The oldest kept state: " + text_of(all.front());
  const auto newest_first = all | std::views::reverse;
  const auto before =
      std::ranges::find_if(newest_first, [&](const FilePast& past) { return tick && past.last_tick < *tick; });
  if (before != newest_first.end() && &*before != &all.front()) text += "; the nearest before it: " + text_of(*before);
  return text;
}

}  // namespace

std::expected<std::vector<FilePast>, WorldError> World::Impl::kept_past() {
  saver.settle();
  saver.drain();
  return file->past();
}

std::expected<World::Impl::RestorePlan, WorldError> World::Impl::plan_restore(const RestoreTarget& target,
                                                                              std::uint64_t checkpoint) {
  const auto fail = [&](std::string why) {
    return std::unexpected(WorldError(WorldErrorCode::setup, file->path(), std::move(why)));
  };
  auto all = kept_past();
  if (!all) return std::unexpected(std::move(all.error()));
  if (all->empty()) return fail("the world has not been saved yet");
  RestorePlan plan{.from = {}, .present = all->back()};
  const auto newest_first = *all | std::views::reverse;
  const auto found = std::ranges::find_if(newest_first, [&](const FilePast& past) {
    return target.tick       ? past.point.tick <= *target.tick && *target.tick <= past.last_tick
           : checkpoint != 0 ? past.point.checkpoint == checkpoint
                             : past.point.saved <= target.time;
  });
  if (found == newest_first.end())
    return fail((target.tick ? "tick " + std::to_string(*target.tick) : target.time) + " is not kept. " +
                text_of(*all, target.tick));
  plan.from = *found;
  if (!target.tick) {
    plan.stop_before = plan.from.point.sequence + 1;
  } else {
    std::uint64_t other_code = 0;  // the first input that cannot be done again
    const std::string code = code_identity(options.code, registry);
    auto read = file->past_journal(plan.from, [&](const JournalGroup& group) -> std::expected<bool, std::string> {
      const bool is_other = group.code != code || group.types != registry.types().fingerprint();
      if (is_other && other_code == 0) other_code = group.first;
      plan.stop_before = beginning_of(group, *target.tick + 1);
      return plan.stop_before == 0;
    });
    if (!read) return std::unexpected(std::move(read.error()));
    if (other_code != 0 && (plan.stop_before == 0 || other_code < plan.stop_before))
      return fail("tick " + std::to_string(*target.tick) +
                  " cannot be made again, because inputs before it were recorded with other code or types. The "
                  "nearest earlier save can be restored: tick " +
                  std::to_string(plan.from.point.tick) + ", by its time " + plan.from.point.saved);
  }
  if (plan.from.point.checkpoint == plan.present.point.checkpoint &&
      (plan.stop_before == 0 || plan.stop_before > registry.sequence()))
    return fail("the world is in that state already");
  // A damaged row must be found before the registry is changed.
  auto whole = file->load_past(plan.from, [](StateSource&) -> std::expected<void, StateError> { return {}; });
  if (!whole) return std::unexpected(std::move(whole.error()));
  return plan;
}

std::expected<std::uint64_t, WorldError> World::Impl::make_past(const RestorePlan& plan) {
  auto loaded = file->load_past(plan.from, [&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.load(source);
    if (!read) return std::unexpected(std::move(read.error()));
    return {};
  });
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  tick = plan.from.point.tick;
  if (plan.stop_before == plan.from.point.sequence + 1) return 0;
  // The replayed edits are steps already. A log must be there, because edits park the ids of what
  // they destroy.
  EditHistory unused(registry, options.history_bytes);
  Recovery journal(registry, {.code = options.code, .tick = tick, .stop_before = plan.stop_before});
  auto read = file->past_journal(plan.from, [&](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (auto taken = journal.take(group); !taken) return std::unexpected(std::move(taken.error()));
    return !journal.has_stopped();
  });
  if (!read) return std::unexpected(std::move(read.error()));
  if (!journal.report().exact())
    return std::unexpected(WorldError(WorldErrorCode::setup, file->path(), journal.report().text()));
  tick = journal.tick();
  return journal.report().inputs;
}

std::expected<Restored, WorldError> World::Impl::restore(const RestoreTarget& target) {
  if (run)
    return std::unexpected(WorldError(WorldErrorCode::setup, file->path(), "a run is on: `muster stop` ends it"));
  if (!stands.empty()) return std::unexpected(WorldError(WorldErrorCode::stopped, file->path(), stands));
  // A request that cannot be met must not end the epoch.
  const auto early = plan_restore(target);
  if (!early) return std::unexpected(early.error());
  for (FlushVisitor* visitor : visitors) visitor->epoch_ends();
  file->keep_current();
  if (auto saved = saver.save(); !saved) {
    begin_epoch(false);
    return std::unexpected(std::move(saved.error()));
  }
  begin_marking();
  auto plan = plan_restore(target, early->from.point.checkpoint);
  if (!plan) {
    begin_epoch(false);
    return std::unexpected(std::move(plan.error()));
  }
  saver.settle();
  saver.drain();
  saver.pause_recording();
  const std::uint64_t sequence = registry.sequence(), tick_before = tick;
  std::uint64_t restored_sequence = 0;
  std::expected<std::uint64_t, WorldError> made = 0;
  {
    const QuietInputs quiet(registry);
    made = make_past(*plan);
    restored_sequence = registry.sequence();
    if (!made) {
      const RestorePlan back{.from = plan->present, .present = {}, .stop_before = plan->present.point.sequence + 1};
      if (auto again = make_past(back); !again) made = std::unexpected(std::move(again.error()));
      tick = tick_before;
    }
  }
  registry.host().set_edit_log(&history);
  registry.host().raise_sequence(sequence);
  if (!made) {
    (void)saver.save();  // records again
    begin_epoch(true);
    return std::unexpected(std::move(made.error()));
  }
  set_bounds();
  history.keep_until(restored_sequence);
  left_grants = registry.host().left_grants();
  mark.end(registry.sequence(), tick);
  (void)pacer.set({.speed = pacer.pace().speed, .paused = pacer.pace().paused}, Clock::now());
  saver.save_replaced({.act = LevelAct::replace}, [this](const Saver::Report& report) {
    if (!report && options.on_warning)
      options.on_warning("an earlier state was restored, but the file still contains the later one: " +
                         report.error().detail() + ". That is tried again");
  });
  begin_epoch(true);
  return Restored{
      .tick = tick, .checkpoint = plan->from.point.checkpoint, .saved = plan->from.point.saved, .inputs = *made};
}

std::expected<std::vector<KeptPast>, WorldError> World::past() {
  auto kept = impl_->kept_past();
  if (!kept) return std::unexpected(std::move(kept.error()));
  std::vector<KeptPast> all;
  for (const FilePast& past : *kept)
    all.push_back({.checkpoint = past.point.checkpoint,
                   .saved = past.point.saved,
                   .tick = past.point.tick,
                   .last_tick = past.last_tick});
  return all;
}
std::expected<Restored, WorldError> World::restore(const RestoreTarget& target) { return impl_->restore(target); }

}  // namespace muster
