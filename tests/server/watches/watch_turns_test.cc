// Turns of watches: how long one is, who is told in it, and what is kept for it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "registry/host.h"
#include "server/watches/watches.h"
#include "tests/server/arena.h"
#include "tests/server/made_session.h"
#include "tests/server/queued_frames.h"
#include "tests/server/watches/seen_changes.h"

namespace watch_turns_test {

using namespace muster;
using muster::testing::Changes;

namespace {

constexpr TypeId health = TypeTraits<arena::Health>::id;

/// A session that one watch tells of components of the world.
struct Told {
  explicit Told(Watches& watches, float rate_max, std::size_t data_bytes_max = 64u << 20,
                std::vector<TypeId> components = {health})
      : session(testing::made_session({.data_bytes_max = data_bytes_max})) {
    session::Follow what;
    what.world = what.values = true;
    what.rate_max = rate_max;
    what.components = std::move(components);
    REQUIRE_FALSE(watches.follow(session, 9, what, 10).has_value());
  }
  /// Calls frame(header, batch) for what came since the last call.
  template <class F>
  void read(F&& frame) {
    testing::take_all_frames(*session->outgoing(),
                             [&](const WireFrame& each) { frame(each.header, BatchView(each.batch)); });
  }
  /// Who was told since the last call.
  std::vector<Entity> entities() {
    std::vector<Entity> told;
    read([&](const FrameHeader&, BatchView batch) {
      if (batch.type() != TypeTraits<session::Values>::id) return;
      const auto rows = session::read<session::Values>(batch);
      told.insert(told.end(), rows.entities.begin(), rows.entities.end());
    });
    return told;
  }
  const std::shared_ptr<Session> session;
};

constexpr std::size_t count = 10'000;

std::vector<Entity> fill(EntityRegistry& registry) {
  registry.add_type<arena::Health>();
  registry.add_type<arena::Position>();
  registry.add_type<Set>();
  return registry.create_many(count, arena::Health{});
}

}  // namespace

TEST_CASE("a watch of much is told it in turns, each for as long as it may take", "[watch]") {
  EntityRegistry registry;
  fill(registry);
  // Each look at the clock is 0.4 ms later.
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 400'000; });
  Told told(watches, 0.001f);  // what is left of the state does not wait for it
  std::size_t all = told.entities().size(), turns = 0;
  CHECK(all > 0);
  CHECK(all < count);
  while (watches.can_go_on()) {
    const std::uint64_t begun_ns = time_ns;
    watches.after_flush(1, 500'000);
    CHECK(time_ns - begun_ns < 2'500'000);
    all += told.entities().size();
    ++turns;
    REQUIRE(turns < 100);
  }
  CHECK(all == count);
  CHECK(turns >= 2);
}

TEST_CASE(
    "what a session's queue has no room for is told as soon as there is some, and does not wait for the watch's rate",
    "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry);
  Watches watches(registry, [] { return std::uint64_t{0}; });
  Told told(watches, 1, 64u << 10);
  const auto rest = [&](std::uint64_t now_ns) {
    std::size_t sum = 0;
    for (std::size_t some = told.entities().size(); some > 0; some = told.entities().size()) {
      sum += some;
      watches.after_flush(now_ns, 1'000'000);
    }
    return sum;
  };
  CHECK(rest(1) == count);
  for (const Entity e : entities) registry.set(e, arena::Health{.value = 7});
  watches.after_flush(2, 1'000'000);
  CHECK(rest(2) == 0);  // a second after the last state
  constexpr std::uint64_t second_ns = 1'000'000'000;
  watches.after_flush(second_ns + 1, 1'000'000);
  CHECK(rest(second_ns + 1) == count);
}

TEST_CASE("a watch that has less time than changes come is told of everyone in turn, not of the first again and again",
          "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry);
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  Told told(watches, 0);
  told.entities();
  std::set<Entity> changed;
  // Looks take so long here that every second time nothing is told after one.
  for (std::uint64_t turn = 1; turn <= 4 * count / 256; ++turn) {
    for (const Entity e : entities) registry.set(e, arena::Health{.value = static_cast<float>(turn)});
    watches.after_flush(turn, 50'000);
    const auto now = told.entities();
    CHECK(now.size() <= 2048);  // one frame
    changed.insert(now.begin(), now.end());
  }
  CHECK(changed.size() == count);
}

TEST_CASE("a state is whole when all of it was told as it was then, whichever component a turn began with", "[watch]") {
  EntityRegistry registry;
  fill(registry);
  const std::vector<TypeId> components{health, TypeTraits<arena::Position>::id};
  const std::vector<Entity> entities = registry.create_many(2000, arena::Health{}, arena::Position{});
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  Told told(watches, 0, 64u << 20, components);
  std::map<std::pair<TypeId, Entity>, std::uint64_t> untold;  // since which input
  registry.each<>([&](Entity e) { untold[{health, e}] = 0; });
  for (const Entity e : entities) untold[{components[1], e}] = 0;
  int whole = 0;
  const auto read = [&] {
    testing::take_all_frames(*told.session->outgoing(), [&](const WireFrame& frame) {
      const BatchView batch(frame.batch);
      if (batch.type() == TypeTraits<session::Values>::id) {
        const auto rows = session::read<session::Values>(batch);
        for (const Entity e : rows.entities) {
          const auto known = untold.find({rows.component, e});
          if (known != untold.end() && known->second <= frame.envelope.sequence) untold.erase(known);
        }
      }
      if ((frame.header.flags & (frame_more | frame_envelope)) != frame_envelope) return;
      ++whole;
      CHECK(std::ranges::none_of(untold, [&](const auto& each) { return each.second <= frame.envelope.sequence; }));
    });
  };
  read();
  for (std::uint64_t turn = 1; turn <= 150; ++turn) {
    if (turn <= 100) {
      const Entity e = entities[turn];
      registry.set(e, arena::Health{.value = 1000 + static_cast<float>(turn)},
                   arena::Position{.x = static_cast<double>(turn)});
      for (const TypeId component : components) untold[{component, e}] = registry.sequence();
    }
    watches.after_flush(turn, 50'000);
    read();
  }
  CHECK(whole > 0);
  CHECK(untold.empty());
}

TEST_CASE("what is kept of values that are watched grows with who has them, not with their indices", "[watch]") {
  EntityRegistry registry;
  registry.add_type<arena::Health>();
  const Entity first = registry.host().grant(1'000'000, 5);
  Changes changes(registry);
  changes.want(TypeTraits<arena::Health>::id);
  const auto found = [&] {
    const auto& values = changes.look().values;
    return values.empty() ? std::vector<Entity>() : values.front().entities;
  };
  const Entity far{first.index + 999'999, 1}, near{first.index, 1};
  for (const Entity e : {near, far}) {
    BatchBuilder builder;
    builder.append_rows(e, Create{}, arena::Health{});
    REQUIRE(registry.host().push_batch(builder.bytes(), {.session = 5}).handled == 1);
  }
  CHECK(found() == std::vector{near, far});
  CHECK(found().empty());
  const std::size_t bytes = changes.bytes();
  CHECK(bytes < 64u << 10);
  registry.set(far, arena::Health{.value = 7});
  CHECK(found() == std::vector{far});
  registry.destroy(far);
  CHECK(found() == std::vector{far});
  CHECK(changes.bytes() < bytes);
}

TEST_CASE("before a watch is due nobody looks for what changed, and where nothing did it is woken once", "[watch]") {
  EntityRegistry registry;
  const auto entities = fill(registry);
  Watches watches(registry);
  Told told(watches, 10);
  told.entities();
  std::uint64_t now_ns = 1'000'000'000;
  // The state was told when the watch was opened; its first turn is at once.
  registry.set(entities[7], arena::Health{.value = 1});
  CHECK(watches.after_flush(now_ns) == 0);
  CHECK(told.entities() == std::vector{entities[7]});
  registry.set(entities[8], arena::Health{.value = 2});
  CHECK(watches.after_flush(now_ns + 30'000'000) == 70'000'000);
  CHECK(watches.marks() == 0);
  CHECK(told.entities().empty());
  registry.set(entities[9], arena::Health{.value = 3});
  CHECK(watches.after_flush(now_ns + 90'000'000) == 10'000'000);
  now_ns += 100'000'000;
  CHECK(watches.after_flush(now_ns) == 0);
  CHECK(told.entities() == std::vector{entities[8], entities[9]});
  CHECK(watches.after_flush(now_ns + 1) == 99'999'999);
  CHECK(watches.after_flush(now_ns + 100'000'000) == 0);
  CHECK(watches.after_flush(now_ns + 300'000'000) == 0);
  CHECK(told.entities().empty());
}

}  // namespace watch_turns_test
