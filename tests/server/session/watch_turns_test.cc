// Turns of watches: how long one is.
#include <catch2/catch.hpp>

#include "server/session/watches.h"
#include "tests/server/arena.h"

using namespace muster;

TEST_CASE("a watch of much is told it in turns, each for as long as it may take", "[watch]") {
  EntityRegistry registry;
  registry.add_type<arena::Health>();
  registry.add_type<Set>();
  constexpr std::size_t count = 10'000;
  registry.create_many(count, arena::Health{});
  // Each look at the clock is a tenth of a ms later.
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  const auto session = std::make_shared<Session>(1u << 20);
  session->outgoing = std::make_shared<Outgoing>(OutgoingLimits{.data_bytes_max = 64u << 20});
  session::Watch what;
  what.values = true;
  what.rate_max = 0.001f;  // what is left of the state does not wait for it
  what.components = {TypeTraits<arena::Health>::id};
  REQUIRE_FALSE(watches.open(session, 9, what, 10).has_value());
  std::vector<std::byte> bytes, some;
  const auto told = [&] {
    std::size_t entities = 0;
    bytes.clear();
    while (session->outgoing->take(some)) {
      bytes.insert(bytes.end(), some.begin(), some.end());
      session->outgoing->sent();
    }
    FrameDecoder decoder(64u << 20, true);
    for (std::span<const std::byte> rest = bytes; !rest.empty();) {
      const auto room = decoder.room();
      const std::size_t part = std::min(room.size(), rest.size());
      std::copy_n(rest.begin(), part, room.begin());
      decoder.received(part);
      rest = rest.subspan(part);
      for (auto frame = decoder.next(); frame && *frame; frame = decoder.next())
        if (const BatchView batch((*frame)->batch); batch.type() == TypeTraits<Set>::id) entities += batch.count();
    }
    return entities;
  };
  std::size_t all = told(), turns = 0;
  CHECK(all > 0);
  CHECK(all < count / 2);
  while (watches.can_go_on()) {
    const std::uint64_t begun_ns = time_ns;
    watches.after_flush(1, 500'000);
    CHECK(time_ns - begun_ns < 1'500'000);
    all += told();
    ++turns;
    REQUIRE(turns < 100);
  }
  CHECK(all == count);
  CHECK(turns >= 5);
}
