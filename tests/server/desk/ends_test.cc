// What is done where sessions end.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "server/desk/desk.h"
#include "tests/server/hand_world.h"
#include "tests/support/all_threads.h"

namespace ends_test {

using namespace muster;

TEST_CASE("sessions that end together are done with in several flushes, each soon after the one before") {
  EntityRegistry registry;
  // Each look at the clock is two ms later.
  std::uint64_t time_ns = 0;
  int wakes = 0;
  testing::HandWorld host;
  host.on_wake = [&] { ++wakes; };
  host.on_wake_in = [](std::chrono::nanoseconds) {};
  host.gives_processor_ns = [&] { return time_ns += 2'000'000; };
  Desk desk(registry, host, {});
  const auto flush = [&] {
    desk.before_flush();
    registry.flush();
    desk.after_flush(registry);
  };
  std::vector<std::shared_ptr<Session>> sessions;
  for (int i = 0; i < 10; ++i)
    sessions.push_back(
        desk.join({session::Role::view}, "some", "test", std::make_shared<Connection>(), 0, [](Session&) {}));
  flush();
  REQUIRE(desk.sessions() == 10);
  for (const auto& session : sessions) desk.leave(*session->connection());
  for (int flushes = 0; desk.sessions() > 0; ++flushes) {
    REQUIRE(flushes < 20);
    const std::uint32_t before = desk.sessions();
    const int woken = wakes;
    flush();
    CHECK(desk.sessions() < before);
    CHECK(before - desk.sessions() <= 2);
    if (desk.sessions() > 0) CHECK(wakes > woken);
  }
}

}  // namespace ends_test
