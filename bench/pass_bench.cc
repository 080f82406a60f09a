// Passes: one broadcast message, a handler over every matching row.
#include "bench/handlers.h"
#include "bench/support.h"

namespace pass_bench {

using namespace muster;
using namespace bench;

namespace {

template <std::uint32_t count, class P = Position>
struct PlainRows {
  std::vector<P> positions = std::vector<P>(count);
  std::vector<Velocity> velocities = std::vector<Velocity>(count, Velocity{1, 2});
  void move() {
    P* __restrict p = positions.data();
    const Velocity* __restrict v = velocities.data();
    const std::size_t rows = positions.size();  // no constant: how many there are is known when the program runs
    for (std::size_t i = 0; i < rows; ++i) {
      p[i].x += v[i].x * 0.1f;
      p[i].y += v[i].y * 0.1f;
    }
    benchmark::ClobberMemory();
  }
};
template <std::uint32_t count, class P = Position>
void pass_limit(Measure& measure) {
  auto& rows = kept<PlainRows<count, P>>();
  measure.run(count, [&] { rows.move(); });
}

template <std::uint32_t count, class P = Position>
struct Rows : World {
  Rows() { registry.create_many(count, P{}, Velocity{1, 2}); }
};
template <std::uint32_t count, bool lambda = false, class P = Position>
void pass(Measure& measure) {
  auto& world = kept<Rows<count, P>>();
  const auto s = lambda ? world.registry.subscribe("move",
                                                   [](const Update& u, P& p, const Velocity& v) {
                                                     p.x += v.x * u.dt;
                                                     p.y += v.y * u.dt;
                                                   })
                        : world.registry.template subscribe<move<P>>("move");
  auto& plain = kept<PlainRows<count, P>>();
  measure.run_beside(
      count, [&] { plain.move(); },
      [&] {
        world.checkpoint();
        world.registry.push(Update{.dt = 0.1f});
      });
}
const Entry pass_10k_limit_row("pass_10k/limit", no_goal, pass_limit<10'000>);
const Entry pass_10k_row("pass_10k/muster", ratio(1.1), pass<10'000>, Turns::in_turns);
const Entry pass_10k_lambda_row("pass_10k/lambda", ratio(1.1), pass<10'000, true>, Turns::in_turns);
const Entry pass_100k_limit_row("pass_100k/limit", no_goal, pass_limit<100'000>);
const Entry pass_100k_row("pass_100k/muster", ratio(1.1), pass<100'000>, Turns::in_turns);
const Entry pass_1m_limit_row("pass_1m/limit", no_goal, pass_limit<1'000'000>);
const Entry pass_1m_row("pass_1m/muster", ratio(1.1), pass<1'000'000>, Turns::in_turns);
const Entry pass_10m_limit_row("pass_10m/limit", no_goal, pass_limit<10'000'000>);
const Entry pass_10m_row("pass_10m/muster", ratio(1.1), pass<10'000'000>, Turns::in_turns);
const Entry narrow_10k_limit_row("narrow_pass_10k/limit", no_goal, pass_limit<10'000, Spot>);
const Entry narrow_10k_row("narrow_pass_10k/muster", ratio(1.1), pass<10'000, false, Spot>, Turns::in_turns);
const Entry narrow_1m_limit_row("narrow_pass_1m/limit", no_goal, pass_limit<1'000'000, Spot>);
const Entry narrow_1m_row("narrow_pass_1m/muster", ratio(1.1), pass<1'000'000, false, Spot>, Turns::in_turns);

struct Rows32 : World {
  Rows32() {
    const auto some = [&]<class... Tags>(Tags... tags) {
      registry.create_many(1'000'000 / 32, Position{}, Velocity{1, 2}, tags...);
    };
    const auto with4 = [&](auto... tags) { some(tags...), some(tags..., T4{}); };
    const auto with3 = [&](auto... tags) { with4(tags...), with4(tags..., T3{}); };
    const auto with2 = [&](auto... tags) { with3(tags...), with3(tags..., T2{}); };
    const auto with1 = [&](auto... tags) { with2(tags...), with2(tags..., T1{}); };
    with1(), with1(T0{});
  }
};
void pass_32(Measure& measure) {
  auto& world = kept<Rows32>();
  const auto s = world.registry.subscribe<move<Position>>("move");
  auto& plain = kept<PlainRows<1'000'000>>();
  measure.run_beside(
      1'000'000, [&] { plain.move(); },
      [&] {
        world.checkpoint();
        world.registry.push(Update{.dt = 0.1f});
      });
}
const Entry pass_32_row("pass_1m/32_archetypes", ratio(1.2), pass_32, Turns::in_turns);

/// The least a pass can be: the seal, and a jump.
void nothing_limit(Measure& measure) {
  Features features;
  InputSink* sink = &features;
  void (*call)(const Update&) = [](const Update&) {};
  benchmark::DoNotOptimize(sink);
  benchmark::DoNotOptimize(call);
  const std::byte bytes[48] = {};
  std::uint64_t sequence = 0;
  measure.run(1, [&] {
    sink->on_input({.sequence = ++sequence}, bytes);
    call(Update{.dt = 0.1f});
  });
}
template <bool somebody>
void nothing(Measure& measure) {
  World world;
  world.registry.create_many(1000, Mass{});
  Handlers handlers;
  if (somebody) handlers.add(world.registry.subscribe<move<Position>>("move"));
  measure.run(1, [&] { world.registry.push(Update{.dt = 0.1f}); });
}
const Entry nothing_limit_row("pass_of_nothing/limit", no_goal, nothing_limit);
const Entry nothing_empty_row("pass_of_nothing/no_handler", ratio(48), nothing<false>);
const Entry nothing_matching_row("pass_of_nothing/no_match", ratio(48), nothing<true>);

// --- a parent's place to its children: seven levels, ten children each ---

void follow(const Update&, WorldPlace& world, const Local& local, Parent<const WorldPlace*> up) {
  if (up) {
    world.x = up->x + local.x;
    world.y = up->y + local.y;
    world.z = up->z + local.z;
    world.angle = up->angle + local.angle;
  } else {
    world = {local.x, local.y, local.z, local.angle};
  }
}

constexpr std::uint32_t levels = 7, fan = 10;
constexpr std::uint32_t tree_nodes = 1'111'111;

/// Whose children the nodes of the next level are, given how many nodes this level has.
std::vector<std::uint32_t> parents_of_level(std::uint32_t above, bool random) {
  std::vector<std::uint32_t> parents = random ? shuffled(above * fan) : std::vector<std::uint32_t>(above * fan);
  for (std::uint32_t i = 0; i < above * fan; ++i) parents[i] = (random ? parents[i] : i) / fan;
  return parents;
}

template <bool random>
struct PlainTree {
  std::vector<Local> locals = std::vector<Local>(tree_nodes, Local{1, 1, 1, 1});
  std::vector<WorldPlace> worlds = std::vector<WorldPlace>(tree_nodes);
  std::vector<std::uint32_t> parents = {~0u};
  PlainTree() {
    std::uint32_t begin = 0, above = 1;
    for (std::uint32_t level = 1; level < levels; ++level) {
      for (const std::uint32_t parent : parents_of_level(above, random)) parents.push_back(begin + parent);
      begin += above;
      above *= fan;
    }
  }
};
template <bool random>
void tree_limit(Measure& measure) {
  auto& [locals, worlds, parents] = kept<PlainTree<random>>();
  measure.run(tree_nodes, [&] {
    for (std::size_t i = 0; i < tree_nodes; ++i) {
      if (parents[i] == ~0u) {
        worlds[i] = {locals[i].x, locals[i].y, locals[i].z, locals[i].angle};
        continue;
      }
      const WorldPlace& up = worlds[parents[i]];
      worlds[i] = {up.x + locals[i].x, up.y + locals[i].y, up.z + locals[i].z, up.angle + locals[i].angle};
    }
    benchmark::ClobberMemory();
  });
}
template <bool random>
struct Tree : World {
  Tree() {
    std::vector<Entity> above{registry.create(Local{1, 1, 1, 1}, WorldPlace{})};
    for (std::uint32_t level = 1; level < levels; ++level) {
      std::vector<Entity> here;
      for (const std::uint32_t parent : parents_of_level(static_cast<std::uint32_t>(above.size()), random))
        here.push_back(registry.create_under(above[parent], {}, Local{1, 1, 1, 1}, WorldPlace{}));
      above = std::move(here);
    }
  }
};
template <bool random>
void tree(Measure& measure) {
  auto& world = kept<Tree<random>>();
  const auto s = world.registry.template subscribe<follow>("follow");
  measure.run(tree_nodes, [&] {
    world.checkpoint();
    world.registry.push(Update{.dt = 0.1f});
  });
}
const Entry tree_limit_row("tree/limit", no_goal, tree_limit<false>);
const Entry tree_limit_shuffled_row("tree/limit_shuffled", no_goal, tree_limit<true>);
const Entry tree_row("tree/in_order", ratio(4 / 1.5), tree<false>);
const Entry tree_shuffled_row("tree/shuffled", ratio(10 / 1.5), tree<true>);

}  // namespace
}  // namespace pass_bench
