// Ids and rows: create, alive, destroy, add a component, move a subtree; memory per entity.
#include <malloc.h>

#include "bench/plain_rows.h"
#include "bench/support.h"
#include "registry/host.h"
#include "registry/storage/hierarchy.h"
#include "registry/templates/template_tree.h"

using namespace muster;
using namespace bench;

namespace {

// --- id only ---

void create_id_limit(Measure& measure) {
  PlainRows rows;
  std::uint32_t generation = 0;
  measure.run(many, [&] {
    rows.make_ids(++generation);
    benchmark::ClobberMemory();
  });
}
const Entry create_id_limit_row("create_id/limit", no_goal, create_id_limit);

/// Creates what was destroyed before, so that chunks and directory are warm. Id only where `Cs` is empty.
template <bool bulk, class... Cs>
void create_warm(Measure& measure, const Cs&... components) {
  World world;
  std::vector<Entity> made(many);
  measure.run(
      many,
      [&] {
        if (made.front()) world.registry.push(std::span<const Entity>(made), Destroy{});
        world.checkpoint();
      },
      [&] {
        if constexpr (bulk)
          made = world.registry.create_many(many, components...);
        else
          for (Entity& e : made) e = world.registry.create(components...);
      });
}
void create_id_one(Measure& measure) { create_warm<false>(measure); }
void create_id_bulk(Measure& measure) { create_warm<true>(measure); }
const Entry create_id_one_row("create_id/one_by_one", ratio(8), create_id_one);
const Entry create_id_bulk_row("create_id/bulk", ratio(2), create_id_bulk);

/// Into a registry that was never used: with what the system takes for fresh pages.
void create_id_fresh(Measure& measure) {
  std::unique_ptr<World> world;
  measure.run(
      many, [&] { world = std::make_unique<World>(); },
      [&] { benchmark::DoNotOptimize(world->registry.create_many(many)); });
}
const Entry create_id_fresh_row("create_id/bulk_fresh", no_goal, create_id_fresh);

// --- with three components ---

void create3_limit(Measure& measure) {
  PlainRows rows;
  std::uint32_t generation = 0;
  measure.run(many, [&] {
    ++generation;
    for (rows.count = 0; rows.count < many;) {
      const std::uint32_t i = rows.count++;
      rows.slots[i] = {generation, i};
      rows.ids[i] = {i, generation};
      rows.made[i] = {i, generation};
      rows.positions[i] = some_position;
      rows.velocities[i] = some_velocity;
      rows.masses[i] = some_mass;
      benchmark::ClobberMemory();  // one by one, as they are asked for
    }
  });
}
void create3_one(Measure& measure) { create_warm<false>(measure, some_position, some_velocity, some_mass); }
const Entry create3_limit_row("create3/limit", no_goal, create3_limit);
const Entry create3_one_row("create3/one_by_one", ratio(12 / 2.6), create3_one);

void create3_bulk_limit(Measure& measure) {
  PlainRows rows;
  std::uint32_t generation = 0;
  measure.run(many, [&] {
    rows.make_ids(++generation);
    std::ranges::fill(rows.positions, some_position);
    std::ranges::fill(rows.velocities, some_velocity);
    std::ranges::fill(rows.masses, some_mass);
    benchmark::ClobberMemory();
  });
}
void create3_bulk(Measure& measure) { create_warm<true>(measure, some_position, some_velocity, some_mass); }
const Entry create3_bulk_limit_row("create3_bulk/limit", no_goal, create3_bulk_limit);
const Entry create3_bulk_row("create3_bulk/muster", ratio(2), create3_bulk);

/// Trees of ten from a template, each one message. The limit writes the same rows tree by tree: children have a parent and a
/// name, and all but the root siblings.
constexpr std::uint32_t tree_nodes = 10;
std::string node_name(std::uint32_t node) { return node == 0 ? "" : "n" + std::to_string(node); }
void template_limit(Measure& measure) {
  struct Node {
    Position position = some_position;
    Velocity velocity = some_velocity;
    Mass mass = some_mass;
    Name name;
    Links links;  // by number in the tree, plus one
  };
  std::vector<Node> tree(tree_nodes);
  tree[0].links = {.first_child = 2, .last_child = tree_nodes, .children = tree_nodes - 1};
  for (std::uint32_t i = 1; i < tree_nodes; ++i) {
    tree[i].name = {text_of(node_name(i))};
    tree[i].links = {.next = i + 1 < tree_nodes ? i + 2 : 0, .previous = i > 1 ? i : 0};
  }
  PlainRows rows;
  std::vector<Name> names(many);
  std::vector<Links> links(many);
  std::uint32_t generation = 0;
  measure.run(many, [&] {
    ++generation;
    for (std::uint32_t root = 0; root < many; root += tree_nodes) {
      const auto index = [root](std::uint32_t node) { return node ? root + node - 1 : 0; };
      for (std::uint32_t i = 0; i < tree_nodes; ++i) {
        const Node& node = tree[i];
        const std::uint32_t row = root + i;
        rows.slots[row] = {generation, row};
        rows.ids[row] = {row, generation};
        rows.made[row] = {row, generation};
        rows.parents[row] = i ? Entity{root, generation} : Entity{};
        rows.positions[row] = node.position;
        rows.velocities[row] = node.velocity;
        rows.masses[row] = node.mass;
        names[row] = node.name;
        links[row] = {index(node.links.first_child), index(node.links.last_child), index(node.links.next),
                      index(node.links.previous), node.links.children};
      }
      benchmark::ClobberMemory();  // one by one, as they are asked for
    }
  });
}
void template_trees(Measure& measure) {
  World world;
  TemplateTree tree("ten");
  for (std::uint32_t i = 0; i < tree_nodes; ++i)
    tree.set(node_name(i), some_position).set(node_name(i), some_velocity).set(node_name(i), some_mass);
  world.registry.define_template(tree);
  std::vector<Entity> roots(many / tree_nodes);
  measure.run(
      many,
      [&] {
        if (roots.front()) world.registry.push(std::span<const Entity>(roots), Destroy{});
        world.checkpoint();
      },
      [&] {
        for (Entity& e : roots) e = world.registry.spawn("ten");
      });
}
const Entry template_limit_row("template/limit", no_goal, template_limit);
const Entry template_row("template/muster", promised(3), template_trees);

void destroy3_limit(Measure& measure) {
  PlainRows rows;
  measure.run(
      many, [&] { rows.fill(); },
      [&] {
        for (std::uint32_t i = 0; i < many; ++i) {
          PlainSlot& slot = rows.slots[i];
          if (slot.generation != 1) continue;
          const std::uint32_t row = slot.row, last = --rows.count;
          rows.slots[rows.ids[last].index].row = row;
          rows.ids[row] = rows.ids[last];
          rows.positions[row] = rows.positions[last];
          rows.velocities[row] = rows.velocities[last];
          rows.masses[row] = rows.masses[last];
          ++slot.generation;
        }
        benchmark::ClobberMemory();
      });
}
const Entry destroy3_limit_row("destroy3/limit", no_goal, destroy3_limit);

struct Crowd : World {
  std::vector<Entity> made;
  void fill() {
    made = registry.create_many(many, some_position, some_velocity, some_mass);
    checkpoint();
  }
};
void destroy3_one(Measure& measure) {
  Crowd crowd;
  measure.run(
      many, [&] { crowd.fill(); },
      [&] {
        for (const Entity e : crowd.made) crowd.registry.destroy(e);
      });
}
void destroy3_bulk(Measure& measure) {
  Crowd crowd;
  measure.run(
      many, [&] { crowd.fill(); }, [&] { crowd.registry.push(std::span<const Entity>(crowd.made), Destroy{}); });
}
const Entry destroy3_one_row("destroy3/one_by_one", promised(1.3), destroy3_one);
const Entry destroy3_bulk_row("destroy3/bulk", promised(1), destroy3_bulk);

// --- a fourth component ---

void add4_limit(Measure& measure) {
  PlainRows rows, wider;
  measure.run(
      many,
      [&] {
        rows.fill();
        wider.count = 0;
      },
      [&] {
        for (std::uint32_t i = 0; i < many; ++i) {
          PlainSlot& slot = rows.slots[i];
          if (slot.generation != 1) continue;
          const std::uint32_t from = slot.row, to = wider.count++, last = --rows.count;
          wider.ids[to] = rows.ids[from];
          wider.positions[to] = rows.positions[from];
          wider.velocities[to] = rows.velocities[from];
          wider.masses[to] = rows.masses[from];
          wider.extras[to] = Extra{7};
          slot.row = to;
          rows.slots[rows.ids[last].index].row = from;
          rows.ids[from] = rows.ids[last];
          rows.positions[from] = rows.positions[last];
          rows.velocities[from] = rows.velocities[last];
          rows.masses[from] = rows.masses[last];
        }
        benchmark::ClobberMemory();
      });
}
void add4(Measure& measure) {
  Crowd crowd;
  crowd.fill();
  bool wide = false;
  measure.run(
      many,
      [&] {
        if (wide) crowd.registry.push(std::span<const Entity>(crowd.made), Remove{.component = TypeTraits<Extra>::id});
        wide = true;
        crowd.checkpoint();
      },
      [&] {
        for (const Entity e : crowd.made) crowd.registry.set(e, Extra{7});
      });
}
const Entry add4_limit_row("add_a_4th/limit", no_goal, add4_limit);
const Entry add4_row("add_a_4th/muster", promised(1.4), add4);

/// A component whose rows stay where they are when it comes and goes; each entity had it before.
void add_enableable_limit(Measure& measure) {
  PlainRows rows;
  std::vector<std::uint32_t> there(many);
  measure.run(
      many,
      [&] {
        rows.fill();
        std::ranges::fill(there, 0u);
      },
      [&] {
        for (std::uint32_t i = 0; i < many; ++i) {
          const PlainSlot& slot = rows.slots[i];
          if (slot.generation != 1) continue;
          there[slot.row] = 1;
          rows.extras[slot.row] = Extra{7};
          benchmark::ClobberMemory();  // one by one, as they are asked for
        }
      });
}
void remove_enableable_limit(Measure& measure) {
  PlainRows rows;
  std::vector<std::uint32_t> there(many);
  measure.run(
      many,
      [&] {
        rows.fill();
        std::ranges::fill(there, 1u);
      },
      [&] {
        for (std::uint32_t i = 0; i < many; ++i) {
          const PlainSlot& slot = rows.slots[i];
          if (slot.generation != 1 || there[slot.row] == 0) continue;
          there[slot.row] = 0;
          rows.extras[slot.row] = Extra{};
          benchmark::ClobberMemory();
        }
      });
}
template <bool adds, bool sink>
void enableable(Measure& measure) {
  Crowd crowd;
  if (!sink) crowd.registry.host().remove_sink(crowd.features);
  crowd.fill();
  const auto add = [&] {
    for (const Entity e : crowd.made) crowd.registry.set(e, Charge{7});
  };
  const auto remove = [&] {
    for (const Entity e : crowd.made) crowd.registry.remove<Charge>(e);
  };
  add();
  if (adds) remove();
  bool first = true;
  measure.run(
      many,
      [&] {
        if (!first) adds ? remove() : add();
        first = false;
        crowd.checkpoint();
      },
      [&] { adds ? add() : remove(); });
}
const Entry add_enableable_limit_row("add_enableable/limit", no_goal, add_enableable_limit);
const Entry add_enableable_row("add_enableable/muster", no_goal, enableable<true, true>);
const Entry add_enableable_no_sink_row("add_enableable/no_sink", no_goal, enableable<true, false>);
const Entry remove_enableable_limit_row("remove_enableable/limit", no_goal, remove_enableable_limit);
const Entry remove_enableable_row("remove_enableable/muster", no_goal, enableable<false, true>);
const Entry remove_enableable_no_sink_row("remove_enableable/no_sink", no_goal, enableable<false, false>);

// --- alive ---

template <bool random>
void alive_limit(Measure& measure) {
  std::vector<PlainSlot> slots(many, PlainSlot{1, 0});
  std::vector<Entity> asked(many);
  const auto order = shuffled(many);
  for (std::uint32_t i = 0; i < many; ++i) asked[i] = {random ? order[i] : i, 1};
  measure.run(many, [&] {
    std::uint32_t sum = 0;
    for (const Entity e : asked) sum += e.index < slots.size() && slots[e.index].generation == e.generation;
    benchmark::DoNotOptimize(sum);
  });
}
template <bool random>
void alive(Measure& measure) {
  World world;
  const std::vector<Entity> made = world.registry.create_many(many);
  std::vector<Entity> asked(many);
  const auto order = shuffled(many);
  for (std::uint32_t i = 0; i < many; ++i) asked[i] = made[random ? order[i] : i];
  measure.run(many, [&] {
    std::uint32_t sum = 0;
    for (const Entity e : asked) sum += world.registry.alive(e);
    benchmark::DoNotOptimize(sum);
  });
}
const Entry alive_in_order_limit_row("alive_in_order/limit", no_goal, alive_limit<false>);
const Entry alive_in_order_row("alive_in_order/muster", ratio(1.5), alive<false>);
const Entry alive_random_limit_row("alive_random/limit", no_goal, alive_limit<true>);
const Entry alive_random_row("alive_random/muster", ratio(1.5), alive<true>);

// --- a subtree of 100,100 nodes goes to another depth and back ---

constexpr std::uint32_t twigs = 100, leaves = 1000, moved = 1 + twigs + twigs * leaves;

/// The rows of the subtree are copied from one set of arrays to another; the ids come in the order of the tree.
void reparent_limit(Measure& measure) {
  PlainRows rows(moved), others(moved);
  rows.fill();
  PlainRows *from = &rows, *to = &others;
  measure.run(moved, [&] {
    for (std::uint32_t i = 0; i < moved; ++i) {
      const std::uint32_t row = rows.slots[rows.made[i].index].row;
      to->ids[i] = from->ids[row];
      to->parents[i] = from->parents[row];
      to->positions[i] = from->positions[row];
      to->velocities[i] = from->velocities[row];
      to->masses[i] = from->masses[row];
      rows.slots[rows.made[i].index].row = i;
    }
    std::swap(from, to);
    benchmark::ClobberMemory();
  });
}
void reparent(Measure& measure) {
  World world;
  EntityRegistry& r = world.registry;
  const Entity high = r.create(), low = r.create_under(high, {});
  const Entity top = r.create_under(high, {}, some_position, some_velocity, some_mass);
  for (std::uint32_t i = 0; i < twigs; ++i) {
    const Entity twig = r.create_under(top, {}, some_position, some_velocity, some_mass);
    for (std::uint32_t j = 0; j < leaves; ++j)
      r.create_under(twig, {}, some_position, some_velocity, some_mass).or_stop();
  }
  bool is_low = false;
  measure.run(
      moved, [&] { world.checkpoint(); },
      [&] {
        r.reparent(top, is_low ? high : low);
        is_low = !is_low;
      });
}
const Entry reparent_limit_row("reparent_100k/limit", no_goal, reparent_limit);
const Entry reparent_row("reparent_100k/muster", promised(1.5), reparent);

// --- memory ---

std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
template <std::uint32_t count, bool bulk>
void memory(Measure& measure) {
  const auto world = std::make_unique<World>();
  world->registry.create_many(1, some_position, some_velocity, some_mass);
  const std::size_t before = heap_bytes();
  if constexpr (bulk) {
    constexpr std::uint32_t part = 10'000;
    for (std::uint32_t i = 0; i < count; i += part)
      world->registry.create_many(part, some_position, some_velocity, some_mass);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) world->registry.create(some_position, some_velocity, some_mass);
  }
  measure.bytes(static_cast<double>(heap_bytes() - before) / count);
}
const Entry memory_row("memory/muster", {.bytes = 50}, memory<1'000'000, false>);
const Entry memory_10m_row("memory/10m", {.bytes = 50}, memory<10'000'000, true>);

}  // namespace
