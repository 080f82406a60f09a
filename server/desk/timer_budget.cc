#include "server/desk/timer_budget.h"

#include <algorithm>

#include "registry/apply/timers.h"

namespace muster {

TimerBudget::TimerBudget(const EntityRegistry& registry) : registry_(registry) {
  // Of those that were saved the cost is not known.
  for (const auto& [key, waiting] : registry.timers().waiting())
    add(key.due_ns, {.steps = 0, .bytes = waiting.batch.size()});
}

std::uint64_t TimerBudget::span_of(std::uint64_t due_ns) const {
  return std::max(due_ns, registry_.now_ns()) / span_ns;
}

void TimerBudget::pass() {
  const std::uint64_t now = registry_.now_ns() / span_ns;
  while (!spans_.empty() && spans_.begin()->first < now) {
    bytes_ -= spans_.begin()->second.bytes;
    spans_.erase(spans_.begin());
  }
}

TimerBudget::Due TimerBudget::due_with(std::uint64_t due_ns) {
  pass();
  const auto at = spans_.find(span_of(due_ns));
  return at == spans_.end() ? Due{} : at->second;
}

std::uint64_t TimerBudget::bytes() {
  pass();
  return bytes_;
}

void TimerBudget::add(std::uint64_t due_ns, Due due) {
  Due& span = spans_[span_of(due_ns)];
  span.steps += due.steps;
  span.bytes += due.bytes;
  bytes_ += due.bytes;
}

}  // namespace muster
