// A lane that is full takes nothing and loses nothing, at any moment; it works again once the registry took what it held.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

struct Heard {
  std::uint64_t session, request;
  float amount;
  std::uint32_t count;
  bool operator==(const Heard&) const = default;
};

/// What reaches the sink, and in which order.
struct Sink final : InputSink {
  std::vector<Heard> heard;
  void on_input(const Envelope& envelope, std::span<const std::byte> bytes) override {
    if (envelope.session == 0 || bytes.empty()) return;
    const BatchView batch(bytes);
    game::Damage first;
    std::memcpy(&first, batch.payload(0), sizeof first);
    heard.push_back({envelope.session, envelope.request, first.amount, batch.count()});
  }
};

/// `count` Damages with numbers from `amount` on, all in one batch.
std::vector<std::byte> damages(Entity to, float amount, std::uint32_t count) {
  BatchBuilder builder;
  for (std::uint32_t i = 0; i < count; ++i) builder.append(to, game::Damage{.amount = amount + static_cast<float>(i)});
  REQUIRE(builder.batches() == 1);
  return {builder.bytes().begin(), builder.bytes().end()};
}

}  // namespace

TEST_CASE("a lane takes exactly as many bytes as it may hold, and not 16 more") {
  EntityRegistry registry;
  Sink sink;
  registry.host().add_sink(sink);
  int woken = 0;
  registry.host().inbox().on_arrival([&] { ++woken; });
  const auto s = registry.subscribe("hit", [](const game::Damage& hit, game::Health& h) { h.value -= hit.amount; });
  const Entity orc = registry.create("orc", game::Health{.value = 1000});
  const auto one = damages(orc, 1, 1), two = damages(orc, 2, 2);
  REQUIRE(two.size() > one.size());
  const auto lane = registry.host().inbox().open_lane(7, one.size() + two.size());
  const auto narrow = registry.host().inbox().open_lane(8, one.size() + two.size() - 16);
  const auto none = registry.host().inbox().open_lane(9, 0);
  const std::uint64_t hash = registry.hash();

  CHECK_FALSE(none->put(one, 1));
  CHECK(woken == 0);
  CHECK(registry.host().inbox().empty());
  CHECK(lane->put(two, 1));
  CHECK(lane->put(one, 2));  // exactly full
  CHECK_FALSE(lane->put(one, 3));
  CHECK(narrow->put(two, 4));
  CHECK_FALSE(narrow->put(one, 5));  // 16 bytes too many
  CHECK(woken == 1);
  CHECK(registry.hash() == hash);

  const std::uint64_t sequence = registry.sequence();
  registry.flush();
  CHECK(sink.heard == std::vector<Heard>{{7, 1, 2, 2}, {7, 2, 1, 1}, {8, 4, 2, 2}});
  CHECK(registry.sequence() >= sequence + 3);
  CHECK(registry.get<game::Health>(orc).value == 1000 - 2 - 3 - 1 - 2 - 3);
  CHECK(registry.host().inbox().empty());

  // A batch that fits no more is no obstacle for one that does.
  sink.heard.clear();
  CHECK(narrow->put(one, 6));
  CHECK_FALSE(narrow->put(two, 7));
  CHECK(narrow->put(one, 8) == (2 * one.size() <= one.size() + two.size() - 16));
  CHECK(lane->put(one, 9));
  CHECK(woken == 2);
  registry.flush();
  CHECK(sink.heard.front() == Heard{7, 9, 1, 1});
  CHECK(sink.heard[1] == Heard{8, 6, 1, 1});
  registry.host().remove_sink(sink);
}

TEST_CASE("what full lanes said yes to arrives once and in order, what they said no to never") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    EntityRegistry registry;
    Sink sink;
    registry.host().add_sink(sink);
    registry.add_type<game::Damage>();
    const Entity orc = registry.create("orc", game::Health{});
    constexpr std::size_t lanes = 3;
    std::vector<std::shared_ptr<InboxLane>> open;
    std::vector<std::deque<Heard>> taken(lanes);
    std::vector<std::size_t> held(lanes);
    const std::size_t most[lanes] = {160, 512, 4096};
    for (std::size_t i = 0; i < lanes; ++i) open.push_back(registry.host().inbox().open_lane(10 + i, most[i]));
    std::uint64_t request = 0;
    unsigned refused = 0;
    for (int step = 0; step < 400; ++step) {
      if (random() % 12 == 0) {
        registry.flush();
        std::vector<Heard> expected;
        for (std::size_t i = 0; i < lanes; ++i) {
          expected.insert(expected.end(), taken[i].begin(), taken[i].end());
          taken[i].clear();
          held[i] = 0;
        }
        REQUIRE(sink.heard == expected);
        sink.heard.clear();
        continue;
      }
      const std::size_t i = random() % lanes;
      const auto amount = static_cast<float>(step);
      const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % 12);
      const auto batch = damages(orc, amount, count);
      const bool fits = held[i] + batch.size() <= most[i];
      REQUIRE(open[i]->put(batch, ++request) == fits);
      if (!fits) {
        ++refused;
        continue;
      }
      held[i] += batch.size();
      taken[i].push_back({10 + i, request, amount, count});
    }
    CHECK(refused > 20);
    registry.host().remove_sink(sink);
  }
}
