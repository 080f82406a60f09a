// What it costs to be observed: the same work in registries of which one was never observed. That one is the limit here.
#include "bench/handlers.h"
#include "bench/support.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"

using namespace muster;
using namespace bench;

namespace {

enum class Observed { never, off, on, traced, causes };

constexpr std::uint32_t count = 10'000;

/// One for each way: what was observed once is not like one that never was.
template <Observed how>
struct Watched : World {
  std::vector<Entity> entities;
  Trace trace;
  Watched() {
    entities = registry.create_many(count, Position{}, Velocity{1, 2}, Mass{});
    if (how == Observed::never) return;
    if (how == Observed::traced) registry.profile().set_trace(&trace);
    registry.profile().observe(true);
    if (how == Observed::off) registry.profile().observe(false);
    if (how == Observed::causes) registry.profile().record_causes(true);
  }
  ~Watched() { registry.profile().set_trace(nullptr); }
};

/// `send` gives every entity its message.
template <Observed how, class Send>
void hits(Measure& measure, Send send) {
  auto& world = kept<Watched<how>>();
  const auto s = world.registry.template subscribe<on_hit>("hit");
  measure.run(count, [&] {
    world.checkpoint();
    send(world.registry, world.entities);
  });
}
template <Observed how>
void push(Measure& measure) {
  hits<how>(measure, [](EntityRegistry& registry, const std::vector<Entity>& entities) {
    for (const Entity e : entities) registry.push(e, Hit{1});
  });
}
template <Observed how>
void posted(Measure& measure) {
  hits<how>(measure, [](EntityRegistry& registry, const std::vector<Entity>& entities) {
    for (const Entity e : entities) registry.post(e, Hit{1});
    registry.flush();
  });
}
template <Observed how>
void pass(Measure& measure) {
  auto& world = kept<Watched<how>>();
  const auto s = world.registry.template subscribe<move<Position>>("move");
  measure.run(count, [&] {
    world.checkpoint();
    world.registry.push(Update{.dt = 0.1f});
  });
}

struct Rows {
  Rows(const std::string& work, void (*never)(Measure&), void (*off)(Measure&), void (*on)(Measure&),
       void (*traced)(Measure&), void (*causes)(Measure&))
      : rows{{work + "/limit", no_goal, never},
             {work + "/off", no_goal, off},
             {work + "/on", no_goal, on},
             {work + "/traced", no_goal, traced},
             {work + "/causes", no_goal, causes}} {}
  Entry rows[5];
};
using enum Observed;
const Rows push_rows("observed_push", push<never>, push<off>, push<on>, push<traced>, push<causes>);
const Rows posted_rows("observed_posted", posted<never>, posted<off>, posted<on>, posted<traced>, posted<causes>);
const Rows pass_rows("observed_pass", pass<never>, pass<off>, pass<on>, pass<traced>, pass<causes>);

}  // namespace
