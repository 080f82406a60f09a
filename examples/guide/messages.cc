#include <muster/registry.h>

#include <string>

#include "examples/guide/guide.h"
#include "examples/guide/guide_types.h"

namespace guide {

namespace {

void take(const Damage& hit, Health& health) { health.value -= hit.amount; }

}  // namespace

void messages() {
  using muster::Entity;
  muster::EntityRegistry registry;
  const auto taken = registry.subscribe<take>("guide.take");
  const Entity orc = registry.create("orc", Health{}), troll = registry.create_under(orc, "troll", Health{});
  // guide: push
  const muster::Receipt receipt = registry.push(orc, Damage{.amount = 7});  // handled when push returns
  require(receipt.handled == 1 && registry.get<Health>(orc).value == 93);

  registry.post(orc, Damage{.amount = 3});  // waits for the next push, flush or advance
  require(registry.get<Health>(orc).value == 93);
  registry.flush();
  require(registry.get<Health>(orc).value == 90);
  // guide: end

  // guide: targets
  const Entity both[] = {orc, troll};
  registry.push(std::span<const Entity>(both), Damage{.amount = 1});             // one payload for several
  registry.push_subtree(orc, muster::subtree_descendants, Damage{.amount = 1});  // for everything below
  registry.push(Damage{.amount = 1});                                            // a pass: for everyone who matches
  require(registry.get<Health>(orc).value == 88 && registry.get<Health>(troll).value == 97);
  // guide: end

  // guide: timers
  constexpr std::uint64_t second_ns = 1'000'000'000;  // the world's clock counts ns
  const muster::TimerId bomb = registry.post_at(registry.now_ns() + 2 * second_ns, orc, Damage{.amount = 50});
  registry.advance(second_ns);  // the clock moves only here: a World does it with every tick
  require(registry.get<Health>(orc).value == 88);
  registry.advance(second_ns);
  require(registry.get<Health>(orc).value == 38);
  require(registry.cancel(bomb).handled == 1);  // too late; nothing happens
  // guide: end

  // guide: tables
  std::string heard;
  const auto ear = registry.subscribe("guide.ear", [&](const SpeechView& speech, const Health&, Entity self) {
    heard += std::string(registry.name(self)) + ": " + std::string(speech.text()) + "; ";
  });
  registry.push(orc, Speech{.text = "halt"});
  require(heard == "orc: halt; ");
  // guide: end

  // guide: dead
  registry.destroy(troll);
  require(registry.push(troll, Damage{}).dead == 1);  // counted, not an error: an id is a weak reference
  // guide: end
}

}  // namespace guide
