// How units and squads go, and what follows.
#include <algorithm>

#include "examples/skirmish/handlers.h"

namespace skirmish {

namespace {

void take_damage(const Damage& hit, Health& health, muster::Entity self, muster::Outbox& out) {
  if (!(hit.amount > 0)) return;  // also if it is NaN: it may come from outside
  const bool stood = health.value > 0;
  health.value = std::max(health.value - hit.amount, 0.0f);
  if (health.value > 0) return;
  // A second deadly hit before the Destroy arrives is no second death.
  if (stood) out.post_subtree(self, muster::subtree_ancestors, Died{.entity = self, .by = hit.from});
  out.destroy(self);
}

void count_dead(const Died&, Army& army) { ++army.lost; }

// Destroy comes from battle and from editors alike: here is where both are noticed.
void unit_goes(const muster::Destroy&, const Unit& unit, muster::Entity self, muster::Outbox& out) {
  out.post(unit.squad, UnitLost{.unit = self, .place = unit.place});
}

void squad_goes(const muster::Destroy&, const Squad& squad, muster::Outbox& out) {
  out.post(squad.army, SquadLost{.number = squad.number});
}

void lose_unit(const UnitLost& report, Squad& squad, muster::Entity self, muster::Outbox& out) {
  if (report.place >= squad.members.size() || squad.members[report.place] != report.unit) return;
  squad.members[report.place] = {};
  if (squad.units > 0) --squad.units;
  if (squad.units == 0) out.destroy(self);
}

void lose_squad(const SquadLost& report, Army& army, muster::Entity self, muster::Outbox& out) {
  if (army.squads > 0) --army.squads;
  if (army.reserves == 0) return;
  --army.reserves;
  // Anyone may have set it, to no number even: then they come at once.
  const double seconds = army.reinforce_after > 0 ? std::min(static_cast<double>(army.reinforce_after), 86400.0) : 0.0;
  out.post_after(static_cast<std::uint64_t>(seconds * 1e9), self, Reinforce{.number = report.number});
}

}  // namespace

void add_losses(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  handlers.add(registry.subscribe<take_damage>("skirmish.take_damage"));
  handlers.add(registry.subscribe<count_dead>("skirmish.count_dead"));
  handlers.add(registry.subscribe<unit_goes>("skirmish.unit_goes"));
  handlers.add(registry.subscribe<squad_goes>("skirmish.squad_goes"));
  handlers.add(registry.subscribe<lose_unit>("skirmish.lose_unit"));
  handlers.add(registry.subscribe<lose_squad>("skirmish.lose_squad"));
}

}  // namespace skirmish
