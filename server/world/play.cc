// Begins and ends runs. The level is a checkpoint whose rows stay in the file while the run is on,
// so whatever happens to the run, the file contains both.
//
//   play()           save, and keep the checkpoint        WorldFile, LevelAct::keep
//                    put the history of the level aside   EditHistory::begin_run
//   stop_playing()   read the kept rows into the registry WorldFile::load_level, RegistryHost::restore
//                    save, and drop the level             LevelAct::drop
//
// Both begin a new epoch. If the process dies before the second save is complete, the file still
// contains the run.
#include "server/world/world_impl.h"

namespace muster {

void World::Impl::begin_epoch(bool replaced) {
  epoch.store(random_id(), std::memory_order_release);
  saver.set_epoch(epoch.load(std::memory_order_relaxed));
  for (FlushVisitor* visitor : visitors) visitor->epoch_began(replaced);
}

std::expected<void, WorldError> World::Impl::play() {
  if (run) return std::unexpected(WorldError(WorldErrorCode::setup, file.path(), "a run is on already"));
  if (!stands.empty()) return std::unexpected(WorldError(WorldErrorCode::stopped, file.path(), stands));
  for (FlushVisitor* visitor : visitors) visitor->epoch_ends();
  Saver::LevelChange change{.act = LevelAct::keep, .run_steps = RunSteps{.first = registry.sequence() + 1}};
  for (const std::uint64_t number : last_run) change.also.push_back({.number = number, .bytes = {}});
  auto report = saver.save(change);
  begin_marking();
  if (!report) {
    begin_epoch(false);
    return std::unexpected(std::move(report.error()));
  }
  run = Run{.sequence = registry.sequence(), .tick = tick};
  run_steps = change.run_steps;
  last_run.clear();
  history.begin_run();
  level_pace = pacer.pace();
  (void)pacer.set({.speed = level_pace.speed}, Clock::now());
  begin_epoch(false);
  return {};
}

std::expected<void, WorldError> World::Impl::read_level() {
  return file.load_level([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.host().restore(source);
    if (!read) return std::unexpected(std::move(read.error()));
    return {};
  });
}

std::expected<void, WorldError> World::Impl::stop_playing() {
  if (!run) return std::unexpected(WorldError(WorldErrorCode::setup, file.path(), "no run is on"));
  saver.settle();
  if (auto read = read_level(); !read) return read;
  tick = run->tick;
  run.reset();
  run_steps->last = registry.sequence();
  Saver::LevelChange change{.act = LevelAct::drop, .run_steps = run_steps, .also = history.take_changes()};
  for (const EditHistory::Saved& step : history.all()) last_run.push_back(step.number);
  history.end_run();
  registry.host().set_edit_log(&history);
  if (!stands.empty()) {
    // The input before which the run stood is gone with the run.
    stands.clear();
    stands_before = 0;
    mark.forget();
    mark.forget_left_out();
  }
  mark.end(registry.sequence(), tick);
  (void)pacer.set({.speed = level_pace.speed, .paused = level_pace.paused}, Clock::now());
  auto report = saver.save(change);
  begin_epoch(true);
  if (report) return {};
  return std::unexpected(WorldError(report.error().code(), file.path(),
                                    "the world is the level again, but the file still contains the run: " +
                                        report.error().detail() + ". That is tried again"));
}

std::expected<void, WorldError> World::play() { return impl_->play(); }
std::expected<void, WorldError> World::stop_playing() { return impl_->stop_playing(); }
std::optional<Run> World::run() const noexcept { return impl_->run; }

}  // namespace muster
