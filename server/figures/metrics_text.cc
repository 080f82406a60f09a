#include "server/figures/metrics_text.h"

#include <cstdio>
#include <string_view>

namespace muster {
namespace {

class Lines {
 public:
  void head(const char* name, const char* type, const char* what) {
    text_ += std::string("# HELP ") + name + " " + what + "\n# TYPE " + name + " " + type + "\n";
  }
  void value(std::string_view name, double number) {
    char written[32];
    std::snprintf(written, sizeof written, "%.17g", number);
    line(name, written);
  }
  void value(std::string_view name, std::uint64_t number) { line(name, std::to_string(number)); }
  template <class Number>
  void one(const char* name, const char* type, const char* what, Number number) {
    head(name, type, what);
    value(name, number);
  }
  std::string text() && { return std::move(text_); }

 private:
  void line(std::string_view name, const std::string& number) { text_ += std::string(name) + " " + number + "\n"; }
  std::string text_;
};

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

std::string metrics_text(const Figures& figures, std::uint32_t connections) {
  Lines out;
  out.head("muster_tick_seconds", "summary", "Processor time from one tick to the next, since the server began.");
  if (figures.ticks > 0) {
    out.value("muster_tick_seconds{quantile=\"0.5\"}", seconds(figures.tick_p50_ns));
    out.value("muster_tick_seconds{quantile=\"0.99\"}", seconds(figures.tick_p99_ns));
  }
  out.value("muster_tick_seconds_count", figures.ticks);
  out.one("muster_tick_seconds_max", "gauge", "The longest of them.", seconds(figures.tick_max_ns));
  out.one("muster_hz", "gauge", "Ticks a second that the world is to have; 0: none.", figures.hz);
  out.one("muster_applied_sequence", "counter", "Number of the last input of the world.", figures.sequence);
  out.one("muster_durable_sequence", "counter", "Number of the last input that is on the disk.",
          figures.durable_sequence);
  out.one("muster_saved_sequence", "counter", "Number of the last input that the saved state has.",
          figures.saved_sequence);
  out.one("muster_journal_bytes", "gauge", "Of the journal behind the saved state.", figures.journal_bytes);
  out.one("muster_edits_taken", "gauge", "1; 0 where they are refused, because nothing more comes to the disk.",
          std::uint64_t{figures.disk_error.empty()});
  out.one("muster_save_failed", "gauge", "1 where the last save that came by itself failed, else 0.",
          std::uint64_t{!figures.save_error.empty()});
  out.one("muster_clock_seconds", "gauge", "The world's clock.", seconds(figures.clock_ns));
  out.one("muster_uptime_seconds", "gauge", "Since the server began.", seconds(figures.uptime_ns));
  out.one("muster_world_processor_seconds_total", "counter", "Processor time of the world's thread.",
          seconds(figures.processor_ns));
  out.one("muster_memory_bytes", "gauge", "Of the process, in real memory.", figures.memory_bytes);
  const auto count = [&](const char* name, const char* what, std::uint64_t number) {
    out.one(name, "gauge", what, number);
  };
  count("muster_connections", "Open: sessions, and those that are none.", connections);
  count("muster_sessions", "Sessions.", figures.sessions);
  count("muster_watches", "Watches of all sessions.", figures.watches);
  count("muster_questions_waiting", "Questions that are not answered yet.", figures.questions);
  count("muster_requests_waiting_bytes", "Of what sessions sent and the world has not taken.",
        figures.requests_waiting_bytes);
  count("muster_answers_waiting_bytes", "Of what is to be sent to sessions.", figures.answers_waiting_bytes);
  out.one("muster_edits_total", "counter", "Batches of sessions that went into the world.", figures.edits);
  out.one("muster_edits_refused_total", "counter", "Batches of sessions that were not let in.", figures.edits_refused);
  count("muster_entities", "Entities.", figures.entities);
  count("muster_archetypes", "Sets of components that entities have.", figures.archetypes);
  count("muster_texts", "Texts that the world knows.", figures.texts);
  count("muster_timers", "Timed messages that wait.", figures.timers);
  count("muster_templates", "Templates.", figures.templates);
  return std::move(out).text();
}

std::string health_text(const Figures& figures) {
  if (!figures.disk_error.empty()) return "edits are refused: " + figures.disk_error + "\n";
  if (!figures.save_error.empty()) return "ok, but not saved: " + figures.save_error + "\n";
  return "ok\n";
}

}  // namespace muster
