// Saved state in which one number was changed: who reads it says what is wrong, and where.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state_format.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"
#include "tests/registry/state/bounds_of.h"

using namespace muster;

namespace {

std::string load_error(const naive::StateRows& rows) {
  EntityRegistry world;
  naive::RowsSource source(rows);
  const auto loaded = world.load(source);
  return loaded ? "" : loaded.error().text();
}

template <class T>
void put(std::vector<std::byte>& row, std::size_t at, T value) {
  REQUIRE(at + sizeof value <= row.size());
  std::memcpy(row.data() + at, &value, sizeof value);
}

/// A parent with three named children, and somebody alone.
struct Family {
  EntityRegistry world;
  Entity parent = world.create("parent");
  Entity children[3] = {child("first"), child("second"), child("third")};
  Entity alone = world.create(game::Health{});
  naive::StateRows rows = naive::saved_rows(world);

  Entity child(const char* name) {
    const Entity made = world.create(name);
    REQUIRE(world.push(made, Reparent{.parent = parent}).handled == 1);
    return made;
  }
  /// The text of the error where one link is another.
  std::string with(Entity of, std::size_t field, std::uint32_t value) const {
    naive::StateRows changed = rows;
    put(changed.at({StateSection::hierarchy, 0, 0}), of.index * sizeof(Links) + field, value);
    return load_error(changed);
  }
};

/// A thousand entities with ids in a row.
struct Crowd {
  EntityRegistry world;
  std::vector<Entity> ids = world.create_many(1000, game::Health{});
  naive::StateRows rows = naive::saved_rows(world);
};

constexpr std::size_t generation_at = 8;
std::size_t state_at(const naive::StateRows& rows, std::uint32_t index) {
  std::uint64_t count;
  std::memcpy(&count, rows.at({StateSection::directory, 0, 0}).data(), sizeof count);
  return generation_at + count * 4 + index;
}

}  // namespace

TEST_CASE("links that do not fit one another are refused, each by what is wrong with it") {
  const Family family;
  const auto& [first, second, third] = family.children;
  CHECK(load_error(family.rows) == "");
  CHECK(family.with(first, offsetof(Links, next), third.index) == "hierarchy 0: links between siblings disagree");
  CHECK(family.with(second, offsetof(Links, next), family.alone.index) ==
        "hierarchy 0: a list of children holds an entity that is not a child");
  CHECK(family.with(third, offsetof(Links, next), first.index) == "hierarchy 0: links between siblings disagree");
  CHECK(family.with(third, offsetof(Links, previous), first.index) == "hierarchy 0: links between siblings disagree");
  CHECK(family.with(family.parent, offsetof(Links, last_child), second.index) ==
        "hierarchy 0: a list of children is shorter than its count");
  CHECK(family.with(family.parent, offsetof(Links, children), 2) ==
        "hierarchy 0: a list of children is longer than its count");
  CHECK(family.with(family.parent, offsetof(Links, children), 4) ==
        "hierarchy 0: a list of children is shorter than its count");
  CHECK(family.with(family.parent, offsetof(Links, children), 0) ==
        "hierarchy 0: an entity without children has links to children");
  CHECK(family.with(family.alone, offsetof(Links, next), first.index) ==
        "hierarchy 0: an entity without a parent has siblings");
  CHECK(family.with(family.alone, offsetof(Links, first_child), first.index) ==
        "hierarchy 0: an entity without children has links to children");
  CHECK(family.with(Entity{family.alone.index + 1, 1}, offsetof(Links, children), 1) ==
        "hierarchy 0: a dead entity has children");
  CHECK(family.with(first, offsetof(Links, next), 1000) == "hierarchy 0: a link is out of range");
  const auto indices = static_cast<std::uint32_t>(family.world.host().storage().ids().indices());
  CHECK(family.with(first, offsetof(Links, next), indices) == "hierarchy 0: a link is out of range");
  CHECK(family.with(first, offsetof(Links, next), indices - 1) != "hierarchy 0: a link is out of range");
}

