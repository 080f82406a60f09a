#include <stdlib.h>

#include <catch2/catch.hpp>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "server/figures/metrics_text.h"
#include "server/web/http_wire.h"
#include "server/world/time/watchdog.h"
#include "tests/support/folder.h"

namespace metrics_test {

using namespace muster;

namespace {

/// Values by name with labels; checks the form of every line.
std::map<std::string, double> values_of(const std::string& text) {
  std::map<std::string, double> values;
  std::map<std::string, std::string> kinds;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, name, kind;
    if (line.starts_with("#")) {
      words >> first >> second >> name >> kind;
      REQUIRE((second == "HELP" || second == "TYPE"));
      if (second == "TYPE") REQUIRE(kinds.emplace(name, kind).second);
      continue;
    }
    double value = 0;
    words >> name >> value;
    REQUIRE(words.eof());
    REQUIRE_FALSE(words.fail());
    std::string family = name.substr(0, name.find('{'));
    if (family == "muster_tick_seconds_count") family = "muster_tick_seconds";
    REQUIRE(kinds.contains(family));
    REQUIRE(values.emplace(name, value).second);
  }
  return values;
}

}  // namespace

TEST_CASE("metrics are what Prometheus reads: each value once, with its kind, in seconds and bytes", "[metrics]") {
  Figures figures;
  figures.sequence = 1'234'567'890'123;
  figures.durable_sequence = 7;
  figures.ticks = 100;
  figures.tick_p50_ns = 1'500'000;
  figures.tick_p99_ns = 16'000'000;
  figures.hz = 62.5;
  figures.memory_bytes = 1u << 30;
  figures.sessions = 3;
  figures.answers_waiting_bytes = 5;
  const auto values = values_of(metrics_text(figures, 4));
  CHECK(values.at("muster_applied_sequence") == 1'234'567'890'123.0);
  CHECK(values.at("muster_durable_sequence") == 7);
  CHECK(values.at("muster_tick_seconds{quantile=\"0.5\"}") == Approx(0.0015));
  CHECK(values.at("muster_tick_seconds{quantile=\"0.99\"}") == Approx(0.016));
  CHECK(values.at("muster_hz") == 62.5);
  CHECK(values.at("muster_memory_bytes") == 1u << 30);
  CHECK(values.at("muster_sessions") == 3);
  CHECK(values.at("muster_connections") == 4);
  CHECK(values.at("muster_answers_waiting_bytes") == 5);
  CHECK(values.contains("muster_watches"));
  CHECK_FALSE(values_of(metrics_text({}, 0)).contains("muster_tick_seconds{quantile=\"0.5\"}"));
}

