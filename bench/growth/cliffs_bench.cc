// Works that once grew faster than what they are about; see growth_bench.cc.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/growth/grows.h"
#include "messages/batch_builder.h"
#include "messages/row_set.h"

using namespace muster;
using namespace bench;

namespace {

// --- components of ancestors ---

/// A chain in which a handler looks for an ancestor that has a component, and finds none.
template <class Word>
void above_nobody(Measure& measure, std::uint32_t depth) {
  EntityRegistry registry;
  Entity at;
  for (std::uint32_t i = 0; i < depth; ++i) at = registry.create_under(at, {}, Spot{1, 2});
  registry.create(Extra{}, Mass{}, Charge{});
  std::uint64_t seen = 0;
  const Subscription s = registry.subscribe(
      "above", [&seen](const Update&, Spot&, Word above) { seen += above ? 1 : 0; }, {.external_writes = {"seen"}});
  measure.run(depth, [&] { registry.push(Update{}); });
  if (seen != 0) std::abort();
}
const Grows parent_rows("parent_of_nobody", {1000, 16'000}, above_nobody<Parent<const Extra*>>);
const Grows parent_with_rows("parent_with_nobody", {1000, 16'000}, above_nobody<ParentWith<const Extra*, Mass>>);
const Grows up_to_rows("up_to_nobody", {1000, 16'000}, above_nobody<UpTo<const Extra*, Mass>>);

// --- archetypes ---

/// Creates entities with each set of the tags, so that each has an archetype of its own.
class Sets {
 public:
  explicit Sets(EntityRegistry& registry) : registry_(registry) {
    add<T0, T1, T2, T3, T4, Position, Spot, Velocity, Extra, Local, WorldPlace, Turned, Level>();
    registry.add_type<Mass>();
  }
  void create(std::uint32_t set) {
    std::vector<PayloadShape> shapes{shape<Mass>()};
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (set >> i & 1) shapes.push_back(shapes_[i]);
    std::ranges::sort(shapes, {}, &PayloadShape::type);
    const Entity e = registry_.create();
    BatchBuilder builder;
    builder.append_rows(RowSet(PayloadShape::of<Set>(), shapes), e);
    registry_.host().push_batch(builder.bytes());
  }

 private:
  template <class C>
  PayloadShape shape() const {
    return PayloadShape::of(*registry_.types().find(TypeTraits<C>::id));
  }
  template <class... Cs>
  void add() {
    (registry_.add_type<Cs>(), ...);
    shapes_ = {shape<Cs>()...};
  }
  EntityRegistry& registry_;
  std::vector<PayloadShape> shapes_;
};

void hit(const Hit& hit, Mass& mass) { mass.value += hit.amount; }

void make_archetypes(Measure& measure, std::uint32_t count) {
  std::unique_ptr<EntityRegistry> registry;
  measure.run(
      count, [&] { registry = std::make_unique<EntityRegistry>(); },
      [&] {
        Sets sets(*registry);
        for (std::uint32_t i = 0; i < count; ++i) sets.create(i);
      });
}
void pass_archetypes(Measure& measure, std::uint32_t count) {
  EntityRegistry registry;
  Sets sets(registry);
  for (std::uint32_t i = 0; i < count; ++i) sets.create(i);
  const Subscription s = registry.subscribe<hit>("hit");
  measure.run(count, [&] { registry.push(Hit{}); });
}
void drop_archetypes(Measure& measure, std::uint32_t count) {
  std::unique_ptr<EntityRegistry> registry;
  measure.run(
      count,
      [&] {
        registry = std::make_unique<EntityRegistry>();
        Sets sets(*registry);
        for (std::uint32_t i = 0; i < count; ++i) sets.create(i);
      },
      [&] {
        std::vector<Entity> all;
        registry->each<>([&](Entity e) { all.push_back(e); });
        registry->push(std::span<const Entity>(all), Destroy{});
        registry->create(Charge{});
      });
}
/// The first message to a new archetype, per handler of the message.
void first_message(Measure& measure, std::uint32_t handlers) {
  std::unique_ptr<EntityRegistry> registry;
  std::vector<Subscription> all;
  Entity e;
  measure.run(
      handlers,
      [&] {
        all.clear();
        registry = std::make_unique<EntityRegistry>();
        for (std::uint32_t i = 0; i < handlers; ++i)
          all.push_back(registry->subscribe<hit>("handler " + std::to_string(i)));
        e = registry->create(Mass{});
        registry->push(e, Hit{});
      },
      [&] {
        e = registry->create(Mass{}, Extra{});
        registry->push(e, Hit{});
      });
}
const Grows make_rows("make_archetypes", {100, 8000}, make_archetypes);
const Grows pass_rows("pass_archetypes", {100, 8000}, pass_archetypes);
const Grows drop_rows("drop_archetypes", {100, 8000}, drop_archetypes);
const Grows first_rows("first_message", {100, 10'000}, first_message);

// --- timers ---

/// Timers that are due at different times, in no order.
std::vector<TimerId> set_timers(EntityRegistry& registry, std::uint32_t count) {
  std::mt19937 random(1);
  std::vector<std::uint64_t> dues(count);
  for (std::uint32_t i = 0; i < count; ++i) dues[i] = registry.now_ns() + 1 + i;
  std::ranges::shuffle(dues, random);
  std::vector<TimerId> timers;
  timers.reserve(count);
  for (const std::uint64_t due : dues) timers.push_back(registry.post_at(due, Entity{1, 1}, Hit{}));
  registry.flush();
  std::ranges::shuffle(timers, random);
  return timers;
}
void set_many_timers(Measure& measure, std::uint32_t count) {
  std::unique_ptr<EntityRegistry> registry;
  measure.run(count, [&] { registry = std::make_unique<EntityRegistry>(); }, [&] { set_timers(*registry, count); });
}
void cancel_timers(Measure& measure, std::uint32_t count) {
  EntityRegistry registry;
  std::vector<TimerId> timers;
  measure.run(
      count, [&] { timers = set_timers(registry, count); },
      [&] {
        for (const TimerId timer : timers) registry.cancel(timer);
      });
}
void fire_timers(Measure& measure, std::uint32_t count) {
  EntityRegistry registry;
  measure.run(count, [&] { set_timers(registry, count); }, [&] { registry.advance(count); });
}
const Grows set_timer_rows("set_timers", {1000, 1'000'000}, set_many_timers);
const Grows cancel_rows("cancel_timers", {1000, 1'000'000}, cancel_timers);
const Grows fire_rows("fire_timers", {1000, 1'000'000}, fire_timers);

// --- siblings ---

void reorder_siblings(Measure& measure, std::uint32_t count) {
  EntityRegistry registry;
  const Entity parent = registry.create();
  std::vector<Entity> children;
  for (std::uint32_t i = 0; i < count; ++i)
    children.push_back(registry.create_under(parent, "child " + std::to_string(i), Spot{}));
  std::mt19937 random(1);
  measure.run(
      count, [&] { std::ranges::shuffle(children, random); },
      [&] {
        for (std::uint32_t i = 0; i < count; ++i) registry.reparent(children[i], parent, children[(i + 1) % count]);
      });
}
const Grows reorder_rows("reorder_siblings", {1000, 100'000}, reorder_siblings);

}  // namespace