TEST_CASE("a child whose parent is not alive, or that is in no list, is refused") {
  const Family family;
  for (const auto& [key, row] : family.rows) {
    if (key.section != StateSection::columns || key.column != 1) continue;
    naive::StateRows changed = family.rows;
    put(changed.at(key), 0, Entity{family.parent.index, family.parent.generation + 1});
    CHECK(load_error(changed) == "hierarchy 0: a child's parent is not alive, or is at the wrong depth");
    changed = family.rows;
    put(changed.at(key), 0, family.children[1]);
    CHECK(load_error(changed) == "hierarchy 0: a child's parent is not alive, or is at the wrong depth");
  }
  naive::StateRows changed = family.rows;
  for (auto& [key, row] : changed)
    if (key.section == StateSection::hierarchy) std::ranges::fill(row, std::byte{});
  CHECK(load_error(changed) == "hierarchy 0: a child is not in any list of children");
}

TEST_CASE("two siblings of one name, and a name whose text is nowhere, are refused") {
  const Family family;
  for (const auto& [key, row] : family.rows) {
    if (key.section != StateSection::columns || key.column != TypeTraits<Name>::id || row.size() < 2 * sizeof(Name))
      continue;
    naive::StateRows changed = family.rows;
    std::memcpy(changed.at(key).data(), row.data() + sizeof(Name), sizeof(Name));
    CHECK(load_error(changed).ends_with(": two siblings have the same name"));
    put(changed.at(key), 0, Name{Text{42}});
    CHECK(load_error(changed).ends_with(": a name's text is unknown"));
  }
}

TEST_CASE("a chunk that says to be deeper than there are chunks is refused before anything is made for its depth") {
  const Family family;
  naive::StateRows rows = family.rows;
  const auto deep = std::ranges::find_if(rows, [](const auto& row) {
    ChunkRow chunk;
    if (row.first.section != StateSection::chunks) return false;
    std::memcpy(&chunk, row.second.data(), sizeof chunk);
    return chunk.depth == 1;
  });
  REQUIRE(deep != rows.end());
  const auto chunks =
      std::ranges::count_if(rows, [](const auto& r) { return r.first.section == StateSection::chunks; });
  const std::string refused =
      "columns " + std::to_string(deep->first.key) + ": the chunk's depth exceeds the number of chunks";
  for (const std::uint32_t depth : {static_cast<std::uint32_t>(chunks), (1u << 20) - 1}) {
    put(deep->second, offsetof(ChunkRow, depth), depth);
    CHECK(load_error(rows) == refused);
  }
}

TEST_CASE("ids are refused that have an impossible state, no generation, no row, or two") {
  const Crowd crowd;
  CHECK(load_error(crowd.rows) == "");
  const StateKey directory{StateSection::directory, 0, 0};
  const auto id_column = std::ranges::find_if(
      crowd.rows, [](const auto& row) { return row.first.section == StateSection::columns && row.first.column == 0; });
  REQUIRE(id_column != crowd.rows.end());
  // The first, one in the middle of a block, the last of a block, and one behind the last whole block.
  const std::size_t rows_in_chunk = id_column->second.size() / sizeof(Entity);
  for (const std::size_t row : {std::size_t{0}, std::size_t{17}, std::size_t{31}, rows_in_chunk - 1}) {
    INFO("row " << row);
    Entity e;
    std::memcpy(&e, id_column->second.data() + row * sizeof e, sizeof e);
    naive::StateRows changed = crowd.rows;
    changed.at(directory)[state_at(crowd.rows, e.index)] = std::byte{5};
    CHECK(load_error(changed) == "directory 0: an id has an unknown state");
    changed.at(directory)[state_at(crowd.rows, e.index)] = std::byte{3};
    CHECK(load_error(changed).ends_with("a row's entity is not alive, or has two rows"));
    changed = crowd.rows;
    put(changed.at(directory), generation_at + e.index * std::size_t{4}, 0u);
    CHECK(load_error(changed) == "directory 0: an id without a generation is in use");
    put(changed.at(directory), generation_at + e.index * std::size_t{4}, e.generation + 1);
    CHECK(load_error(changed).ends_with("a row's entity is not alive, or has two rows"));
    changed = crowd.rows;
    put(changed.at(id_column->first), row * sizeof e, Entity{0xfffffff0u, 1});
    CHECK(load_error(changed).ends_with("a row's entity is not alive, or has two rows"));
    const std::size_t other = row == 0 ? 1 : row - 1;  // its entity now has two rows, and this one none
    changed = crowd.rows;
    std::memcpy(changed.at(id_column->first).data() + row * sizeof e, id_column->second.data() + other * sizeof e,
                sizeof e);
    CHECK(load_error(changed).ends_with("a row's entity is not alive, or has two rows"));
  }
  naive::StateRows changed = crowd.rows;
  put(changed.at(directory), generation_at, 1u);
  CHECK(load_error(changed) == "directory 0: index 0 has a generation");
}

