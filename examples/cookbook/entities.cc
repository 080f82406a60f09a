#include <muster/registry.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "examples/cookbook/cookbook.h"
#include "examples/cookbook/cookbook_types.h"

namespace cook {
namespace {

using muster::Entity;

void sorted() {
  muster::EntityRegistry registry;
  registry.create("far", Position{.x = 9}, Health{}).or_stop();
  registry.create("near", Position{.x = 1}, Health{}).or_stop();
  registry.create("ghost", Position{.x = 5}).or_stop();
  // guide: sorted
  std::vector<std::pair<float, Entity>> found;
  registry.each<const Position, const Health>(
      [&](Entity e, const Position& at, const Health&) { found.emplace_back(at.x, e); });
  std::ranges::sort(found);
  // guide: end
  require(found.size() == 2 && registry.name(found[0].second) == "near");
}

// guide: destroy while iterating
void reap(const muster::Update&, const Health& health, Entity self, muster::Outbox& out) {
  if (health.value <= 0) out.destroy(self);  // takes effect after the pass
}
// guide: end

void destroy_while_iterating() {
  muster::EntityRegistry registry;
  const auto reaping = registry.subscribe<reap>("cook.reap");
  const Entity dead = registry.create(Health{.value = 0}), hurt = registry.create(Health{.value = 1});
  registry.push(muster::Update{});
  require(!registry.alive(dead) && registry.alive(hurt));
  // guide: destroy from outside
  registry.each<const Health>([&](Entity e, const Health& health) {
    if (health.value <= 1) registry.post(e, muster::Destroy{});  // waits
  });
  registry.flush();
  // guide: end
  require(!registry.alive(hurt));
}

// guide: who aims at me
class AimedAt {
 public:
  explicit AimedAt(muster::EntityRegistry& registry)
      : handlers_{registry.subscribe("aim.added", *this, &AimedAt::added),
                  registry.subscribe("aim.changed", *this, &AimedAt::changed),
                  registry.subscribe("aim.removed", *this, &AimedAt::removed)} {}
  const std::set<Entity>& of(Entity target) { return by_target_[target]; }

 private:
  void added(const muster::Added<Aim>&, const Aim& aim, Entity self) { put(self, aim.at); }
  void changed(const muster::Changed<Aim>&, const Aim& aim, Entity self) { put(self, aim.at); }
  void removed(const muster::Removed<Aim>&, Entity self) { put(self, {}); }
  void put(Entity self, Entity target) {
    Entity& old = target_[self];
    by_target_[old].erase(self);
    if (target) by_target_[target].insert(self);
    old = target;
  }
  std::map<Entity, Entity> target_;
  std::map<Entity, std::set<Entity>> by_target_;
  muster::Handlers handlers_;
};
// guide: end

void who_aims_at_me() {
  muster::EntityRegistry registry;
  AimedAt aimed(registry);
  const Entity orc = registry.create(Health{}), elf = registry.create(Health{});
  const Entity tower = registry.create(Aim{.at = orc});
  require(aimed.of(orc).contains(tower));
  registry.set(tower, Aim{.at = elf});
  require(aimed.of(orc).empty() && aimed.of(elf).contains(tower));
  registry.destroy(tower);
  require(aimed.of(elf).empty());
}

// guide: a singleton
/// Everything of the level is below one entity, which has the values that all share.
void fall(const muster::Update& update, Velocity& velocity, muster::Parent<const Gravity> world) {
  velocity.y += world->y * update.dt;
}
// guide: end

void singleton() {
  muster::EntityRegistry registry;
  const auto falling = registry.subscribe<fall>("cook.fall");
  // guide: using a singleton
  const Entity level = registry.create("level", Gravity{.y = -10});
  const Entity stone = registry.create_under(level, "stone", Velocity{});
  registry.push(muster::Update{.dt = 0.5f});
  require(registry.get<Velocity>(stone).y == -5);
  registry.set(level, Gravity{.y = 0});  // an edit like any other
  // guide: end
}

void changed_since() {
  muster::EntityRegistry registry;
  // guide: changed since
  std::vector<Entity> moved;
  const auto watch =
      registry.subscribe("render.moved", [&](const muster::Changed<Position>&, Entity e) { moved.push_back(e); });
  const Entity orc = registry.create(Position{}), rock = registry.create(Position{});
  registry.set(orc, Position{.x = 1});
  registry.set(rock, Position{});  // the value it has: no change
  require(moved == std::vector{orc});
  moved.clear();  // the next frame begins
  // guide: end
}

// guide: nearest
/// Gathers all places before the towers look. Three handlers of one pass share it, in a stated order.
class Field {
 public:
  explicit Field(muster::EntityRegistry& registry) {
    const std::vector<std::string> field = {"cook.field"};
    handlers_.add(registry.subscribe("field.clear", *this, &Field::clear,
                                     {.before = {"field.gather"}, .external_writes = field}));
    handlers_.add(registry.subscribe("field.gather", *this, &Field::gather, {.external_writes = field}));
    handlers_.add(
        registry.subscribe("field.aim", *this, &Field::aim, {.after = {"field.gather"}, .external_reads = field}));
  }

