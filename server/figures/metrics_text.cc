#include "server/figures/metrics_text.h"

#include <charconv>
#include <iterator>
#include <string_view>

namespace muster {
namespace {

class Lines {
 public:
  void head(const char* name, const char* type, const char* what) {
    text_ += std::string("# HELP ") + name + " " + what + "\n# TYPE " + name + " " + type + "\n";
  }
  void value(std::string_view name, double number) {
    // Unlike printf, to_chars ignores the locale, which a plugin may have set.
    char written[32];
    const auto end = std::to_chars(std::begin(written), std::end(written), number, std::chars_format::general, 17).ptr;
    line(name, std::string(std::begin(written), end));
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
  out.head("muster_tick_seconds", "summary", "Processor time per tick since the server started.");
  if (figures.ticks > 0) {
    out.value("muster_tick_seconds{quantile=\"0.5\"}", seconds(figures.tick_p50_ns));
    out.value("muster_tick_seconds{quantile=\"0.99\"}", seconds(figures.tick_p99_ns));
  }
  out.value("muster_tick_seconds_count", figures.ticks);
  out.one("muster_tick_seconds_max", "gauge", "Longest processor time of a tick.", seconds(figures.tick_max_ns));
  out.one("muster_hz", "gauge", "Target tick rate of the world per second, or 0 if it has none.", figures.hz);
  out.one("muster_applied_sequence", "counter", "Sequence number of the last applied input.", figures.sequence);
  out.one("muster_durable_sequence", "counter", "Sequence number of the last input on disk.", figures.durable_sequence);
  out.one("muster_saved_sequence", "counter", "Sequence number of the last input in the saved state.",
          figures.saved_sequence);
  out.one("muster_journal_bytes", "gauge", "Size of the journal since the saved state.", figures.journal_bytes);
  out.one("muster_edits_taken", "gauge",
          "1 if edits are accepted, 0 if they are refused because the disk cannot be written.",
          std::uint64_t{figures.disk_error.empty()});
  out.one("muster_save_failed", "gauge", "1 if the last automatic save failed, otherwise 0.",
          std::uint64_t{!figures.save_error.empty()});
  out.one("muster_clock_seconds", "gauge", "The world's clock.", seconds(figures.clock_ns));
  out.one("muster_uptime_seconds", "gauge", "Time since the server started.", seconds(figures.uptime_ns));
  out.one("muster_world_processor_seconds_total", "counter", "Processor time used by the world thread.",
          seconds(figures.processor_ns));
  out.one("muster_memory_bytes", "gauge", "Resident memory of the process.", figures.memory_bytes);
  const auto count = [&](const char* name, const char* what, std::uint64_t number) {
    out.one(name, "gauge", what, number);
  };
  count("muster_connections", "Open connections, including those without a session.", connections);
  count("muster_sessions", "Open sessions.", figures.sessions);
  count("muster_watches", "Open watches of all sessions.", figures.watches);
  count("muster_questions_waiting", "Questions not yet answered.", figures.questions);
  count("muster_requests_waiting_bytes", "Size of session requests that the world has not yet taken.",
        figures.requests_waiting_bytes);
  count("muster_answers_waiting_bytes", "Size of data waiting to be sent to sessions.", figures.answers_waiting_bytes);
  out.one("muster_log_lines_lost_total", "counter", "Lines that the log has lost because its reader was too slow.",
          figures.log_lines_lost);
  out.one("muster_audit_lines_lost_total", "counter", "Lines that the audit log has lost.", figures.audit_lines_lost);
  out.one("muster_edits_total", "counter", "Batches from sessions that were applied.", figures.edits);
  out.one("muster_edits_refused_total", "counter", "Batches from sessions that were refused.", figures.edits_refused);
  out.one("muster_cascades_cut_total", "counter",
          "How often the rest of a cascade was carried over to the next input, in the world's lifetime.",
          figures.cascades_cut);
  out.one("muster_carried_dropped_total", "counter", "Carried messages that were dropped, in the world's lifetime.",
          figures.carried_dropped);
  count("muster_carried_bytes", "Size of the messages carried over.", figures.carried_bytes);
  count("muster_entities", "Entities.", figures.entities);
  count("muster_archetypes", "Distinct component sets of entities.", figures.archetypes);
  count("muster_texts", "Texts interned by the world.", figures.texts);
  count("muster_timers", "Waiting timed messages.", figures.timers);
  count("muster_templates", "Templates.", figures.templates);
  return std::move(out).text();
}

std::string health_text(const Figures& figures) {
  if (!figures.disk_error.empty()) return "edits are refused: " + figures.disk_error + "\n";
  if (!figures.save_error.empty()) return "ok, but not saved: " + figures.save_error + "\n";
  return "ok\n";
}

}  // namespace muster
