// A battle of 100,000 units in 2,000 squads, as a user writes it, beside the same written by hand over plain arrays. Both end with the
// same units, healths, places and hits, or the program fails.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "bench/battle_arrays.h"
#include "bench/battle_promised.h"
#include "bench/battle_rules.h"
#include "bench/battle_types.h"
#include "bench/measuring_pool.h"
#include "bench/support.h"
#include "registry/host.h"

using muster::Entity;

namespace battle {
namespace {

/// `maker`: a registry or a Spawner.
template <class Maker>
void make_unit(Maker& maker, const Unit& unit, const Offset& offset) {
  const Weapon weapon{.ready_in = first_cooldown(unit.serial)};
  const Health health{.value = full_health};
  [[maybe_unused]] const Entity made =
      is_armoured(unit.serial) ? Entity(maker.create_under(unit.squad, "", Place{}, offset, unit, weapon, health,
                                                           Armour{.factor = armour_factor}))
                               : Entity(maker.create_under(unit.squad, "", Place{}, offset, unit, weapon, health));
}

void march(const muster::Update&, Squad& squad, Place& place) {
  if (!step(place.x, place.y, squad.goal_x, squad.goal_y)) return;
  const Point next = goal(squad.number, ++squad.legs);
  squad.goal_x = next.x;
  squad.goal_y = next.y;
}
void follow(const muster::Update&, Place& place, const Offset& offset, muster::Parent<const Place> squad) {
  place = {.x = squad->x + offset.x, .y = squad->y + offset.y};
}
void shoot(const muster::Update&, Weapon& weapon, const Unit& unit, muster::Lookup<const Health> healths, Entity self,
           muster::Outbox& out) {
  if (weapon.ready_in > 0) {
    --weapon.ready_in;
    return;
  }
  if (!weapon.foe) return;
  if (!healths.alive(weapon.foe)) {
    weapon.foe = {};
    return;
  }
  out.post(weapon.foe, Damage{.amount = strength(unit.serial, weapon.shots), .from = self});
  weapon.ready_in = cooldown(unit.serial, weapon.shots++);
}
void wear_armour(Damage& hit, const Armour& armour) { hit.amount *= armour.factor; }
void take_damage(const Damage& hit, Health& health, Entity self, muster::Outbox& out) {
  const bool stood = health.value > 0;
  health.value -= hit.amount;
  if (stood && health.value <= 0) out.destroy(self);
}
void replace(const muster::Destroy&, const Unit& unit, const Offset& offset, muster::Spawner& spawner) {
  if (!is_replaced(unit.serial)) return;
  Unit next = unit;
  next.serial += replacement_step;
  make_unit(spawner, next, offset);
}

class MessageBattle : bench::World {
 public:
  MessageBattle() {
    handlers_.add(
        registry.subscribe("gather",
                           [this](const Look&, const Unit& unit, const Place& at, Entity self) {
                             grid_.add(unit.side, unit.serial, at.x, at.y, self);
                           },
                           {.on_begin = [this] { return grid_.clear(), true; }, .external_writes = {"grid"}}));
    handlers_.add(registry.subscribe(
        "pick",
        [this](const Look&, Weapon& weapon, const Unit& unit, const Place& at) {
          weapon.foe = grid_.nearest(unit.side, at.x, at.y);
        },
        {.after = {"gather"}, .on_begin = [this] { return grid_.sort(), true; }, .external_reads = {"grid"}}));
    handlers_.add(registry.subscribe<march>("march"));
    handlers_.add(registry.subscribe<follow>("follow", {.after = {"march"}}));
    handlers_.add(registry.subscribe<shoot>("shoot", {.after = {"follow"}}));
    handlers_.add(registry.subscribe<wear_armour>("wear_armour", {.before = {"take_damage"}}));
    handlers_.add(registry.subscribe<take_damage>("take_damage"));
    handlers_.add(registry.subscribe("count_hits", [this](const Damage&, muster::With<Health>) { ++hits_; },
                                     {.external_writes = {"hits"}}));
    handlers_.add(registry.subscribe<replace>("replace"));
    for (std::uint32_t s = 0; s < squads; ++s) {
      const Point at = home(s), to = goal(s, 0);
      const Entity squad =
          registry.create(Place{.x = at.x, .y = at.y}, Squad{.goal_x = to.x, .goal_y = to.y, .number = s});
      for (std::uint32_t u = 0; u < units_per_squad; ++u)
        make_unit(registry, Unit{.squad = squad, .serial = s * units_per_squad + u, .side = s % 2},
                  Offset{.x = offset(u).x, .y = offset(u).y});
    }
  }

  using World::checkpoint;
  using World::registry;
  std::uint32_t ticks() const noexcept { return ticks_; }
  void tick() {
    if (++ticks_ % look_every == 0) registry.push(Look{.tick = ticks_});
    registry.push(muster::Update{.dt = tick_s});
  }
  std::uint64_t hits() const noexcept { return hits_; }
  Summary summary() const {
    Summary all;
    registry.each<const Unit, const Health, const Place>([&](const Unit& unit, const Health& health, const Place& at) {
      all.add(unit.serial, health.value, at.x, at.y);
    });
    return all;
  }

