#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "server/web/metrics_text.h"

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
