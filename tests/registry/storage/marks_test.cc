// What change_marks finds: writes planted without a mark, in every kind of place that is saved, watched or read later.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"
#include "tests/support/change_marks.h"
#include "tests/support/open_storage.h"

using namespace muster;
using test::ChangeMarks;
using test::ColumnMarks;
using test::RowMarks;

namespace {

bool says(const std::string& found, const std::string& part) {
  CAPTURE(found, part);
  return found.find(part) != std::string::npos;
}

template <class T>
T& writable(const T& value) {
  return const_cast<T&>(value);
}

const TypeDescriptor& health_type() {
  static const TypeDescriptor type = [] {
    TypeDescriptor made;
    made.id = TypeTraits<game::Health>::id;
    made.name = "game.Health";
    made.size = sizeof(game::Health);
    made.align = alignof(game::Health);
    return made;
  }();
  return type;
}

/// A storage with `rows` rows of Health, those after the first below it where `deep`.
struct Rows {
  explicit Rows(std::uint32_t rows, bool deep = false) {
    storage.types()->add(health_type());
    const TypeId health = TypeTraits<game::Health>::id;
    Archetype& archetype = storage.archetype({&health, 1});
    for (std::uint32_t i = 0; i < rows; ++i) {
      const Entity e = storage.reserve();
      const bool child = deep && i > 0;
      const Row row = storage.create(e, archetype, child ? 1 : 0, child ? all[0] : Entity{});
      reinterpret_cast<game::Health*>(row.chunk->slots()[column_first].data)[row.row] = {.value = 1};
      all.push_back(e);
    }
    marks.begin(storage, storage.begin_version());
    storage.add_preserver(marks);
  }
  Chunk& chunk(std::size_t i) { return *storage.find(all[i]).chunk; }
  game::Health* values(std::size_t i) { return reinterpret_cast<game::Health*>(chunk(i).slots()[column_first].data); }
  std::string check() { return marks.check(storage); }
  test::OpenStorage storage;
  ColumnMarks marks;
  std::vector<Entity> all;
};

}  // namespace

TEST_CASE("change marks: what a registry does by itself is marked") {
  EntityRegistry registry;
  const auto s =
      registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; });
  ChangeMarks marks(registry);
  const Entity orc = registry.create("orc", game::Health{}, game::Armor{});
  CHECK(marks.check().empty());
  const Entity arm = registry.create_under(orc, "arm", game::Health{});
  CHECK(marks.check().empty());
  registry.push(orc, game::Damage{.amount = 1});
  CHECK(marks.check().empty());
  registry.create_many(3000, game::Health{});
  CHECK(marks.check().empty());
  registry.reparent(arm, {});
  CHECK(marks.check().empty());
  registry.rename(arm, "leg");
  registry.post(arm, game::Damage{});
  CHECK(marks.check().empty());
  registry.destroy(orc);
  CHECK(marks.check().empty());
  CHECK(marks.check().empty());
}

TEST_CASE("change marks: what structure messages and templates write is marked") {
  EntityRegistry registry;
  ChangeMarks marks(registry);
  const auto marked = [&](const char* what, const Receipt& receipt) {
    CAPTURE(what, receipt.handled, receipt.refused);
    CHECK(receipt.handled > 0);
    CHECK(marks.check() == "");
  };
  TemplateTree tree("squad");
  tree.set("", game::Health{.value = 7}).set("man", game::Health{.value = 8}).set("man/hat", game::Armor{});
  marked("define", registry.define_template(tree));
  const Entity first = registry.spawn("squad", {.name = "first"});
  CHECK(marks.check() == "");
  const Entity second = registry.spawn("squad", {.name = "second"});
  CHECK(marks.check() == "");
  const Entity inner = registry.spawn("squad", {.parent = second, .name = "inner"});
  CHECK(marks.check() == "");
  const Entity man = registry.find_child(first, "man"), bare = registry.create("bare");
  marks.begin();
  marked("Set of a component that is there", registry.set(man, game::Health{.value = 1}));
  marked("MergeTemplate over components that are there", registry.apply_template(first, "squad"));
  CHECK(registry.get<game::Health>(man).value == 8);
  marked("MergeTemplate that adds components and entities", registry.apply_template(bare, "squad"));
  marked("MergeTemplate over what it made", registry.apply_template(bare, "squad"));
  marked("Rename", registry.rename(man, "woman"));
  marked("Reparent at the same depth", registry.reparent(man, bare));
  marked("Reparent among siblings", registry.reparent(man, bare, registry.first_child(bare)));
  marked("Reparent to another depth", registry.reparent(inner, registry.first_child(bare)));
  marked("Remove", registry.remove<game::Health>(man));
  marked("Remove of a name", registry.remove<Name>(man));
  marked("Destroy", registry.destroy(second));
}

