// A game's debug build: this file is compiled with -O0, the library as it is shipped. If EnTT's
// header is on the include path, the same work is also measured with EnTT.
#include "bench/handlers.h"
#include "bench/support.h"

#if __has_include(<entt/entt.hpp>)
#include <entt/entt.hpp>
#endif

namespace debug_bench {

using namespace muster;
using namespace bench;

namespace {

constexpr std::uint32_t rows = 100'000;

struct PlainRows {
  std::vector<Position> positions = std::vector<Position>(rows);
  std::vector<Velocity> velocities = std::vector<Velocity>(rows, Velocity{1, 2});
};
void pass_limit(Measure& measure) {
  auto& plain = kept<PlainRows>();
  measure.run(rows, [&] {
    const Update update{.dt = 0.1f};
    for (std::size_t i = 0; i < plain.positions.size(); ++i) move(update, plain.positions[i], plain.velocities[i]);
    benchmark::ClobberMemory();
  });
}
struct Moving {
  EntityRegistry registry;
  Moving() { registry.create_many(rows, Position{}, Velocity{1, 2}); }
};
void pass(Measure& measure) {
  auto& registry = kept<Moving>().registry;
  const auto s = registry.subscribe<move<Position>>("move");
  measure.run(rows, [&] { registry.push(Update{.dt = 0.1f}); });
}

struct Hurt {
  std::vector<Mass> masses = std::vector<Mass>(rows);
};
void message_limit(Measure& measure) {
  auto& plain = kept<Hurt>();
  measure.run(rows, [&] {
    for (std::size_t i = 0; i < plain.masses.size(); ++i) on_hit(Hit{.amount = 1}, plain.masses[i]);
    benchmark::ClobberMemory();
  });
}
struct Targets {
  EntityRegistry registry;
  std::vector<Entity> targets = registry.create_many(rows, Mass{});
};
void message(Measure& measure) {
  auto& world = kept<Targets>();
  const auto s = world.registry.subscribe<on_hit>("hit");
  measure.run(rows, [&] {
    for (const Entity target : world.targets) world.registry.push(target, Hit{.amount = 1});
  });
}

const Entry pass_limit_row("debug_pass/limit", no_goal, pass_limit);
const Entry pass_row("debug_pass/muster", ratio(1), pass);
const Entry message_limit_row("debug_message/limit", no_goal, message_limit);
const Entry message_row("debug_message/muster", no_goal, message);

#if __has_include(<entt/entt.hpp>)
void pass_entt(Measure& measure) {
  entt::registry registry;
  for (std::uint32_t i = 0; i < rows; ++i) {
    const auto e = registry.create();
    registry.emplace<Position>(e);
    registry.emplace<Velocity>(e, Velocity{1, 2});
  }
  measure.run(rows, [&] {
    const Update update{.dt = 0.1f};
    registry.view<Position, const Velocity>().each([&](Position& p, const Velocity& v) { move(update, p, v); });
  });
}
struct Struck {
  entt::registry* registry;
  entt::entity target;
  Hit hit;
};
void strike(const Struck& struck) { on_hit(struck.hit, struck.registry->get<Mass>(struck.target)); }
void message_entt(Measure& measure) {
  entt::registry registry;
  entt::dispatcher dispatcher;
  dispatcher.sink<Struck>().connect<strike>();
  std::vector<entt::entity> targets(rows);
  for (auto& target : targets) registry.emplace<Mass>(target = registry.create());
  measure.run(rows, [&] {
    for (const auto target : targets) dispatcher.trigger(Struck{&registry, target, Hit{.amount = 1}});
  });
}
const Entry pass_entt_row("debug_pass/entt", no_goal, pass_entt);
const Entry message_entt_row("debug_message/entt", no_goal, message_entt);
#endif

}  // namespace

}  // namespace debug_bench
