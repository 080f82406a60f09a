// Collects the desk's figures for /metrics and /health.
#include "registry/apply/timers.h"
#include "registry/host.h"
#include "server/desk/desk.h"
#include "server/figures/figures.h"
#include "system/mutex.h"

namespace muster {

void Desk::ask_figures(std::function<void(const Figures&)> then) {
  {
    const MutexLock lock(mutex_);
    figures_asked_.push_back(std::move(then));
    figures_wanted_ = true;
  }
  wake();
}

void Desk::tell_figures() {
  std::vector<std::function<void(const Figures&)>> asked;
  {
    const MutexLock lock(mutex_);
    asked.swap(figures_asked_);
    figures_wanted_ = false;
  }
  const Figures now = figures();
  for (const auto& then : asked) then(now);
}

std::uint64_t Desk::uptime_ns() const {
  const auto up = std::chrono::steady_clock::now() - started_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(up).count());
}

Figures Desk::figures() const {
  Figures told;
  told.sequence = registry_.sequence();
  told.durable_sequence = world_.durable_sequence();
  told.saved_sequence = world_.saved_sequence();
  told.journal_bytes = world_.journal_bytes();
  told.disk_error = text_of(world_.recording_error());
  told.save_error = text_of(world_.save_error());
  told.clock_ns = registry_.now_ns();
  told.hz = world_.facts().hz;
  told.uptime_ns = uptime_ns();
  told.processor_ns = processor_ns();
  told.log_lines_lost = world_.log_lines_lost();
  told.audit_lines_lost = world_.audit_lines_lost();
  told.memory_bytes = resident_bytes();
  if (const TimeCounts* const ticks = world_.tick_times()) {
    told.ticks = ticks->all();
    told.tick_p50_ns = below_share(*ticks, 0.5);
    told.tick_p99_ns = below_share(*ticks, 0.99);
    told.tick_max_ns = ticks->longest_ns();
  }
  told.cascades_cut = registry_.host().counters().carried;
  told.carried_dropped = registry_.host().counters().dropped;
  told.carried_bytes = registry_.host().carried_bytes();
  told.edits = intake_.counters().edits;
  told.edits_refused = intake_.counters().refused;
  for (const auto& session : present()) {
    told.answers_waiting_bytes += session->outgoing()->waiting().bytes();
    told.requests_waiting_bytes += session->requests.bytes();
    ++told.sessions;
  }
  told.watches = watches_.count();
  told.questions = static_cast<std::uint32_t>(questions_.size());
  told.entities = static_cast<std::uint32_t>(registry_.entity_count());
  told.archetypes = static_cast<std::uint32_t>(registry_.host().storage().archetypes().size());
  told.texts = static_cast<std::uint32_t>(registry_.host().texts().size());
  told.timers = static_cast<std::uint32_t>(registry_.host().timers().size());
  told.templates = static_cast<std::uint32_t>(registry_.host().template_count());
  return told;
}

}  // namespace muster