TEST_CASE("change marks: a value, a parent or an id that is written behind the registry's back is found") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{.value = 50}, game::Armor{});
  const Entity arm = registry.create_under(orc, "arm", game::Health{});
  ChangeMarks marks(registry);
  writable(registry.get<game::Health>(orc)).value = 49;
  CHECK(says(marks.check(), "column game.Health of chunk"));
  CHECK(marks.check().empty());  // said once
  writable(registry.get<game::Health>(orc)).value = 49;
  CHECK(marks.check().empty());  // the same bytes
  const Row row = registry.host().storage().find(arm);
  row.chunk->parents()[row.row] = arm;
  CHECK(says(marks.check(), "column parents of chunk"));
  row.chunk->ids()[row.row] = orc;
  CHECK(says(marks.check(), "column entity ids of chunk"));
  row.chunk->ids()[row.row] = arm;
  row.chunk->parents()[row.row] = orc;
  (void)marks.check();
  ++writable(registry.host().storage().ids()).slot(arm.index).generation;
  CHECK(says(marks.check(), "has other bytes and still version"));
  --writable(registry.host().storage().ids()).slot(arm.index).generation;
}

TEST_CASE("change marks: a write that is marked afterwards is found by who keeps the old bytes") {
  Rows rows(3);
  rows.values(1)[1].value = 7;
  rows.storage.touch(rows.chunk(1), column_first);
  CHECK(says(rows.check(), "had other bytes when it was offered"));
  Rows good(3);
  good.storage.touch(good.chunk(1), column_first);
  good.values(1)[1].value = 7;
  CHECK(good.check().empty());
}

TEST_CASE("change marks: a mark without an offer, and an offer without a mark, are found") {
  Rows rows(3);
  rows.storage.remove_preserver(rows.marks);
  rows.storage.touch(rows.chunk(1), column_first);
  rows.values(1)[1].value = 7;
  CHECK(says(rows.check(), "was not offered"));
  Rows others(3);
  others.marks.before_write(others.chunk(1), column_first);
  others.values(1)[1].value = 7;
  CHECK(says(others.check(), "no mark"));
  Rows twice(3);
  twice.marks.before_write(twice.chunk(1), column_first);
  twice.marks.before_write(twice.chunk(1), column_first);
  CHECK(says(twice.check(), "offered twice"));
}

TEST_CASE("change marks: rows and chunks that change while the counters of both stand still are found") {
  Rows rows(3);
  rows.storage.touch(rows.chunk(0), column_ids);
  std::swap(rows.chunk(0).ids()[0], rows.chunk(0).ids()[1]);
  CHECK(says(rows.check(), "Storage::structure() is not"));
  Rows parents(3, true);
  parents.storage.touch(parents.chunk(1), column_parents);
  parents.chunk(1).parents()[0] = parents.all[2];
  CHECK(says(parents.check(), "Storage::structure() is not"));
  Rows gone(3);
  gone.storage.remove_preserver(gone.marks);
  for (const Entity e : gone.all) gone.storage.destroy(e);
  CHECK(says(gone.check(), "nobody was told"));
  Rows told(3);
  for (const Entity e : told.all) told.storage.destroy(e);
  CHECK(told.check().empty());
  Rows early(3);
  early.marks.before_recycle(early.chunk(0));
  CHECK_FALSE(early.check().empty());
}

TEST_CASE("change marks: a saved row of any section whose bytes change must have a greater version") {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  for (std::uint16_t section = 1; section <= 15; ++section) {
    const StateKey key{static_cast<StateSection>(section), 3, 4};
    RowMarks marks;
    const auto next = [&](std::uint64_t version, std::string_view text) {
      marks.row(key, version, bytes(text));
      return marks.end();
    };
    CHECK(next(5, "one").empty());
    CHECK(next(5, "one").empty());
    CHECK(says(next(5, "two"), "still version 5"));
    CHECK(says(next(5, "twox"), "still version 5"));
    CHECK(next(6, "one").empty());
    CHECK(says(next(5, "one"), "goes back"));
    CHECK(next(9, "one").empty());
    CHECK(marks.end().empty());     // the row went
    CHECK(next(1, "two").empty());  // another came
    marks.row(key, 9, bytes("a"));
    marks.row(key, 10, bytes("a"));
    CHECK(says(marks.end(), "twice"));
  }
}
