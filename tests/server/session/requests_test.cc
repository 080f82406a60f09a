// What waits of a session is counted until it was taken.
#include <catch2/catch.hpp>

#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

TEST_CASE("a session may ask far more one after the other than may wait of it at a time", "[limits]") {
  LiveWorldOptions options;
  options.limits.request_bytes_max = 4096;
  LiveWorld world(options);
  ClientOptions patient = world.client_options();
  patient.time_max = 10s;
  auto client = Client::connect(patient);
  REQUIRE(client.has_value());
  for (int i = 0; i < 200; ++i) REQUIRE(client->info().has_value());
}
