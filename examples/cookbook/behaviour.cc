#include <muster/registry.h>

#include <string>

#include "examples/cookbook/cookbook.h"
#include "examples/cookbook/cookbook_types.h"

namespace cook {
namespace {

using muster::Entity;

void ordered() {
  muster::EntityRegistry registry;
  std::string order;
  // guide: order
  muster::Handlers handlers;
  handlers.add(registry.subscribe("cook.health", [&](const Damage&, const Health&) { order += "health "; }));
  handlers.add(registry.subscribe("cook.armor", [&](const Damage&, const Health&) { order += "armor "; },
                                  {.before = {"cook.health"}}));
  handlers.add(registry.subscribe("cook.log", [&](const Damage&) { order += "log"; }, {.priority = 1000}));
  // guide: end
  registry.push(registry.create(Health{}), Damage{});
  require(order == "armor health log");
}

// guide: one frame
void mark_hit(const Damage& hit, const Health&, Entity self, muster::Outbox& out) {
  out.set(self, Hit{.amount = hit.amount});
}
/// Runs last in the pass, so every other handler of it saw the mark.
void forget_hit(const muster::Update&, muster::With<Hit>, Entity self, muster::Outbox& out) { out.remove<Hit>(self); }
// guide: end

void one_frame() {
  muster::EntityRegistry registry;
  const auto marking = registry.subscribe<mark_hit>("cook.mark_hit");
  const auto forgetting = registry.subscribe<forget_hit>("cook.forget_hit", {.priority = 1000});
  const Entity orc = registry.create(Health{});
  registry.push(orc, Damage{.amount = 3});
  require(registry.has<Hit>(orc));
  registry.push(muster::Update{});
  require(!registry.has<Hit>(orc));
}

// guide: state machine
void begin_opening(const Open&, Door& door, Entity self, muster::Outbox& out) {
  if (door.state != DoorState::closed) return;
  door.state = DoorState::opening;
  constexpr std::uint64_t second = 1'000'000'000;  // the world's clock counts ns
  out.post_after(2 * second, self, Opened{});
}
void end_opening(const Opened&, Door& door) { door.state = DoorState::open; }
// guide: end

void state_machine() {
  muster::EntityRegistry registry;
  const muster::Handlers handlers{registry.subscribe<begin_opening>("cook.begin_opening"),
                                  registry.subscribe<end_opening>("cook.end_opening")};
  const Entity door = registry.create(Door{});
  registry.push(door, Open{});
  registry.advance(1'999'999'999);
  require(registry.get<Door>(door).state == DoorState::opening);
  registry.advance(1);
  require(registry.get<Door>(door).state == DoorState::open);
}

void timers() {
  muster::EntityRegistry registry;
  const auto exploding =
      registry.subscribe("cook.explode", [](const Explode&, Entity self, muster::Outbox& out) { out.destroy(self); });
  const Entity bomb = registry.create("bomb");
  // guide: timers
  constexpr std::uint64_t second = 1'000'000'000;  // the world's clock counts ns
  const muster::TimerId fuse = registry.post_at(registry.now_ns() + 5 * second, bomb, Explode{});
  registry.advance(4 * second);  // World::next_frame does this with every tick
  registry.cancel(fuse);
  registry.advance(4 * second);
  require(registry.alive(bomb));
  // guide: end
}

// guide: random numbers
/// PCG: the state is a component, so it is saved, replayed, and the same on every machine.
std::uint32_t draw(Dice& dice) {
  const std::uint64_t old = dice.state;
  dice.state = old * 6364136223846793005u + 1442695040888963407u;
  const auto mixed = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
  const auto turn = static_cast<std::uint32_t>(old >> 59);
  return (mixed >> turn) | (mixed << ((32 - turn) & 31));
}
void roll(const Roll&, Dice& dice) { dice.last = draw(dice) % 6 + 1; }
// guide: end

void random_numbers() {
  std::uint64_t hash = 0;
  for (int run = 0; run < 2; ++run) {
    muster::EntityRegistry registry;
    const auto rolling = registry.subscribe<roll>("cook.roll");
    const Entity dice = registry.create(Dice{.state = 42});
    for (int i = 0; i < 10; ++i) registry.push(dice, Roll{});
    const std::uint32_t last = registry.get<Dice>(dice).last;
    require(last >= 1 && last <= 6);
    require(run == 0 || registry.hash() == hash);
    hash = registry.hash();
  }
}

void switched_off() {
  muster::EntityRegistry registry;
  const auto rolling = registry.subscribe<roll>("cook.roll");
  const Entity dice = registry.create(Dice{});
  // guide: switched off
  registry.set_handler_enabled("cook.roll", false);  // saved with the world
  require(registry.push(dice, Roll{}).handled == 0);
  // guide: end
}

void errors() {
  muster::EntityRegistry registry;
  const auto rolling = registry.subscribe<roll>("cook.roll");
  // guide: errors
  const Entity dice = registry.create("dice", Dice{});
  require(registry.push(dice, Open{}).unhandled == 1);  // no handler takes it here
  const muster::Created other = registry.create("dice", Dice{});
  require(!other && other.refusal().code == muster::RefusalCode::name_taken);  // see text()
  const muster::Receipt moved = registry.reparent(dice, dice);
  require(moved.refused == 1 && moved.refusal.code == muster::RefusalCode::cycle);
  registry.destroy(dice);
  require(registry.push(dice, Roll{}).dead == 1);  // counted, not an error
  // guide: end
}

// guide: the parent's id
/// The registry may be asked for names, parents and children while a handler runs, and for nothing else.
class Guards {
 public:
  explicit Guards(muster::EntityRegistry& registry)
      : registry_(registry), handler_(registry.subscribe("cook.guards", *this, &Guards::hear)) {}

 private:
  void hear(const Damage& hit, const Health&, Entity self, muster::Outbox& out) {
    if (const Entity camp = registry_.parent(self)) out.post(camp, Damage{.amount = hit.amount / 10});
  }
  muster::EntityRegistry& registry_;
  muster::Subscription handler_;
};
// guide: end

void parents_id() {
  muster::EntityRegistry registry;
  Guards guards(registry);
  const auto hurt =
      registry.subscribe("cook.hurt", [](const Damage& hit, Health& health) { health.value -= hit.amount; });
  const Entity camp = registry.create("camp", Health{});
  const Entity guard = registry.create_under(camp, "guard", Health{});
  registry.push(guard, Damage{.amount = 10});
  require(registry.get<Health>(camp).value == 99);
}

}  // namespace

void behaviour() {
  ordered();
  one_frame();
  state_machine();
  timers();
  random_numbers();
  switched_off();
  errors();
  parents_id();
}

}  // namespace cook