TEST_CASE("entities whose ids are in a row, in no order, and in rows of both kinds are loaded to the same world") {
  EntityRegistry world;
  std::vector<Entity> ids = world.create_many(3000, game::Health{});
  for (std::size_t i = 100; i < 2000; i += 3) world.destroy(ids[i]);  // the last rows move into the holes
  world.create_many(50, game::Health{});
  const naive::StateRows rows = naive::saved_rows(world);
  EntityRegistry loaded;
  naive::RowsSource source(rows);
  REQUIRE(loaded.load(source));
  CHECK(loaded.hash() == world.hash());
  for (const Entity e : ids) CHECK(loaded.has<game::Health>(e) == world.has<game::Health>(e));
  CHECK(naive::saved_rows(loaded) == rows);
}

TEST_CASE("a lost template, handler's name, archetype, schema or queue of free indices is missed") {
  EntityRegistry world;
  TemplateTree tree("camp");
  tree.set("", game::Health{1});
  world.define_template(tree);
  const Entity gone = world.create(game::Armor{});
  world.create(game::Health{});
  world.destroy(gone);
  world.set_handler_enabled("somebody", false);
  const naive::StateRows rows = naive::saved_rows(world);
  REQUIRE(load_error(rows) == "");
  const auto without = [&](StateSection section, std::uint64_t number) {
    naive::StateRows changed = rows;
    auto at = changed.lower_bound({section, 0, 0});
    std::advance(at, number);
    REQUIRE(at->first.section == section);
    changed.erase(at);
    return load_error(changed);
  };
  CHECK(without(StateSection::templates, 0) == "templates 0: templates are missing");
  CHECK(without(StateSection::disabled, 0) == "disabled 0: names of disabled handlers are missing");
  CHECK(without(StateSection::free_queue, 0) == "free_queue 0: free indices are not in the queue");
  for (std::uint64_t i = 0; rows.contains({StateSection::archetypes, i, 0}); ++i)
    CHECK_THAT(without(StateSection::archetypes, i), Catch::Contains("archetype"));
  for (std::uint64_t i = 0; rows.contains({StateSection::schema, i, 0}); ++i)
    CHECK(without(StateSection::schema, i) != "");
}

TEST_CASE("a free index that is not in the queue, one too many and a wrong number of retired ids are refused") {
  EntityRegistry world;
  const std::vector<Entity> ids = world.create_many(10, game::Health{});
  for (const Entity e : ids) world.destroy(e);
  const naive::StateRows rows = naive::saved_rows(world);
  REQUIRE(load_error(rows) == "");
  const StateKey queue{StateSection::free_queue, 0, 0}, directory{StateSection::directory, 0, 0};
  naive::StateRows changed = rows;
  changed.at(queue).resize(changed.at(queue).size() - 4);
  CHECK(load_error(changed) == "free_queue 0: free indices are not in the queue");
  changed = rows;
  changed.at(directory)[state_at(rows, ids[0].index)] = std::byte{1};  // reserved
  CHECK(load_error(changed) == "free_queue 0: an index in the free queue is not free");
  changed = rows;
  put(changed.at({StateSection::registry, 0, 0}), 8 * sizeof(std::uint64_t), std::uint64_t{1});
  CHECK(load_error(changed) == "directory 0: the number of retired ids does not match the registry's row");
}

/// The rows as format 1 wrote them: versions of columns, here none like another, behind each chunk's row.
naive::StateRows in_format_1(const EntityRegistry& world, naive::StateRows rows) {
  std::vector<std::byte>& registry = rows.at({StateSection::registry, 0, 0});
  put(registry, offsetof(RegistryRow, format), std::uint64_t{1});
  std::uint64_t version = 5;
  for (auto& [key, row] : rows) {
    if (key.section != StateSection::chunks) continue;
    ChunkRow chunk;
    REQUIRE(row.size() == sizeof chunk);
    std::memcpy(&chunk, row.data(), sizeof chunk);
    const std::size_t slots = world.host().storage().archetype_numbered(chunk.archetype)->pod_slots;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      row.resize(row.size() + sizeof version);
      put(row, row.size() - sizeof version, version++);
    }
  }
  put(registry, offsetof(RegistryRow, zero), version);
  return rows;
}

