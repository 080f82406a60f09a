// Begins and ends runs. The level is a checkpoint whose rows stay in the file while the run is on,
// so whatever happens to the run, the file contains both.
//
//   play()           save, and keep the checkpoint        Store, LevelAct::keep
//                    put the history of the level aside   EditHistory::begin_run
//                    keep copies of what changes          Moments
//   stop_playing()   return in place or, if that is not   Moments::return_to
//                    possible, read the kept rows         Store::load_level, RegistryHost::restore
//                    begin to save, and drop the level    LevelAct::drop
//
// Both begin a new epoch. If the process dies before the second save is complete, the file still
// contains the run.
#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "server/world/world_impl.h"

namespace muster {

void World::Impl::begin_epoch(bool replaced) {
  epoch.store(random_id(), std::memory_order_release);
  saver.set_epoch(epoch.load(std::memory_order_relaxed));
  for (FlushVisitor* visitor : visitors) visitor->epoch_began(replaced);
}

std::expected<void, WorldError> World::Impl::play() {
  if (run) return std::unexpected(WorldError(WorldErrorCode::setup, file->path(), "a run is on already"));
  if (!stands.empty()) return std::unexpected(WorldError(WorldErrorCode::stopped, file->path(), stands));
  for (FlushVisitor* visitor : visitors) visitor->epoch_ends();
  Saver::LevelChange change{.act = LevelAct::keep, .run_steps = RunSteps{.first = registry.sequence() + 1}};
  for (const std::uint64_t number : last_run.numbers()) change.also.push_back({.number = number, .bytes = {}});
  auto report = saver.save_level(std::move(change));
  begin_marking();
  if (!report) {
    begin_epoch(false);
    return std::unexpected(std::move(report.error()));
  }
  run = Run{.sequence = registry.sequence(), .tick = tick};
  run_steps = RunSteps{.first = registry.sequence() + 1};
  last_run.load({});
  copies.emplace(registry, options.level_bytes_max);
  if (auto moment = copies->keep())
    level_moment = *moment;
  else
    copies.reset();
  history.begin_run();
  level_pace = pacer.pace();
  (void)pacer.set({.speed = level_pace.speed}, Clock::now());
  begin_epoch(false);
  return {};
}

std::expected<void, WorldError> World::Impl::return_to_level() {
  const std::uint64_t sequence = registry.sequence();
  const bool returned = copies && copies->return_to(level_moment);
  copies.reset();
  if (returned) {
    registry.host().raise_sequence(sequence);
    return {};
  }
  saver.drain();
  return file->load_level([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.host().restore(source);
    if (!read) return std::unexpected(std::move(read.error()));
    return {};
  });
}

std::expected<void, WorldError> World::Impl::stop_playing() {
  if (!run) return std::unexpected(WorldError(WorldErrorCode::setup, file->path(), "no run is on"));
  saver.settle();
  const std::vector<EditHistory::Saved> edits = history.all();
  if (auto returned = return_to_level(); !returned) return returned;
  // The world has just been opened, and these are the grants that the run left.
  if (!left_grants.empty()) left_grants = registry.host().left_grants();
  // What is kept is part of the level that is saved below, and not of the run's journal.
  saver.pause_recording();
  set_bounds();
  tick = run->tick;
  run.reset();
  run_steps->last = registry.sequence();
  Saver::LevelChange change{.act = LevelAct::drop, .run_steps = run_steps, .also = history.take_changes()};
  history.end_run();
  last_run.load(edits);
  last_run.ended();
  registry.host().set_edit_log(&history);
  if (!stands.empty()) {
    // The input before which the run stood is gone with the run.
    stands.clear();
    stands_before = 0;
    mark.forget();
    mark.forget_left_out();
  }
  kept.clear();
  for (const RunHistory::Mark& each : last_run.marks()) {
    auto done = apply_kept(each.selection, each.by);
    if (!done) done = KeepReport{.skipped = {"what user " + std::to_string(each.by.user) + " marked: " + done.error()}};
    kept.push_back(std::move(*done));
  }
  history.also_save(last_run.take_changes());
  mark.end(registry.sequence(), tick);
  (void)pacer.set({.speed = level_pace.speed, .paused = level_pace.paused}, Clock::now());
  saver.save_replaced(std::move(change), [this](const Saver::Report& report) {
    if (!report && options.on_warning)
      options.on_warning("the world is the level again, but the file still contains the run: " +
                         report.error().detail() + ". That is tried again");
  });
  begin_epoch(true);
  return {};
}

std::expected<KeepReport, std::string> World::Impl::keep(const KeepSelection& selection, Sender by) {
  if (by.session == 0) by.session = epoch.load(std::memory_order_relaxed);
  if (!run) return apply_kept(selection, by);
  KeepSelection found = selection;
  if (std::string why = history.find_run_edits(found); !why.empty()) return std::unexpected(std::move(why));
  BatchBuilder batch;
  batch.append_table(TypeTraits<KeepEdits>::id, {}, encode(history::message_of(found)));
  return KeepReport{.marked = true, .sequence = registry.host().push_batch(batch.bytes(), by).sequence};
}

std::expected<KeepReport, std::string> World::Impl::apply_kept(const KeepSelection& selection, const Sender& by) {
  auto selected = last_run.kept(selection, by.session);
  if (!selected) return std::unexpected(std::move(selected.error()));
  KeptEdits& edits = *selected;
  if (edits.messages == 0)
    return std::unexpected(edits.skipped.empty() ? "these edits were kept already" : edits.skipped.front());
  const std::uint64_t before = history.version(by.user);
  const muster::Step step{.batches = step_bytes(edits.batches), .label = "keep edits of the run"};
  BatchBuilder batch;
  batch.append_table(TypeTraits<muster::Step>::id, {}, encode(step));
  const Receipt receipt = registry.host().push_batch(batch.bytes(), by);
  if (receipt.refused != 0) {
    for (const auto& [in_run, in_level] : edits.created) registry.host().return_grant(in_level, 1);
    return std::unexpected("nothing was kept, because the level refuses one of the edits now: " +
                           std::string(name(receipt.refusal.code)) + ". Keep the others by their steps");
  }
  if (history.version(by.user) == before)
    return std::unexpected(std::string("the level is so already, so nothing was kept"));
  last_run.applied(edits);
  history.also_save(last_run.take_changes());
  return KeepReport{.sequence = receipt.sequence,
                    .messages = edits.messages,
                    .created = static_cast<std::uint32_t>(edits.created.size()),
                    .nil_references = edits.nil_references,
                    .skipped = std::move(edits.skipped)};
}

std::expected<KeepReport, std::string> World::keep(const KeepSelection& selection, const Sender& by) {
  return impl_->keep(selection, by);
}
std::vector<RunEdit> World::run_edits(std::uint32_t offset, std::uint32_t limit) const {
  return impl_->run ? impl_->history.run_edits(offset, limit) : impl_->last_run.list(offset, limit);
}
std::vector<KeepReport> World::kept() const { return impl_->kept; }
std::expected<void, WorldError> World::play() { return impl_->play(); }
std::expected<void, WorldError> World::stop_playing() { return impl_->stop_playing(); }
std::optional<Run> World::run() const noexcept { return impl_->run; }

}  // namespace muster
