// The snippets of docs/coming-from.md.
#include <muster/registry.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "examples/cookbook/cookbook.h"
#include "examples/cookbook/cookbook_types.h"

namespace cook {
namespace {

using muster::Entity;

void observers() {
  muster::EntityRegistry registry;
  std::string order;
  muster::Handlers handlers;
  // guide: observers
  handlers.add(registry.subscribe("sound", [&](const muster::Added<Health>&, Entity) { order += "sound "; },
                                  {.after = {"index"}}));
  handlers.add(registry.subscribe("index", [&](const muster::Added<Health>&, Entity) { order += "index "; }));
  registry.create(Health{});
  require(order == "index sound ");  // in the stated order, each once
  // guide: end
}

void nested() {
  muster::EntityRegistry registry;
  std::string order;
  muster::Handlers handlers;
  // guide: nested
  handlers.add(registry.subscribe("a", [&](const Damage&, const Health&, Entity self, muster::Outbox& out) {
    out.post(self, Explode{});  // never inside this handler, never lost
    order += "a";
  }));
  handlers.add(registry.subscribe("b", [&](const Damage&, const Health&) { order += "b"; }));
  handlers.add(registry.subscribe("c", [&](const Explode&, const Health&) { order += "c"; }));
  registry.push(registry.create(Health{}), Damage{});
  require(order == "abc");
  // guide: end
}

void destroyed() {
  muster::EntityRegistry registry;
  float last = 0;
  // guide: destroyed
  const auto farewell =
      registry.subscribe("farewell", [&](const muster::Deactivated&, const Health& health, const Position& at) {
        last = health.value + at.x;  // all components are still there; children came before their parent
      });
  registry.destroy(registry.create(Health{.value = 5}, Position{.x = 2}));
  require(last == 7);
  // guide: end
}

// guide: an index
/// From a value to its entity, kept by three handlers.
class Badges {
 public:
  explicit Badges(muster::EntityRegistry& registry)
      : handlers_{registry.subscribe("badge.added", *this, &Badges::added),
                  registry.subscribe("badge.changed", *this, &Badges::changed),
                  registry.subscribe("badge.removed", *this, &Badges::removed)} {}
  Entity find(std::uint32_t number) const {
    const auto at = by_number_.find(number);
    return at == by_number_.end() ? Entity{} : at->second;
  }

 private:
  void added(const muster::Added<Badge>&, const Badge& badge, Entity self) { by_number_[badge.number] = self; }
  void changed(const muster::Changed<Badge>&, const Badge& badge, Entity self) {
    std::erase_if(by_number_, [&](const auto& each) { return each.second == self; });
    by_number_[badge.number] = self;
  }
  void removed(const muster::Removed<Badge>&, const Badge& badge, Entity) { by_number_.erase(badge.number); }
  std::unordered_map<std::uint32_t, Entity> by_number_;
  muster::Handlers handlers_;
};
// guide: end

void indexed() {
  muster::EntityRegistry registry;
  Badges badges(registry);
  const Entity guard = registry.create(Badge{.number = 7});
  require(badges.find(7) == guard);
  registry.set(guard, Badge{.number = 8});
  require(!badges.find(7) && badges.find(8) == guard);
  registry.destroy(guard);
  require(!badges.find(8));
}

void relations() {
  muster::EntityRegistry registry;
  const Entity rome = registry.create("rome"), ostia = registry.create("ostia");
  // guide: relations
  registry.create("salt", Trades{.from = ostia, .to = rome, .price = 3}).or_stop();
  registry.create("wine", Trades{.from = rome, .to = ostia, .price = 8}).or_stop();
  float paid = 0;
  registry.each<const Trades>([&](const Trades& trade) {
    if (trade.to == rome && registry.alive(trade.from)) paid += trade.price;
  });
  require(paid == 3);
  // guide: end
}

void changed_exactly() {
  muster::EntityRegistry registry;
  int changes = 0;
  // guide: changed exactly
  const auto touch = registry.subscribe("touch", [](const Damage& hit, Health& health) { health.value -= hit.amount; });
  const auto seen = registry.subscribe("seen", [&](const muster::Changed<Health>&, Entity) { ++changes; });
  const Entity orc = registry.create(Health{});
  registry.push(orc, Damage{.amount = 0});  // takes Health& and writes the value that was there
  require(changes == 0);
  registry.push(orc, Damage{.amount = 1});
  require(changes == 1);
  // guide: end
}

// guide: a tree
/// Parents are done before their children, whatever order they were made in.
void place(const Move& move, Position& at, muster::Parent<const Position*> up) { at.x = (up ? up->x : 0) + move.x; }
// guide: end

void tree() {
  muster::EntityRegistry registry;
  const auto placing = registry.subscribe<place>("place");
  const Entity body = registry.create(Position{});
  const Entity arm = registry.create_under(body, "arm", Position{});
  const Entity hand = registry.create_under(arm, "hand", Position{});
  registry.push(Move{.x = 1});
  require(registry.get<Position>(hand).x == 3);
}

}  // namespace

void coming_from() {
  observers();
  nested();
  destroyed();
  indexed();
  relations();
  changed_exactly();
  tree();
}

}  // namespace cook
