#include "server/watches/turn_order.h"

#include <algorithm>
#include <utility>

namespace muster {

void TurnOrder::opened(const Session& session) { ++lines_[&session].watches; }

void TurnOrder::closed(const Session& session) {
  const auto at = lines_.find(&session);
  if (at != lines_.end() && --at->second.watches == 0) lines_.erase(at);
}

void TurnOrder::begin() {
  for (auto& [session, line] : lines_) line.waiting.clear();
  ready_.clear();
  is_heap_ = false;
  current_ = nullptr;
  ++round_;
}

void TurnOrder::add(Watch& watch) {
  Line& line = lines_.at(&watch.to());
  if (line.waiting.empty()) {
    // A session does not earn extra time for rounds in which it had nothing to send.
    if (line.round + 1 < round_) line.spent_ns = std::max(line.spent_ns, clock_ns_);
    line.round = round_;
    line.sorted = false;
    ready_.push_back(&line);
  }
  line.waiting.push_back(&watch);
}

bool TurnOrder::later(const Line* a, const Line* b) {
  return a->spent_ns != b->spent_ns ? a->spent_ns > b->spent_ns : a->turned > b->turned;
}

Watch* TurnOrder::next() {
  if (current_ && !current_->waiting.empty()) {
    ready_.push_back(current_);
    std::ranges::push_heap(ready_, later);
  }
  current_ = nullptr;
  if (!std::exchange(is_heap_, true)) std::ranges::make_heap(ready_, later);
  if (ready_.empty()) return nullptr;
  std::ranges::pop_heap(ready_, later);
  current_ = ready_.back();
  ready_.pop_back();
  if (!std::exchange(current_->sorted, true))
    std::ranges::sort(current_->waiting, [](const Watch* a, const Watch* b) {
      if (a->asked().priority != b->asked().priority) return a->asked().priority < b->asked().priority;
      return a->turned != b->turned ? a->turned > b->turned : a->number() > b->number();
    });
  watch_ = current_->waiting.back();
  current_->waiting.pop_back();
  return watch_;
}

void TurnOrder::took(std::uint64_t ns, bool counts) {
  clock_ns_ = current_->spent_ns;
  current_->spent_ns += ns;
  current_->turned = ++turns_;
  if (counts) watch_->turned = turns_;
}

}  // namespace muster
