// Saves a level when a run begins, and the state that replaces another one.
#include <iterator>
#include <utility>

#include "server/world/saving/saver.h"

namespace muster {

Saver::Report Saver::save_level(LevelChange change) {
  if (!stopped_.empty()) return std::unexpected(stopped_error());
  settle();
  // If the end of the run before could not be saved, that comes first.
  if (change_.act != LevelAct::none)
    if (Report ended = save_now(); !ended) return ended;
  change_ = std::move(change);
  Report report = save_now();
  change_ = {};
  return report;
}

void Saver::save_replaced(LevelChange change, std::function<void(Report)> then) {
  stopped_.clear();
  change_ = std::move(change);
  (void)begin(std::move(then), true);
}

void Saver::settle() {
  wait_for_saving();
  put_all();
}

void Saver::drain() {
  queue_.drain();
  end_merge();
}

void Saver::add_change(CheckpointStamp& stamp, std::vector<EditHistory::Saved>& steps) const {
  stamp.level = change_.act;
  stamp.run_steps = change_.run_steps;
  steps.insert(steps.end(), change_.also.begin(), change_.also.end());
}

void Saver::set_epoch(std::uint64_t epoch) {
  host_.epoch = epoch;
  if (recorder_) recorder_->set_epoch(epoch);
}

}  // namespace muster
