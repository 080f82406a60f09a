// Undo of a deletion that revives a subtree, beside a hand-written copy of everything that a
// revival must write: the rows, the links between parents and children, the index of names, and the
// directory of ids. The variant `rows` copies only the rows.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bench/support.h"
#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"

namespace revive_bench {

using namespace muster;
using namespace bench;

namespace {

constexpr std::uint32_t groups = 1000, units = 98, nodes = 1 + groups * (1 + units);
constexpr std::uint32_t depths = 3;

/// A level: groups of units below one entity. All have names.
struct Level {
  World world;
  EditHistory history{world.registry, 1u << 30};
  std::vector<Entity> all;  // in pre-order
  std::vector<std::uint32_t> parent;
  std::vector<Text> names;

  Level() {
    EntityRegistry& registry = world.registry;
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; i < groups; ++i) texts.push_back("node-" + std::to_string(i));
    const auto add = [&](std::uint32_t number, Entity under, std::uint32_t row) {
      all.push_back(registry.create_under(under, texts[number], Position{1, 2, 3, 4}, Velocity{5, 6}).or_stop());
      parent.push_back(row);
      names.push_back(text_of(texts[number]));
    };
    add(0, {}, 0);
    for (std::uint32_t i = 0; i < groups; ++i) {
      const auto group = static_cast<std::uint32_t>(all.size());
      add(i, all[0], 0);
      for (std::uint32_t j = 0; j < units; ++j) add(j, all[group], group);
    }
  }
  Sender designer() { return {.session = 1, .user = 1, .request = ++request}; }
  void destroy() {
    BatchBuilder batch;
    batch.append(all[0], Destroy{});
    world.registry.host().push_batch(batch.bytes(), designer());
    history.release_ids();
  }
  std::uint64_t request = 0;
};

struct SavedRow {
  Entity id;
  std::uint32_t parent;
  Text name;
  Position position;
  Velocity velocity;
};

/// The same level in plain arrays. The rows of a depth are together, as in a registry.
struct PlainLevel {
  struct Place {
    std::uint32_t generation, depth, row;
  };
  struct Links {
    std::uint32_t first, last, next, previous, children;
  };
  struct Depth {
    std::vector<Entity> ids, parents;
    std::vector<Text> names;
    std::vector<Position> positions;
    std::vector<Velocity> velocities;
    std::uint32_t count = 0;
  };
  struct Named {
    Entity parent;
    Text name;
    Entity child;
  };
  std::vector<SavedRow> saved;
  std::vector<Place> places;
  std::vector<Links> links;
  std::array<Depth, depths> rows;
  std::vector<Named> index;  // open addressing, at most half full

  PlainLevel() {
    const auto& level = kept<Level>();
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      saved.push_back({level.all[i], level.parent[i], level.names[i], Position{1, 2, 3, 4}, Velocity{5, 6}});
      last = std::max(last, level.all[i].index);
    }
    places.resize(last + 1);
    links.resize(last + 1);
    index.resize(1u << 18);
    for (Depth& depth : rows) {
      depth.ids.resize(nodes);
      depth.parents.resize(nodes);
      depth.names.resize(nodes);
      depth.positions.resize(nodes);
      depth.velocities.resize(nodes);
    }
  }
  void clear() {
    for (Depth& depth : rows) depth.count = 0;
    std::ranges::fill(links, Links{});
    std::ranges::fill(index, Named{});
    for (Place& place : places) place.depth = ~0u;
  }
  void put(const SavedRow& row) {
    const Entity parent = row.parent == 0 && row.id == saved[0].id ? Entity{} : saved[row.parent].id;
    const std::uint32_t depth = parent ? places[parent.index].depth + 1 : 0;
    Depth& to = rows[depth];
    const std::uint32_t at = to.count++;
    to.ids[at] = row.id;
    to.parents[at] = parent;
    to.names[at] = row.name;
    to.positions[at] = row.position;
    to.velocities[at] = row.velocity;
    places[row.id.index] = {row.id.generation, depth, at};
    if (parent) {
      Links& over = links[parent.index];
      Links& own = links[row.id.index];
      own.previous = over.last;
      (over.last ? links[over.last].next : over.first) = row.id.index;
      over.last = row.id.index;
      ++over.children;
    }
    std::size_t slot = (parent.bits() * 0xff51afd7ed558ccdull ^ row.name.hash) * 0x9e3779b97f4a7c15ull >> 46;
    while (index[slot].child) slot = (slot + 1) & (index.size() - 1);
    index[slot] = {parent, row.name, row.id};
  }
};

void rows(Measure& measure) {
  auto& plain = kept<PlainLevel>();
  measure.run(nodes, [&] {
    PlainLevel::Depth& to = plain.rows[2];
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const SavedRow& row = plain.saved[i];
      to.ids[i] = row.id;
      to.names[i] = row.name;
      to.positions[i] = row.position;
      to.velocities[i] = row.velocity;
    }
    benchmark::ClobberMemory();
  });
}
void limit(Measure& measure) {
  auto& plain = kept<PlainLevel>();
  measure.run(
      nodes, [&] { plain.clear(); },
      [&] {
        for (const SavedRow& row : plain.saved) plain.put(row);
        benchmark::ClobberMemory();
      });
}
void undo(Measure& measure) {
  auto& level = kept<Level>();
  measure.run(
      nodes, [&] { level.destroy(); },
      [&] {
        level.history.apply(HistoryAct::undo, level.designer(), Conflicts::skip, false);
        level.history.release_ids();
      });
}

const Entry limit_row("revive_99k/limit", no_goal, limit);
const Entry rows_row("revive_99k/rows", no_goal, rows);
const Entry undo_row("revive_99k/muster", ratio(3), undo);

}  // namespace

}  // namespace revive_bench