 private:
  void clear(const muster::Update&) { places_.clear(); }
  void gather(const muster::Update&, const Position& at, const Team& team, Entity self) {
    places_.push_back({at, team.number, self});
  }
  void aim(const muster::Update&, Aim& aim, const Tower& tower, const Position& own, const Team& team) {
    float best = tower.range;
    aim.at = {};
    for (const Place& place : places_) {  // a grid in its place, if there are thousands
      const float distance = std::hypot(place.at.x - own.x, place.at.y - own.y);
      if (place.team != team.number && distance < best) best = distance, aim.at = place.entity;
    }
  }
  struct Place {
    Position at;
    std::uint32_t team;
    Entity entity;
  };
  std::vector<Place> places_;
  muster::Handlers handlers_;
};
// guide: end

void nearest() {
  muster::EntityRegistry registry;
  Field field(registry);
  const Entity tower = registry.create(Position{}, Team{.number = 1}, Tower{}, Aim{});
  registry.create(Position{.x = 7}, Team{.number = 2});
  const Entity close = registry.create(Position{.x = 3}, Team{.number = 2});
  registry.create(Position{.x = 1}, Team{.number = 1});
  registry.push(muster::Update{});
  require(registry.get<Aim>(tower).at == close);
}

// guide: groups
void thaw(const muster::Update&, Health& health, muster::With<Frozen>, muster::Without<Tower>) { health.value -= 1; }
// guide: end

void groups() {
  muster::EntityRegistry registry;
  const auto thawing = registry.subscribe<thaw>("cook.thaw");
  const Entity orc = registry.create(Health{.value = 10}, Frozen{});
  const Entity tower = registry.create(Health{.value = 10}, Frozen{}, Tower{});
  registry.push(muster::Update{});
  require(registry.get<Health>(orc).value == 9 && registry.get<Health>(tower).value == 10);
}

void several_of_a_type() {
  muster::EntityRegistry registry;
  const Entity knight = registry.create("knight");
  // guide: several of a type
  registry.create_under(knight, "left", Position{.x = -1}).or_stop();
  registry.create_under(knight, "right", Position{.x = 1}).or_stop();
  float sum = 0;
  for (Entity hand = registry.first_child(knight); hand; hand = registry.next_sibling(hand))
    sum += registry.get<Position>(hand).x;
  // guide: end
  require(sum == 0 && registry.child_count(knight) == 2);
}

}  // namespace

void entities() {
  sorted();
  destroy_while_iterating();
  who_aims_at_me();
  singleton();
  changed_since();
  nearest();
  groups();
  several_of_a_type();
}

}  // namespace cook