TEST_CASE("equal state is saved as equal bytes, however often somebody looked at what had changed") {
  EntityRegistry watched, alone;
  for (EntityRegistry* world : {&watched, &alone}) {
    const auto step = [&] {
      if (world == &watched) world->host().begin_version();
    };
    const std::vector<Entity> ids = world->create_many(3000, game::Health{1});
    step();
    world->push(ids[7], Reparent{.parent = ids[8]});
    for (const Entity e : std::span<const Entity>(ids).first(1500)) world->set(e, game::Velocity{});
    step();
    world->push(ids[2999], Destroy{});
    step();
    (void)world->create("last", game::Health{2});
  }
  CHECK(watched.hash() == alone.hash());
  CHECK((naive::saved_rows(watched) == naive::saved_rows(alone)));
}

TEST_CASE("rows of format 1 are read, and saved as those of format 2") {
  const Family family;
  const naive::StateRows old = in_format_1(family.world, family.rows);
  EntityRegistry loaded;
  naive::RowsSource source(old);
  REQUIRE(loaded.load(source));
  CHECK(loaded.hash() == family.world.hash());
  CHECK((naive::saved_rows(loaded) == family.rows));
  const auto at = old.lower_bound({StateSection::chunks, 0, 0})->first;
  for (const int bytes : {-8, -1, 1, 8}) {
    naive::StateRows changed = old;
    changed.at(at).resize(old.at(at).size() + static_cast<std::size_t>(bytes));
    CHECK(load_error(changed).ends_with(": the chunk's row has the wrong length"));
  }
}

TEST_CASE("rows of format 2 have no versions, and none of the shorter lengths of format 1") {
  const Family family;
  const StateKey registry{StateSection::registry, 0, 0};
  const auto with = [&](const StateKey& key, std::size_t size) {
    naive::StateRows changed = family.rows;
    changed.at(key).resize(size);
    return load_error(changed);
  };
  const StateKey chunk = family.rows.lower_bound({StateSection::chunks, 0, 0})->first;
  for (const std::size_t size : {sizeof(ChunkRow) - 1, sizeof(ChunkRow) + 1, sizeof(ChunkRow) + 8})
    CHECK(with(chunk, size)
              .ends_with(size < sizeof(ChunkRow) ? ": the chunk is truncated"
                                                 : ": the chunk's row has the wrong length"));
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, registry_row_first, registry_row_counted,
                                 sizeof(RegistryRow) - 8, sizeof(RegistryRow) + 8})
    CHECK(with(registry, size) == "registry 0: the registry's row has the wrong length");
  naive::StateRows changed = family.rows;
  put(changed.at(registry), offsetof(RegistryRow, zero), std::uint64_t{1});
  CHECK(load_error(changed) == "registry 0: the registry's row has a nonzero reserved number");
  for (const std::uint64_t format : {0ull, 3ull}) {
    put(changed.at(registry), offsetof(RegistryRow, format), format);
    CHECK(load_error(changed) ==
          "registry 0: the saved registry has format " + std::to_string(format) + "; this version reads 1 and 2");
  }
}

TEST_CASE("a timer whose number was never given is refused") {
  EntityRegistry world;
  const TimerId timer = world.post_at(1000, world.create(game::Health{}), game::Ping{});
  world.flush();
  const naive::StateRows rows = naive::saved_rows(world);
  REQUIRE(load_error(rows) == "");
  std::uint64_t next;
  std::memcpy(&next, rows.at({StateSection::registry, 0, 0}).data() + offsetof(RegistryRow, next_timer), 8);
  REQUIRE(next == timer + 1);
  for (const std::uint64_t number : {next, next + 1, std::uint64_t{0}}) {
    naive::StateRows changed = rows;
    auto row = changed.extract(changed.find({StateSection::timers, timer, 0}));
    row.key().key = number;
    std::memcpy(row.mapped().data() + sizeof(BatchHeader), &number, sizeof number);
    changed.insert(std::move(row));
    CHECK(load_error(changed).ends_with(": a timer's row does not hold a timer, or has the wrong number"));
  }
}

