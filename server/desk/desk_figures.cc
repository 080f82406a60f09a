// What a desk tells of its world in numbers: to who asks over a socket, and to figures for /metrics and /health.
#include "registry/apply/timers.h"
#include "server/desk/desk.h"
#include "server/session/figures.h"
#include "system/mutex.h"

namespace muster {

void Desk::load(Session& to, std::uint64_t request) const {
  const auto told = [](const TimeCounts& times) {
    std::vector<session::TimeCount> counts;
    for (std::uint32_t i = 0; i < TimeCounts::classes; ++i)
      if (times.count(i) > 0) counts.push_back({.below_ns = TimeCounts::end_of(i), .count = times.count(i)});
    return counts;
  };
  session::Load load;
  load.sequence = registry_.sequence();
  load.processor_ns = processor_ns();
  load.memory_bytes = resident_bytes();
  if (host_.tick_times) {
    load.ticks = told(host_.tick_times());
    load.tick_ns_max = host_.tick_times().longest_ns();
  }
  load.edits = told(to.edit_waits);
  load.edit_ns_max = to.edit_waits.longest_ns();
  load.entities = static_cast<std::uint32_t>(registry_.entity_count());
  load.archetypes = static_cast<std::uint32_t>(registry_.storage().archetypes().size());
  load.texts = static_cast<std::uint32_t>(registry_.text_count());
  load.timers = static_cast<std::uint32_t>(registry_.timers().size());
  load.templates = static_cast<std::uint32_t>(registry_.template_count());
  load.questions = static_cast<std::uint32_t>(questions_.size());
  answer(to, request, load);
}

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
  told.durable_sequence = host_.durable_sequence ? host_.durable_sequence() : 0;
  told.saved_sequence = host_.durable.saved_sequence ? host_.durable.saved_sequence() : 0;
  told.journal_bytes = host_.durable.journal_bytes ? host_.durable.journal_bytes() : 0;
  told.disk_error = host_.durable.error_text();
  told.save_error = host_.durable.save_error_text();
  told.clock_ns = registry_.now_ns();
  told.hz = host_.clock.hz;
  told.uptime_ns = uptime_ns();
  told.processor_ns = processor_ns();
  told.memory_bytes = resident_bytes();
  if (host_.tick_times) {
    const TimeCounts& ticks = host_.tick_times();
    told.ticks = ticks.all();
    told.tick_p50_ns = below_share(ticks, 0.5);
    told.tick_p99_ns = below_share(ticks, 0.99);
    told.tick_max_ns = ticks.longest_ns();
  }
  told.edits = intake_.counters().edits;
  told.edits_refused = intake_.counters().refused;
  for (const auto& session : present()) {
    told.answers_waiting_bytes += session->outgoing->waiting().bytes();
    told.requests_waiting_bytes += session->requests.bytes();
    ++told.sessions;
  }
  told.watches = watches_.count();
  told.questions = static_cast<std::uint32_t>(questions_.size());
  told.entities = static_cast<std::uint32_t>(registry_.entity_count());
  told.archetypes = static_cast<std::uint32_t>(registry_.storage().archetypes().size());
  told.texts = static_cast<std::uint32_t>(registry_.text_count());
  told.timers = static_cast<std::uint32_t>(registry_.timers().size());
  told.templates = static_cast<std::uint32_t>(registry_.template_count());
  return told;
}

void Desk::info(Session& to, std::uint64_t request, bool with_hash) {
  session::Info info;
  info.sequence = registry_.sequence();
  info.clock_ns = registry_.now_ns();
  info.hash = with_hash ? registry_.hash() : 0;
  info.entities = static_cast<std::uint32_t>(registry_.entity_count());
  info.types = static_cast<std::uint32_t>(registry_.types().types().size());
  info.sessions = sessions();
  info.watches = watches_.count();
  info.uptime_ns = uptime_ns();
  info.hz = host_.clock.hz;
  info.world = host_.world;
  info.server = host_.server;
  if (host_.plugins) info.plugins = host_.plugins();
  const session::Durable durable = durable_.state();
  info.durable_sequence = durable.sequence;
  info.saved_sequence = durable.saved_sequence;
  info.durability = durable.durability;
  info.autosave_ns = durable.autosave_ns;
  info.error = durable.error;
  info.save_error = host_.durable.save_error_text();
  if (info.save_error.empty() && host_.durable.size_warning) info.save_error = host_.durable.size_warning();
  answer(to, request, info);
}

}  // namespace muster