TEST_CASE("a locale with a decimal comma, which a plugin may have set, changes no figure and no date", "[metrics]") {
  const test::Folder folder;
  REQUIRE(std::system(("localedef -i de_DE -f UTF-8 " + (folder / "de_DE.UTF-8")).c_str()) == 0);
  ::setenv("LOCPATH", folder.path().c_str(), 1);
  REQUIRE(std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr);
  char text[8];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  const std::string metrics = metrics_text({.clock_ns = 500'000'000}, 0), head = http_head({}, false, 1'800'000'000);
  const std::string hang = hang_text({}, std::chrono::milliseconds(5500));
  std::setlocale(LC_ALL, "C");
  ::unsetenv("LOCPATH");
  REQUIRE(std::string_view(text) == "0,5");
  CHECK(metrics.find("\nmuster_clock_seconds 0.5\n") != std::string::npos);
  CHECK(head.find("Date: Fri, 15 Jan 2027 08:00:00 GMT\r\n") != std::string::npos);
  CHECK(hang.find("5.5 s") != std::string::npos);
}

TEST_CASE("the whole text of the metrics is this", "[metrics]") {
  const Figures figures{.sequence = 1,
                        .durable_sequence = 2,
                        .saved_sequence = 25,
                        .clock_ns = 3'000'000'000,
                        .hz = 4.5,
                        .uptime_ns = 5'000'000'000,
                        .processor_ns = 6'000'000'000,
                        .memory_bytes = 7,
                        .ticks = 8,
                        .tick_p50_ns = 9'000'000'000,
                        .tick_p99_ns = 10'000'000'000,
                        .tick_max_ns = 11'000'000'000,
                        .edits = 12,
                        .edits_refused = 13,
                        .answers_waiting_bytes = 14,
                        .requests_waiting_bytes = 15,
                        .sessions = 16,
                        .watches = 17,
                        .questions = 18,
                        .entities = 19,
                        .archetypes = 20,
                        .texts = 21,
                        .timers = 22,
                        .templates = 23,
                        .journal_bytes = 26,
                        .cascades_cut = 25,
                        .carried_dropped = 28,
                        .carried_bytes = 27,
                        .log_lines_lost = 29,
                        .disk_error = "the disk is full"};
  CHECK(metrics_text(figures, 24) ==
        "# HELP muster_tick_seconds Processor time per tick since the server started.\n"
        "# TYPE muster_tick_seconds summary\n"
        "muster_tick_seconds{quantile=\"0.5\"} 9\n"
        "muster_tick_seconds{quantile=\"0.99\"} 10\n"
        "muster_tick_seconds_count 8\n"
        "# HELP muster_tick_seconds_max Longest processor time of a tick.\n"
        "# TYPE muster_tick_seconds_max gauge\n"
        "muster_tick_seconds_max 11\n"
        "# HELP muster_hz Target tick rate of the world per second, or 0 if it has none.\n"
        "# TYPE muster_hz gauge\n"
        "muster_hz 4.5\n"
        "# HELP muster_applied_sequence Sequence number of the last applied input.\n"
        "# TYPE muster_applied_sequence counter\n"
        "muster_applied_sequence 1\n"
        "# HELP muster_durable_sequence Sequence number of the last input on disk.\n"
        "# TYPE muster_durable_sequence counter\n"
        "muster_durable_sequence 2\n"
        "# HELP muster_saved_sequence Sequence number of the last input in the saved state.\n"
        "# TYPE muster_saved_sequence counter\n"
        "muster_saved_sequence 25\n"
        "# HELP muster_journal_bytes Size of the journal since the saved state.\n"
        "# TYPE muster_journal_bytes gauge\n"
        "muster_journal_bytes 26\n"
        "# HELP muster_edits_taken 1 if edits are accepted, 0 if they are refused because the disk cannot be written.\n"
        "# TYPE muster_edits_taken gauge\n"
        "muster_edits_taken 0\n"
        "# HELP muster_save_failed 1 if the last automatic save failed, otherwise 0.\n"
        "# TYPE muster_save_failed gauge\n"
        "muster_save_failed 0\n"
        "# HELP muster_clock_seconds The world's clock.\n"
        "# TYPE muster_clock_seconds gauge\n"
        "muster_clock_seconds 3\n"
        "# HELP muster_uptime_seconds Time since the server started.\n"
        "# TYPE muster_uptime_seconds gauge\n"
        "muster_uptime_seconds 5\n"
        "# HELP muster_world_processor_seconds_total Processor time used by the world thread.\n"
        "# TYPE muster_world_processor_seconds_total counter\n"
        "muster_world_processor_seconds_total 6\n"
        "# HELP muster_memory_bytes Resident memory of the process.\n"
        "# TYPE muster_memory_bytes gauge\n"
        "muster_memory_bytes 7\n"
        "# HELP muster_connections Open connections, including those without a session.\n"
        "# TYPE muster_connections gauge\n"
        "muster_connections 24\n"
        "# HELP muster_sessions Open sessions.\n"
        "# TYPE muster_sessions gauge\n"
        "muster_sessions 16\n"
        "# HELP muster_watches Open watches of all sessions.\n"
        "# TYPE muster_watches gauge\n"
        "muster_watches 17\n"
        "# HELP muster_questions_waiting Questions not yet answered.\n"
        "# TYPE muster_questions_waiting gauge\n"
        "muster_questions_waiting 18\n"
        "# HELP muster_requests_waiting_bytes Size of session requests that the world has not yet taken.\n"
        "# TYPE muster_requests_waiting_bytes gauge\n"
        "muster_requests_waiting_bytes 15\n"
        "# HELP muster_answers_waiting_bytes Size of data waiting to be sent to sessions.\n"
        "# TYPE muster_answers_waiting_bytes gauge\n"
        "muster_answers_waiting_bytes 14\n"
        "# HELP muster_log_lines_lost_total Lines that the log has lost because its reader was too slow.\n"
        "# TYPE muster_log_lines_lost_total counter\n"
        "muster_log_lines_lost_total 29\n"
        "# HELP muster_audit_lines_lost_total Lines that the audit log has lost.\n"
        "# TYPE muster_audit_lines_lost_total counter\n"
        "muster_audit_lines_lost_total 0\n"
        "# HELP muster_edits_total Batches from sessions that were applied.\n"
        "# TYPE muster_edits_total counter\n"
        "muster_edits_total 12\n"
        "# HELP muster_edits_refused_total Batches from sessions that were refused.\n"
        "# TYPE muster_edits_refused_total counter\n"
        "muster_edits_refused_total 13\n"
        "# HELP muster_cascades_cut_total How often the rest of a cascade was carried over to the next input, in the "
        "world's lifetime.\n"
        "# TYPE muster_cascades_cut_total counter\n"
        "muster_cascades_cut_total 25\n"
        "# HELP muster_carried_dropped_total Carried messages that were dropped, in the world's lifetime.\n"
        "# TYPE muster_carried_dropped_total counter\n"
        "muster_carried_dropped_total 28\n"
        "# HELP muster_carried_bytes Size of the messages carried over.\n"
        "# TYPE muster_carried_bytes gauge\n"
        "muster_carried_bytes 27\n"
        "# HELP muster_entities Entities.\n"
        "# TYPE muster_entities gauge\n"
        "muster_entities 19\n"
        "# HELP muster_archetypes Distinct component sets of entities.\n"
        "# TYPE muster_archetypes gauge\n"
        "muster_archetypes 20\n"
        "# HELP muster_texts Texts interned by the world.\n"
        "# TYPE muster_texts gauge\n"
        "muster_texts 21\n"
        "# HELP muster_timers Waiting timed messages.\n"
        "# TYPE muster_timers gauge\n"
        "muster_timers 22\n"
        "# HELP muster_templates Templates.\n"
        "# TYPE muster_templates gauge\n"
        "muster_templates 23\n");
}

TEST_CASE("health and metrics say what is wrong with the disk", "[metrics]") {
  const auto of = [](const Figures& figures) { return values_of(metrics_text(figures, 0)); };
  CHECK(health_text({}) == "ok\n");
  CHECK(of({}).at("muster_edits_taken") == 1);
  const Figures full{.disk_error = "w.muster: the disk is full while writing the journal"};
  CHECK(health_text(full) == "edits are refused: w.muster: the disk is full while writing the journal\n");
  CHECK(of(full).at("muster_edits_taken") == 0);
  CHECK(of(full).at("muster_save_failed") == 0);
  const Figures unsaved{.save_error = "w.muster: the disk reports an error"};
  CHECK(health_text(unsaved) == "ok, but not saved: w.muster: the disk reports an error\n");
  CHECK(of(unsaved).at("muster_edits_taken") == 1);
  CHECK(of(unsaved).at("muster_save_failed") == 1);
}

}  // namespace metrics_test