TEST_CASE("numbers of archetypes that were dropped cost nothing, and a damaged row's are bounded") {
  const Crowd crowd;
  const auto with = [&](std::uint64_t number) {
    naive::StateRows changed = crowd.rows;
    put(changed.at({StateSection::registry, 0, 0}), offsetof(RegistryRow, next_archetype), number);
    return load_error(changed);
  };
  static_assert(offsetof(RegistryRow, next_archetype) == 40);
  const std::uint64_t now = crowd.world.host().storage().next_archetype();
  CHECK(with(now) == "");
  CHECK(with(now + 1'000'000'000) == "");
  CHECK(with(now - 1).ends_with(": the archetype's number is wrong"));
  CHECK(with(0xffffffff) == "registry 0: the number of archetypes is out of range");
  for (int bit = 32; bit < 64; ++bit)
    CHECK(with(now | std::uint64_t{1} << bit) == "registry 0: the number of archetypes is out of range");
}

TEST_CASE("state goes on under the bounds of cascades it was saved with") {
  const auto chain = [](EntityRegistry& world) {
    return world.subscribe("chain", [](const game::Damage& hit, Entity self, Outbox& out) {
      for (int i = 0; i < 4; ++i)
        if (hit.amount > 0) out.post(self, game::Damage{.amount = hit.amount - 1});
    });
  };
  EntityRegistry world({.cascade_messages_max = 7, .cascade_bytes_max = 1 << 20});
  const Subscription here = chain(world);
  const Entity e = world.create("e");
  const naive::StateRows rows = naive::saved_rows(world);
  EntityRegistry loaded;
  const Subscription there = chain(loaded);
  naive::RowsSource source(rows);
  REQUIRE(loaded.load(source));
  CHECK(test::bounds_of(loaded).messages_max == 7);
  CHECK(test::bounds_of(loaded).bytes_max == 1 << 20);
  for (EntityRegistry* each : {&world, &loaded}) CHECK(each->push(e, game::Damage{.amount = 3}).cut_short);
  CHECK(loaded.hash() == world.hash());
  CHECK(naive::saved_rows(loaded) == naive::saved_rows(world));
}

TEST_CASE("state with other bounds of cascades is refused to a host that insists on its own, with both named") {
  EntityRegistry world({.cascade_messages_max = 7});
  const naive::StateRows rows = naive::saved_rows(world);
  EntityRegistry other({.cascade_messages_max = 8, .insist_on_bounds = true});
  naive::RowsSource source(rows);
  const auto refused = other.load(source);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text() ==
        "registry 0: saved with cascades of at most 7 messages and 134217728 bytes; the host requires 8 and 134217728");
  EntityRegistry fewer_bytes({.cascade_messages_max = 7, .cascade_bytes_max = 1 << 20, .insist_on_bounds = true});
  CHECK_FALSE(fewer_bytes.load(source));
  EntityRegistry same({.cascade_messages_max = 7, .insist_on_bounds = true});
  CHECK(same.load(source));
}

TEST_CASE("a registry's row without bounds of cascades is read, and the reader's own hold") {
  EntityRegistry world({.cascade_messages_max = 7});
  naive::StateRows rows = in_format_1(world, naive::saved_rows(world));
  rows.at({StateSection::registry, 0, 0}).resize(registry_row_counted);
  EntityRegistry loaded({.cascade_messages_max = 9, .insist_on_bounds = true});
  naive::RowsSource source(rows);
  REQUIRE(loaded.load(source));
  CHECK(test::bounds_of(loaded).messages_max == 9);
  CHECK(loaded.hash() == world.hash());
}

TEST_CASE("a registry's row without the counts at its end is read, and what they count is not missed") {
  EntityRegistry world;
  TemplateTree tree("camp");
  tree.set("", game::Health{1});
  world.define_template(tree);
  naive::StateRows rows = in_format_1(world, naive::saved_rows(world));
  rows.at({StateSection::registry, 0, 0}).resize(registry_row_first);
  EntityRegistry loaded;
  naive::RowsSource source(rows);
  REQUIRE(loaded.load(source));
  CHECK(loaded.hash() == world.hash());
  std::erase_if(rows, [](const auto& row) { return row.first.section == StateSection::templates; });
  CHECK(load_error(rows) == "");
  rows.at({StateSection::registry, 0, 0}).resize(registry_row_first + 8);
  CHECK(load_error(rows) == "registry 0: the registry's row has the wrong length");
}