 private:
  Grid<Entity> grid_;
  std::uint64_t hits_ = 0;
  std::uint32_t ticks_ = 0;
  muster::Handlers handlers_;
};

constexpr std::uint32_t units = squads * units_per_squad;
constexpr std::uint32_t quiet_ticks = look_every - 1;

/// The ticks in which nobody looks.
template <class Battle>
void play_quiet(Battle& battle) {
  for (std::uint32_t i = 0; i < quiet_ticks; ++i) battle.tick();
}
/// Begins anew where the battle is as good as over: all rows are about the same stretch of it.
template <class Battle>
bool begin_anew(std::unique_ptr<Battle>& battle) {
  if (battle && battle->ticks() + look_every <= ticks_max) return false;
  battle = std::make_unique<Battle>();
  return true;
}

/// What is measured of 16 ticks: those between two looks, or the one in which all look.
enum class Part : bool { quiet, look };

template <Part part, class Battle>
void prepare(std::unique_ptr<Battle>& battle) {
  const bool fresh = begin_anew(battle);
  if constexpr (part == Part::look)
    play_quiet(*battle);
  else if (!fresh)
    battle->tick();
}
template <Part part, class Battle>
void play(Battle& battle) {
  if constexpr (part == Part::look)
    battle.tick();
  else
    play_quiet(battle);
}
template <Part part>
constexpr std::uint64_t items = units * (part == Part::look ? 1 : quiet_ticks);

template <Part part>
void by_hand(bench::Measure& measure) {
  std::unique_ptr<ArrayBattle> plain;
  measure.run(items<part>, [&] { prepare<part>(plain); }, [&] { play<part>(*plain); });
}
/// In turns with the arrays: the messages, or what is promised by hand.
template <Part part, class Battle>
void beside(bench::Measure& measure) {
  std::unique_ptr<ArrayBattle> plain;
  std::unique_ptr<Battle> other;
  measure.run_beside(
      items<part>,
      [&] {
        prepare<part>(plain);
        prepare<part>(other);
        other->checkpoint();
      },
      [&] { play<part>(*plain); }, [&] { play<part>(*other); });
  while (plain->ticks() < other->ticks()) plain->tick();
  while (other->ticks() < plain->ticks()) other->tick();
  if (plain->summary() == other->summary() && plain->hits() == other->hits()) return;
  std::fprintf(stderr, "the two battles differ after %u ticks\n", plain->ticks());
  std::exit(1);
}

void spread_over(MessageBattle& battle, bench::MeasuringPool* pool) { battle.registry.host().set_executor(pool); }
void spread_over(PromisedBattle& battle, bench::MeasuringPool* pool) { battle.set_executor(pool); }
bool alike(MessageBattle& a, MessageBattle& b) { return a.registry.hash() == b.registry.hash(); }
bool alike(PromisedBattle& a, PromisedBattle& b) { return a.summary() == b.summary() && a.hits() == b.hits(); }

/// The stretches between two looks on two workers, in turns with the same on one: what the registry's thread worked besides, and a worker's
/// mean share. The looks are left out: one thread makes their grid.
template <class Battle>
void on_one(bench::Measure& measure) {
  if (std::getenv("BENCH_INSTRUCTIONS")) return measure.skip();
  std::unique_ptr<Battle> alone;
  measure.run(items<Part::quiet>, [&] { prepare<Part::quiet>(alone); }, [&] { play<Part::quiet>(*alone); });
}
template <class Battle>
void on_two(bench::Measure& measure) {
  if (std::getenv("BENCH_INSTRUCTIONS")) return measure.skip();
  bench::MeasuringPool pool(2, false);
  std::unique_ptr<Battle> alone, spread;
  measure.run_beside(
      items<Part::quiet>,
      [&] {
        prepare<Part::quiet>(alone);
        prepare<Part::quiet>(spread);
        spread_over(*spread, &pool);
        alone->checkpoint();
        spread->checkpoint();
        pool.extra();
      },
      [&] { play<Part::quiet>(*alone); }, [&] { play<Part::quiet>(*spread); }, [&] { return pool.extra(); });
  spread_over(*spread, nullptr);
  if (alike(*alone, *spread)) return;
  std::fprintf(stderr, "the battle on two workers differs after %u ticks\n", alone->ticks());
  std::exit(1);
}

const bench::Entry one_worker_row("battle_workers/limit", bench::no_goal, on_one<MessageBattle>);
const bench::Entry two_workers_row("battle_workers/2_workers", bench::ratio(1 / 1.7), on_two<MessageBattle>,
                                   bench::Turns::in_turns);
const bench::Entry two_by_hand_row("battle_workers/2_as_promised", bench::no_goal, on_two<PromisedBattle>,
                                   bench::Turns::in_turns);
const bench::Entry tick_limit_row("battle_tick/limit", bench::no_goal, by_hand<Part::quiet>);
const bench::Entry tick_promised_row("battle_tick/as_promised", bench::no_goal, beside<Part::quiet, PromisedBattle>,
                                     bench::Turns::in_turns);
// Beside what keeps the same promises by hand: beside the bare arrays that itself takes 1.09 to 1.20 (docs/performance.md).
const bench::Entry tick_row("battle_tick/muster", bench::promised(1.25), beside<Part::quiet, MessageBattle>,
                            bench::Turns::in_turns);
const bench::Entry look_limit_row("battle_look/limit", bench::no_goal, by_hand<Part::look>);
const bench::Entry look_promised_row("battle_look/as_promised", bench::no_goal, beside<Part::look, PromisedBattle>,
                                     bench::Turns::in_turns);
const bench::Entry look_row("battle_look/muster", bench::ratio(1.25), beside<Part::look, MessageBattle>,
                            bench::Turns::in_turns);

}  // namespace
}  // namespace battle
