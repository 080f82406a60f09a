#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <string>

#include "registry/delivery/pushed_sink.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// Writes down the Pings that it sees.
struct Hearing final : PushedSink {
  explicit Hearing(EntityRegistry& of) : registry(of) { registry.host().set_pushed_sink(this); }
  ~Hearing() override { registry.host().set_pushed_sink(nullptr); }
  void on_pushed(const BatchView& batch) noexcept override {
    if (batch.kind() == BatchKind::timed || batch.type() != TypeTraits<game::Ping>::id) return;
    text += "[";
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      game::Ping ping;
      std::memcpy(&ping, batch.payload(i), sizeof ping);
      text += " " + std::to_string(ping.hops);
    }
    text += " ]";
  }
  EntityRegistry& registry;
  std::string text;
};

Subscription bouncing(EntityRegistry& registry) {
  return registry.subscribe("bounce", [](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) {
    if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
  });
}

}  // namespace

TEST_CASE("who hears what handlers post is told once of each, in order, and of no input") {
  EntityRegistry registry;
  const Entity a = registry.create("a", game::Health{}), b = registry.create("b", game::Health{});
  const auto bounce = bouncing(registry);
  Hearing hearing(registry);
  registry.push(a, game::Ping{.hops = 2});
  CHECK(hearing.text == "[ 1 ][ 0 ]");
  hearing.text.clear();
  registry.post(a, game::Ping{.hops = 1});
  registry.post(b, game::Ping{.hops = 2});
  registry.flush();
  CHECK(hearing.text == "[ 0 1 ][ 0 ]");
  hearing.text.clear();
  registry.push(b, game::Ping{});
  CHECK(hearing.text.empty());
}

TEST_CASE("a timer's message is heard when it is due") {
  EntityRegistry registry;
  const Entity a = registry.create("a", game::Health{});
  const auto bounce = bouncing(registry);
  Hearing hearing(registry);
  registry.post_at(100, a, game::Ping{.hops = 1});
  registry.advance(50);
  CHECK(hearing.text.empty());
  registry.advance(50);
  CHECK(hearing.text == "[ 1 ][ 0 ]");
}

TEST_CASE("a batch that a cascade's bound cuts is heard once, and the result is as if nobody heard it") {
  const auto run = [](bool heard) {
    EntityRegistry registry({.cascade_messages_max = 3});
    const auto units = registry.create_many(10, game::Health{});
    const auto bounce = bouncing(registry);
    std::optional<Hearing> hearing;
    if (heard) hearing.emplace(registry);
    registry.push(std::span<const Entity>(units), game::Ping{.hops = 1});
    for (int i = 0; i < 5; ++i) registry.push(units[0], game::Heal{});
    if (heard) CHECK(hearing->text == "[ 0 0 0 0 0 0 0 0 0 0 ]");
    return registry.hash();
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("hearing and observing do not disturb each other") {
  EntityRegistry registry;
  const Entity a = registry.create("a", game::Health{});
  const auto bounce = bouncing(registry);
  registry.profile().observe(true);
  {
    Hearing hearing(registry);
    registry.push(a, game::Ping{.hops = 1});
    registry.profile().observe(false);
    registry.push(a, game::Ping{.hops = 2});
    CHECK(hearing.text == "[ 0 ][ 1 ][ 0 ]");
  }
  registry.push(a, game::Ping{.hops = 3});
  CHECK(registry.host().counters().unhandled == 0);
}
