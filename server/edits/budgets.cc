#include "server/edits/budgets.h"

#include <algorithm>

#include "registry/apply/timers.h"
#include "registry/host.h"

namespace muster {

TimerBudget::TimerBudget(const EntityRegistry& registry) : registry_(registry) {
  // The cost of timers loaded from a save is not known.
  for (const auto& [key, waiting] : registry.host().timers().waiting())
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

std::uint64_t template_bytes(const EntityRegistry& registry, std::string_view name) {
  const auto bytes = registry.host().template_batch(name);
  if (bytes.empty()) return 0;
  const BatchView batch(bytes);
  return table_item(batch, batch.body()).table.size();
}

bool WorldBudget::rows_exceed(std::uint64_t more, std::uint64_t max) {
  steps_ = 0;
  if (++questions_ < questions_max && rows_ + more <= max) return false;
  questions_ = 0;
  rows_ = 0;
  for (const auto& archetype : registry_.host().storage().archetypes()) {
    if (archetype) rows_ += std::uint64_t{archetype->rows()} * archetype->row_bytes;
    ++steps_;
  }
  steps_ /= 4;
  return rows_ + more > max;
}

bool WorldBudget::templates_exceed(std::uint64_t more, std::uint64_t less, std::uint64_t max) {
  steps_ = 0;
  if (templates_ + more <= max) return false;
  templates_ = 0;
  for (const std::string_view name : registry_.host().template_names()) {
    templates_ += template_bytes(registry_, name);
    ++steps_;
  }
  return templates_ - less + more > max;
}

}  // namespace muster
