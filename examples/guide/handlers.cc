#include <muster/host.h>
#include <muster/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "examples/guide/guide.h"
#include "examples/guide/guide_types.h"

namespace guide {

namespace {

// guide: a handler
void take_damage(const Damage& hit, Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value > 0) return;
  out.post(Died{.entity = self});
  out.destroy(self);
}
// guide: end

// guide: an earlier one
/// Changes the message: the handlers after it see that.
void wear_armor(Damage& hit, const Armor& armor) { hit.amount *= armor.factor; }
// guide: end

// guide: passes
void move(const muster::Update& update, Position& at, const Velocity& velocity) {
  at.x += velocity.x * update.dt;
  at.y += velocity.y * update.dt;
}
void burn(const muster::Update& update, Health& health, muster::With<Burning>, const Armor* armor) {
  health.value -= (armor ? 1.0f : 2.0f) * update.dt;
}
// guide: end

// guide: elsewhere
/// Keeps an eye on its leader, and on the health of who carries it.
void follow(const muster::Update&, Velocity& velocity, const Soldier& soldier, const Position& own,
            muster::Lookup<const Position> places, muster::Parent<const Health*> carrier) {
  const Position* leader = places.find(soldier.leader);
  if (!leader || (carrier && carrier->value < 10)) return;
  velocity = {.x = leader->x - own.x, .y = leader->y - own.y};
}
// guide: end

// guide: a log
/// Tells those who make the game about a soldier whose leader is gone.
void check_leader(const Damage&, const Soldier& soldier, muster::Entity self, muster::Lookup<const Position> all,
                  muster::Log& log) {
  if (soldier.leader && !all.alive(soldier.leader)) log.warning("the leader is gone", self);
}
// guide: end

// guide: spawning
constexpr std::uint64_t second = 1'000'000'000;  // the world's clock counts ns
void invade(const Invade& wave, muster::Spawner& spawner, muster::Outbox& out) {
  for (std::uint32_t i = 0; i < wave.orcs; ++i) {
    const muster::Entity orc = spawner.create_under({}, "orc", Health{.value = 30});  // orc, orc~2, orc~3
    out.post(orc, Greet{.loudness = i});  // the id is final; the orc is there when this arrives
    out.post_after(60 * second, orc, Damage{.amount = 1000, .from = orc});
  }
}
// guide: end

// guide: a subsystem
class Morgue {
 public:
  void count(const Died&) { ++dead_; }
  int dead() const { return dead_; }

 private:
  int dead_ = 0;
};
// guide: end

// guide: install
muster::Handlers install(muster::EntityRegistry& registry) {
  muster::Handlers handlers;
  handlers.add(registry.subscribe<take_damage>("guide.take_damage"));
  handlers.add(registry.subscribe<wear_armor>("guide.wear_armor", {.before = {"guide.take_damage"}}));
  handlers.add(registry.subscribe<move>("guide.move", {.after = {"guide.follow"}}));
  handlers.add(registry.subscribe<burn>("guide.burn"));
  handlers.add(registry.subscribe<follow>("guide.follow"));
  handlers.add(registry.subscribe<check_leader>("guide.check_leader"));
  handlers.add(registry.subscribe<invade>("guide.invade"));
  Morgue& morgue = handlers.keep(std::make_shared<Morgue>());  // lives as long as they do
  handlers.add(registry.subscribe("guide.count", morgue, &Morgue::count));
  return handlers;
}
// guide: end

}  // namespace

void handlers() {
  using muster::Entity;
  muster::EntityRegistry registry;
  const muster::Handlers all = install(registry);

  // guide: what happens
  const Entity knight = registry.create("knight", Health{}, Armor{});
  registry.push(knight, Damage{.amount = 10});
  require(registry.get<Health>(knight).value == 95);  // the armor came first
  registry.push(Invade{.orcs = 2});
  registry.push(registry.find_path("/orc~2"), Damage{.amount = 30});
  require(registry.find_path("/orc") && !registry.find_path("/orc~2"));
  // guide: end

  const Entity page = registry.create("page", Soldier{.leader = knight}, Position{}, Velocity{});
  registry.set(knight, Position{.x = 6}, Burning{});
  registry.push(muster::Update{.dt = 0.5f});
  require(registry.get<Position>(page).x == 3);
  require(registry.get<Health>(knight).value == 94.5f);

  // guide: changes
  std::string seen;
  muster::Handlers watching;
  watching.add(registry.subscribe("watch.added", [&](const muster::Added<Armor>&, Entity e) {
    seen += "+" + std::string(registry.name(e)) + " ";
  }));
  watching.add(registry.subscribe("watch.changed", [&](const muster::Changed<Health>&, const Health& health) {
    seen += std::to_string(static_cast<int>(health.value)) + " ";
  }));
  watching.add(registry.subscribe("watch.removed", [&](const muster::Removed<Armor>&, Entity e) {
    seen += "-" + std::string(registry.name(e)) + " ";
  }));
  const Entity squire = registry.create("squire", Health{}, Armor{});
  registry.push(squire, Damage{.amount = 50});
  registry.destroy(squire);
  require(seen == "+squire 75 -squire ");
  // guide: end

  // guide: read the log
  const Entity lost = registry.create("lost", Soldier{.leader = squire});
  registry.push(lost, Damage{});
  const std::vector<muster::LogLine> lines = registry.host().log().after(0);  // <muster/host.h>
  require(lines.size() == 1 && lines[0].handler == "guide.check_leader" && lines[0].about == lost);
  require(lines[0].level == muster::LogLevel::warning && lines[0].text == "the leader is gone");
  // guide: end

  // guide: switching off
  registry.set_handler_enabled("guide.wear_armor", false);  // a message, so it is saved
  registry.push(knight, Damage{.amount = 4.5f});
  require(registry.get<Health>(knight).value == 90);
  // guide: end

  // guide: consume
  const auto shield = registry.subscribe("guide.shield",
                                         [](const Damage&, const Armor&) {
                                           return muster::Verdict::consume;  // no later handler gets this hit
                                         },
                                         {.priority = -1});
  registry.push(knight, Damage{.amount = 1000});
  require(registry.get<Health>(knight).value == 90);
  // guide: end

  // guide: several workers
  muster::ThreadPool workers(4);           // or an Executor of your own, over your job system
  registry.host().set_executor(&workers);  // passes are spread over them from now on
  registry.push(muster::Update{.dt = 0.5f});
  require(registry.get<Health>(knight).value == 89.5f);  // what one worker would have come to

  const muster::TypeId update = muster::TypeTraits<muster::Update>::id;
  require(muster::why_apart(registry, update, "guide.burn", "guide.follow") ==
          "\"guide.burn\" and \"guide.follow\" do not overlap:\n"
          "  \"guide.burn\" writes guide.Health, which \"guide.follow\" reads from its nearest ancestor\n"
          "  \"guide.burn\" runs first: its name comes first\n");
  registry.host().set_executor(nullptr);  // before they go
  // guide: end
}

}  // namespace guide
