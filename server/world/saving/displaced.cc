// Looks whether the file is still the one that was opened, and writes the state next to it if it is
// not.
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "server/world/saving/saver.h"

namespace muster {
namespace {

/// Interval between checks of the file, and interval between attempts to write the state next to
/// it.
constexpr auto looks_every = std::chrono::seconds(1), rescues_every = std::chrono::seconds(10);

}  // namespace

std::optional<Saver::Clock::time_point> Saver::next_look() const noexcept {
  if (file_.is_new() || !stopped_.empty() || rescued_) return std::nullopt;
  return next_look_;
}

void Saver::look_at_file(Clock::time_point now) {
  if (saving_ || !next_look() || now < next_look_) return;
  next_look_ = now + looks_every;
  // If writes are pending, the file is checked as part of them.
  if (file_.displaced() || !queue_.is_idle()) return rescue(now);
  if (merged_.load(std::memory_order_acquire)) end_merge();
  if (!file_.is_as_left()) queue_.add(0, [this] { (void)file_.still_there(); });
}

void Saver::rescue(Clock::time_point now) {
  const std::string* const what = file_.displaced();
  if (!what || rescued_ || (!displaced_.empty() && now < next_look_)) return;
  if (recorder_) recorder_->pause();
  wait_for_saving();
  queue_.drain();
  end_merge();
  CheckpointStamp stamp = host_.stamp();
  const std::vector<EditHistory::Saved> steps =
      host_.history ? host_.history->all() : std::vector<EditHistory::Saved>();
  stamp.steps = steps;
  const auto rescued = file_.rescue(stamp, [&](StateSink& sink) { registry_.save(sink); });
  rescued_ = rescued.has_value();
  next_look_ = Clock::now() + rescues_every;
  displaced_ = file_.path() + ": " + *what + ". Edits are refused. The world as it is now ";
  displaced_ += rescued ? "was saved as " + *rescued + ". " + file_.way_on(*rescued)
                        : "could not be saved beside it either: " + rescued.error().detail() + ". That is tried again";
  if (host_.fail) host_.fail(displaced_);
  // The next flush notifies all sessions that are waiting for durability.
  if (host_.wake) host_.wake();
}

}  // namespace muster
