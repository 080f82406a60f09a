// A handler of each shape that a handler may have. Compiled with a user's flags, and never run.
#include <muster/registry.h>

#include <memory>
#include <span>
#include <string_view>

#include "game.h"

struct Voice {
  std::unique_ptr<int> sound;
};
template <>
struct muster::RuntimeTraits<Voice> {
  static constexpr std::string_view name = "game.Voice";
};

namespace game {

using muster::Entity;
using muster::Outbox;

void message(const Hit&) {}
void message_written(Hit& hit) { hit.amount = 1; }
void view(const ShoutView&) {}
void view_and_row(const ShoutView&, const Creep&, Entity) {}
void component(const Hit&, Creep& creep) { creep.at.x = 1; }
void component_read(const Hit&, const Creep&) {}
void components(const Hit& hit, Creep& creep, const Speed& speed, Entity) { creep.at.x += speed.value * hit.amount; }
void optional(const Hit&, const Creep*, Speed*) {}
void runtime(const Hit&, Voice&) {}
void spans(const Hit&, std::span<Creep>, std::span<const Entity>) {}
void id(const Hit&, Entity) {}
void outbox(const Hit& hit, Entity self, Outbox& out) { out.post(self, hit); }
void outbox_alone(const Hit&, Outbox&) {}
void spawner(const Hit&, muster::Spawner& spawner) { spawner.create_under({}, "creep", Creep{}); }
void filters(const Hit&, muster::With<Asleep>, muster::Without<Speed>) {}
void filters_above(const Hit&, muster::WithoutParent<Asleep>, muster::WithoutSelfOrParent<Speed>) {}
void above(const Hit&, muster::Parent<const Creep>, muster::SelfOrParent<const Speed*>) {}
void above_some(const Hit&, muster::ParentWith<const Creep, Speed>, muster::UpTo<const Creep*, Asleep>) {}
void other(const Hit&, muster::Other<const Creep>) {}
void lookup(const Hit&, Creep&, muster::Lookup<const Speed>) {}
muster::Verdict verdict(const Hit&) { return muster::Verdict::consume; }
muster::Verdict verdict_of_row(const Hit&, Creep&) { return muster::Verdict::proceed; }
void without_throwing(const Hit&, Creep&) noexcept {}
void added(const muster::Added<Creep>&, Entity) {}
void changed(const muster::Changed<Creep>&, const Creep&) {}
void removed(const muster::Removed<Creep>&) {}

struct Subsystem {
  void message(const Hit&) {}
  void row(const Hit&, Creep&) const {}
};

/// Subscribes a function as a pointer and as a constant.
template <auto f>
void both(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  handlers.add(registry.subscribe("game.pointer", f));
  handlers.add(registry.subscribe<f>("game.constant"));
}
template <auto... f>
void all(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  (both<f>(registry, handlers), ...);
}

muster::Handlers subscribe_shapes(muster::EntityRegistry& registry) {
  muster::Handlers handlers;
  all<message, message_written, view, view_and_row, component, component_read, components, optional, runtime, spans, id,
      outbox, outbox_alone, spawner, filters, filters_above, above, above_some, other, lookup, verdict, verdict_of_row,
      without_throwing, added, changed, removed>(registry, handlers);
  Subsystem& subsystem = handlers.keep(std::make_shared<Subsystem>());
  handlers.add(registry.subscribe("game.member", subsystem, &Subsystem::message));
  handlers.add(registry.subscribe("game.row", subsystem, &Subsystem::row));
  int count = 0;
  handlers.add(registry.subscribe("game.lambda", [](const Hit&) {}));
  handlers.add(registry.subscribe("game.captures", [count](const Hit&, Creep&) mutable { ++count; }));
  handlers.add(registry.subscribe("game.dynamic", muster::DynamicShape{.message = muster::TypeTraits<Hit>::id},
                                  [](const muster::DynamicCall&) {}));
  return handlers;
}

}  // namespace game
