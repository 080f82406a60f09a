// An input whose batch nobody kept is done again as one that delivers nothing.
#include <catch2/catch.hpp>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

struct Told final : InputSink {
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  struct Input {
    Envelope envelope;
    std::vector<std::byte> batch;
  };
  std::vector<Input> inputs;
};

}  // namespace

TEST_CASE("an input without its batch takes its number, goes on with what waits, and delivers nothing") {
  const RegistryOptions options{.cascade_messages_max = 4};
  EntityRegistry live(options), again(options);
  Told told, told_again;
  std::vector<Subscription> handlers;
  for (EntityRegistry* r : {&live, &again}) {
    handlers.push_back(r->subscribe("ping", [](const game::Ping& ping, game::Health& health, Entity self, Outbox& out) {
      health.value += 1;
      if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
    }));
    r->add_type<game::Damage>();  // nobody handles it
  }
  live.host().add_sink(told);
  again.host().add_sink(told_again);
  const Entity e = live.create(game::Health{});
  auto lane = live.host().inbox().open_lane(5);
  for (std::uint32_t i = 0; i < 20; ++i) {
    if (i % 5 == 0) live.push(e, game::Ping{.hops = 9});  // cut short: the inputs behind it go on with it
    if (i % 5 == 1) live.push(e, game::Damage{});
    if (i % 5 == 2) live.post(e, game::Damage{});
    if (i % 5 == 3) {
      BatchBuilder hit;
      hit.append(e, game::Damage{});
      REQUIRE(lane->put(hit.bytes(), 1));
    }
    if (i % 3 == 0) live.flush();
  }
  live.flush();
  int left_out = 0;
  for (const Told::Input& input : told.inputs) {
    const bool nothing = !input.batch.empty() && BatchView(input.batch).type() == TypeTraits<game::Damage>::id;
    left_out += nothing;
    again.host().replay(input.envelope, nothing ? std::span<const std::byte>() : std::span(input.batch));
  }
  CHECK(left_out > 8);
  CHECK(again.sequence() == live.sequence());
  CHECK(again.hash() == live.hash());
  REQUIRE(told_again.inputs.size() == told.inputs.size());
  for (std::size_t i = 0; i < told.inputs.size(); ++i) {
    CHECK(told_again.inputs[i].envelope.kind == told.inputs[i].envelope.kind);
    CHECK(told_again.inputs[i].envelope.resumed == told.inputs[i].envelope.resumed);
  }
  // What they were counted as is said.
  CHECK(again.host().counters().messages < live.host().counters().messages);
  again.host().set_counters(live.host().counters());
  CHECK(again.host().counters().unhandled == live.host().counters().unhandled);
}
