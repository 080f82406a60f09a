// What waits of a session is bounded in bytes, and counted until it was taken or answered.
#include <catch2/catch.hpp>

#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

const std::vector<std::byte> batch(64);

}  // namespace

TEST_CASE("a session may have exactly as many bytes waiting as its bound says, and more when some were taken",
          "[limits]") {
  Requests requests(3 * batch.size());
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(requests.put(batch, i, i == 1));
  CHECK_FALSE(requests.has_room(16));
  CHECK_FALSE(requests.put(batch, 3, false));
  REQUIRE(requests.front());
  // A question that waits elsewhere counts until it was answered.
  const Request question = requests.take();
  CHECK(question.batch == batch);
  CHECK_FALSE(requests.put(batch, 3, false));
  requests.release(question.batch.size());
  CHECK(requests.has_room(batch.size()));
  CHECK(requests.put(batch, 3, false));
  CHECK_FALSE(requests.put(batch, 4, false));
  REQUIRE(requests.front());
  requests.pop();
  CHECK(requests.put(batch, 4, false));
  CHECK(requests.bytes() == 3 * batch.size());
}

TEST_CASE("all sessions together may have so many bytes waiting; who has nothing waiting may put one all the same",
          "[limits]") {
  const auto all = std::make_shared<RequestBytes>(4 * batch.size());
  std::optional<Requests> first;
  first.emplace(1u << 20, all);
  Requests second(1u << 20, all);
  for (int i = 0; i < 4; ++i) CHECK(first->put(batch, 1, false));
  CHECK_FALSE(first->has_room(batch.size()));
  CHECK_FALSE(first->put(batch, 1, false));
  CHECK(second.put(batch, 1, false));
  CHECK_FALSE(second.put(batch, 2, false));
  CHECK(all->bytes == 5 * batch.size());
  first.reset();  // with its session
  CHECK(all->bytes == batch.size());
  for (int i = 0; i < 3; ++i) CHECK(second.put(batch, 2, false));
  CHECK_FALSE(second.put(batch, 3, false));
}

TEST_CASE("a session may ask far more one after the other than may wait of it at a time", "[limits]") {
  LiveWorldOptions options;
  options.limits.request_bytes_max = 4096;
  options.limits.all_request_bytes_max = 4096;
  LiveWorld world(options);
  ClientOptions patient = world.client_options();
  patient.time_max = 10s;
  auto client = Client::connect(patient);
  REQUIRE(client.has_value());
  for (int i = 0; i < 200; ++i) REQUIRE(client->info().has_value());
}
