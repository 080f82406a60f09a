// For how long the host of a world has called neither next_frame nor poll.
#include "server/world/time/host_calls.h"

#include <catch2/catch.hpp>

#include "registry/entity_registry.h"

using namespace muster;

TEST_CASE("a host that has been away for five seconds is said to be, and not while a call is under way") {
  const EntityRegistry registry;
  HostCalls calls;
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t made = steady_ns();
  CHECK(calls.absence(made).empty());
  CHECK(calls.absence(made + 6 * second) == "its program has called neither next_frame nor poll for 6 s");
  {
    const HostCalls::Call call(calls, "World::poll", registry);
    CHECK(calls.absence(steady_ns() + 100 * second).empty());
  }
  const std::uint64_t returned = steady_ns();
  CHECK(calls.absence(returned + 4 * second).empty());
  CHECK(calls.absence(returned + 7 * second) == "its program has called neither next_frame nor poll for 7 s");
}
