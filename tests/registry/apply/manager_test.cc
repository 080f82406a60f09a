#include <catch2/catch.hpp>

#include <initializer_list>
#include <map>
#include <random>
#include <set>
#include <string>

#include "examples/managers/debug_names.h"
#include "examples/managers/managers.h"
#include "examples/managers/meshes.h"
#include "examples/managers/transforms.h"
#include "registry/host.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/examples/managers/things.h"

using namespace muster;
using namespace things;
using managers::Matrix4;
using managers::Transforms;

namespace {

std::vector<std::uint64_t> meshes_of(const managers::Meshes& meshes, Entity e) {
  std::vector<std::uint64_t> found;
  for (auto i = meshes.first(e); i != managers::no_instance; i = meshes.next_instance(i)) {
    CHECK(meshes.entity(i) == e);
    found.push_back(meshes.mesh(i).hash);
  }
  return found;
}

/// Every link has its counterpart, every world matrix is its parent's times its local one, every entity finds its row.
void check_transforms(const Transforms& t) {
  std::uint32_t children = 0, listed = 0;
  for (Transforms::Instance i = 0; i < t.size(); ++i) {
    REQUIRE(t.lookup(t.entity(i)) == i);
    if (t.parent(i) != Transforms::nil) ++children;
    REQUIRE(t.world(i) == (t.parent(i) == Transforms::nil ? t.local(i) : t.world(t.parent(i)) * t.local(i)));
    Transforms::Instance before = Transforms::nil;
    for (auto child = t.first_child(i); child != Transforms::nil; before = child, child = t.next_sibling(child)) {
      REQUIRE(t.parent(child) == i);
      REQUIRE(t.prev_sibling(child) == before);
      ++listed;
    }
  }
  REQUIRE(children == listed);
}

struct Notes final : Manager {
  std::vector<std::vector<Entity>> batches;
  void on_destroyed(std::span<const Entity> gone) override { batches.emplace_back(gone.begin(), gone.end()); }
};

}  // namespace

TEST_CASE("bitsquid 20: managers hear of the dead in batches: once per input and per batch of its cascade") {
  EntityRegistry registry;
  Notes notes;
  registry.add_manager("notes", notes);
  const Entity top = registry.create();
  const Entity child = registry.create_under(top, "child");
  const auto others = registry.create_many(3, Hits{});
  bool seen_inside = false;
  const auto s = registry.subscribe("go", [&](const Go&, const Hits&, Entity self, Outbox& out) {
    seen_inside = seen_inside || !notes.batches.empty();
    out.destroy(self);
  });
  registry.push(Go{});
  CHECK_FALSE(seen_inside);
  CHECK(notes.batches == std::vector<std::vector<Entity>>{{others[0], others[1], others[2]}});
  registry.destroy(top);
  REQUIRE(notes.batches.size() == 2);
  CHECK(notes.batches[1] == std::vector{child, top});
  registry.destroy(top);
  CHECK(notes.batches.size() == 2);
  registry.remove_manager(notes);
  registry.create();
  CHECK(notes.batches.size() == 2);
}

TEST_CASE("a manager that goes does not end what the others are told") {
  EntityRegistry registry;
  Notes first, second;
  registry.add_manager("first", first);
  registry.add_manager("second", second);
  registry.remove_manager(first);
  const Entity e = registry.create();
  registry.destroy(e);
  CHECK(first.batches.empty());
  CHECK(second.batches == std::vector<std::vector<Entity>>{{e}});
}

TEST_CASE("bitsquid 13: a second debug name replaces the first, meshes are several per entity") {
  EntityRegistry registry;
  managers::DebugNames names(registry);
  managers::Meshes meshes(registry);
  const Entity e = registry.create();
  registry.push(e, managers::SetDebugName{.name = registry.intern("orc")});
  registry.push(e, managers::SetDebugName{.name = registry.intern("troll")});
  CHECK(registry.text(names.of(e)) == "troll");
  CHECK(names.size() == 1);
  registry.push(e, managers::AddMesh{.mesh = registry.intern("body")});
  registry.push(e, managers::AddMesh{.mesh = registry.intern("sword")});
  CHECK(meshes_of(meshes, e) == std::vector{text_of("body").hash, text_of("sword").hash});
}

TEST_CASE("bitsquid 14: meshes of an entity are a chain, each with an id of its own") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  const Entity a = registry.create(), b = registry.create();
  for (int i = 0; i < 6; ++i)
    registry.push(i % 2 ? b : a, managers::AddMesh{.mesh = Text{static_cast<std::uint64_t>(i + 1)}});
  const auto second = meshes.next_instance(meshes.first(a));
  const std::uint64_t id = meshes.id(second);
  registry.push(b, managers::RemoveMesh{.instance = id});  // not b's
  CHECK(meshes_of(meshes, a) == std::vector<std::uint64_t>{1, 3, 5});
  registry.push(a, managers::RemoveMesh{.instance = id});
  CHECK(meshes_of(meshes, a) == std::vector<std::uint64_t>{1, 5});
  CHECK(meshes_of(meshes, b) == std::vector<std::uint64_t>{2, 4, 6});
  registry.push(a, managers::AddMesh{.mesh = Text{9}});
  CHECK(meshes.id(meshes.next_instance(meshes.next_instance(meshes.first(a)))) > id);
}

TEST_CASE("bitsquid 12: only a manager knows what it holds; an inspector asks all of them") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  managers::DebugNames names(registry);
  const Entity e = registry.create(Hits{}), bare = registry.create(Hits{});
  registry.push(e, managers::SetDebugName{.name = Text{5}});
  registry.push(e, managers::AddMesh{.mesh = Text{7}});
  registry.push(e, managers::AddMesh{.mesh = Text{8}});
  std::string told;
  const auto tell = [&](std::string_view manager, const Held& held) {
    told += std::string(manager) + " " + std::string(held.name) + " " + std::to_string(held.instance) + " " +
            std::to_string(held.bytes.size()) + "; ";
  };
  registry.host().describe(e, tell);
  CHECK(told == "debug_names debug name 0 8; meshes mesh 1 8; meshes mesh 2 8; ");
  told.clear();
  registry.host().describe(bare, tell);
  CHECK(told.empty());
  CHECK(registry.host().components(e).size() == 1);
}

TEST_CASE("bitsquid 15: managers come and go at run time; one that comes back under its name has its state") {
  EntityRegistry registry;
  const Entity e = registry.create();
  {
    managers::DebugNames names(registry);
    registry.push(e, managers::SetDebugName{.name = Text{5}});
    CHECK_THROWS_AS(registry.add_manager("debug_names", names), SetupError);
  }
  CHECK(registry.host().waiting_managers().size() == 1);
  const managers::DebugNames again(registry);
  CHECK(again.of(e) == Text{5});
}

TEST_CASE("bitsquid 16: a pass is one call of a manager for all it holds") {
  EntityRegistry registry;
  struct Counter {
    int calls = 0, rows = 0;
    void update(const Go&) { ++calls; }
    void all(const Go&, std::span<const Hits> hits) { rows += static_cast<int>(hits.size()); }
  } counter;
  const auto once = registry.subscribe("once", counter, &Counter::update);
  const auto rows = registry.subscribe("rows", counter, &Counter::all);
  registry.create_many(100, Hits{});
  registry.push(Go{});
  CHECK(counter.calls == 1);
  CHECK(counter.rows == 100);
}

TEST_CASE("bitsquid 17: transforms are one block of aligned arrays that grows by copying") {
  EntityRegistry registry;
  Transforms transforms(registry, "transforms");
  std::vector<Entity> all = registry.create_many(333);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto row = transforms.create(all[i]);
    if (i) transforms.link(row, transforms.lookup(all[(i - 1) / 2]));
    transforms.set_local(row, Matrix4::translation(static_cast<float>(i), 1, 0));
    CHECK(reinterpret_cast<std::uintptr_t>(&transforms.local(0)) % 16 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(&transforms.world(0)) % 16 == 0);
  }
  check_transforms(transforms);
}

TEST_CASE("bitsquid 18: lookup is nil where absent, and an old instance is a short cut only while it is right") {
  EntityRegistry registry;
  Transforms transforms(registry, "transforms");
  const Entity a = registry.create(), b = registry.create(), c = registry.create();
  transforms.create(a);
  const auto row = transforms.create(b);
  CHECK(transforms.lookup(c) == Transforms::nil);
  CHECK(transforms.lookup(b, row) == row);
  registry.destroy(a);
  CHECK(transforms.lookup(b, row) == 0);
  CHECK(transforms.lookup(a, 0) == Transforms::nil);
}

TEST_CASE("bitsquid 19: the last row fills the hole, and both entities' lookups are right") {
  EntityRegistry registry;
  Transforms transforms(registry, "transforms");
  const std::vector<Entity> e = registry.create_many(3);
  for (const Entity each : e) transforms.create(each);
  transforms.destroy(transforms.lookup(e[0]));
  CHECK(transforms.lookup(e[0]) == Transforms::nil);
  CHECK(transforms.lookup(e[2]) == 0);
  check_transforms(transforms);
  transforms.destroy(transforms.lookup(e[1]));  // the last row itself
  check_transforms(transforms);
  transforms.destroy(0);  // the only one
  CHECK(transforms.size() == 0);
  CHECK(transforms.lookup(e[2]) == Transforms::nil);
}

TEST_CASE("bitsquid 20: a sweep looks at so many rows per call and needs no luck") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  const std::vector<Entity> all = registry.create_many(10'000);
  for (const Entity e : all) registry.push(e, managers::AddMesh{.mesh = Text{1}});
  for (std::size_t i = 0; i < all.size(); i += 2) registry.destroy(all[i]);
  CHECK(meshes.size() == 10'000);
  int calls = 0;
  for (; meshes.size() > 5'000; ++calls) {
    REQUIRE(calls < 100);
    meshes.collect(100);
  }
  CHECK(calls <= 100);
  CHECK(meshes.collect(4) == 0);
  for (std::size_t i = 1; i < all.size(); i += 2) REQUIRE(meshes_of(meshes, all[i]).size() == 1);
}

TEST_CASE(
    "bitsquid 21: until the sweep comes by, a dead entity's mesh is there for who knows its row, and not described") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  const Entity e = registry.create();
  registry.push(e, managers::AddMesh{.mesh = Text{1}});
  registry.destroy(e);
  CHECK(meshes.first(e) == 0);
  int told = 0;
  registry.host().describe(e, [&](std::string_view, const Held&) { ++told; });
  CHECK(told == 0);
  CHECK(registry.push(e, managers::AddMesh{.mesh = Text{2}}).dead == 1);
  CHECK(meshes.collect(1) == 1);
}

TEST_CASE("bitsquid 22: set_local moves the subtree at once, and links survive every swap") {
  EntityRegistry registry;
  Transforms transforms(registry, "transforms");
  std::mt19937 random(7);
  std::vector<Entity> all;
  for (int step = 0; step < 3000; ++step) {
    const auto pick = [&] { return all[random() % all.size()]; };
    switch (all.empty() ? 0 : random() % 5) {
      case 0:
      case 1:
        all.push_back(registry.create());
        transforms.create(all.back());
        break;
      case 2:
        transforms.link(transforms.lookup(pick()), random() % 8 ? transforms.lookup(pick()) : Transforms::nil);
        break;
      case 3:
        transforms.set_local(transforms.lookup(pick()), Matrix4::translation(static_cast<float>(random() % 9),
                                                                             static_cast<float>(random() % 9), 1));
        break;
      default: {
        if (random() % 2) break;
        const std::size_t at = random() % all.size();
        registry.destroy(all[at]);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    REQUIRE(transforms.size() == all.size());
    if (step % 10 == 0) check_transforms(transforms);
  }
  const auto top = transforms.lookup(all[0]);
  CHECK_FALSE(transforms.link(top, top));
}

TEST_CASE("bitsquid 22: an entity may have a transform in several managers") {
  EntityRegistry registry;
  Transforms one(registry, "one"), two(registry, "two");
  const Entity e = registry.create();
  one.set_local(one.create(e), Matrix4::translation(1, 0, 0));
  two.create(e);
  CHECK_FALSE(one.world(0) == two.world(0));
  registry.destroy(e);
  CHECK((one.size() == 0 && two.size() == 0));
}

TEST_CASE("bitsquid 23: a model's bones are a tree of their own and do not wait for the entity's place in the world") {
  EntityRegistry registry;
  Transforms world(registry, "world"), bones(registry, "bones");
  const Entity orc = registry.create(), arm = registry.create_under(orc, "arm"),
               hand = registry.create_under(arm, "hand");
  for (const Entity e : {orc, arm, hand}) bones.create(e);
  bones.link(bones.lookup(arm), bones.lookup(orc));
  bones.link(bones.lookup(hand), bones.lookup(arm));
  bones.set_local(bones.lookup(arm), Matrix4::translation(0, 2, 0));
  world.set_local(world.create(orc), Matrix4::translation(100, 0, 0));
  CHECK(bones.world(bones.lookup(hand)).m[12] == 0);
  CHECK((world.world(0) * bones.world(bones.lookup(hand))).m[12] == 100);
}

TEST_CASE("bitsquid 24: who mirrors transforms asks what has moved since it last asked") {
  EntityRegistry registry;
  Transforms transforms(registry, "transforms");
  const std::vector<Entity> e = registry.create_many(3);
  for (const Entity each : e) transforms.create(each);
  transforms.link(transforms.lookup(e[1]), transforms.lookup(e[0]));
  transforms.take_moved();
  CHECK(transforms.take_moved().empty());
  transforms.set_local(transforms.lookup(e[0]), Matrix4::translation(1, 0, 0));
  transforms.set_local(transforms.lookup(e[0]), Matrix4::translation(2, 0, 0));
  CHECK(transforms.take_moved() == std::vector{e[0], e[1]});
}

TEST_CASE("nebula 13: subsystems behind the registry do not know each other and work alone") {
  EntityRegistry alone, together;
  managers::Meshes only(alone);
  const managers::DebugNames names(together);
  const managers::Meshes both(together);
  for (EntityRegistry* registry : {&alone, &together}) {
    const Entity e = registry->create();
    registry->push(e, managers::AddMesh{.mesh = Text{3}});
    registry->push(e, managers::SetDebugName{.name = Text{4}});  // nobody there: unhandled, and no harm
  }
  CHECK(only.size() == both.size());
  CHECK(names.size() == 1);
  CHECK(alone.host().counters().unhandled == 1);
}

TEST_CASE("what managers hold is saved, hashed and loaded, whichever comes first") {
  EntityRegistry registry;
  managers::DebugNames names(registry);
  managers::Meshes meshes(registry);
  Transforms transforms(registry, "transforms");
  const std::vector<Entity> e = registry.create_many(40);
  const std::uint64_t before = registry.hash();
  for (std::size_t i = 0; i < e.size(); ++i) {
    registry.push(e[i], managers::SetDebugName{.name = Text{i + 1}});
    registry.push(e[i], managers::AddMesh{.mesh = Text{i + 1}});
    registry.push(e[i / 2], managers::AddMesh{.mesh = Text{i + 1}});
    const auto row = transforms.create(e[i]);
    if (i) transforms.link(row, transforms.lookup(e[i / 3]));
    transforms.set_local(row, Matrix4::translation(static_cast<float>(i), 0, 1));
  }
  CHECK(registry.hash() != before);
  meshes.collect(7);
  KeptRows rows;
  registry.save(rows);

  SECTION("managers first") {
    EntityRegistry loaded;
    managers::DebugNames names2(loaded);
    managers::Meshes meshes2(loaded);
    Transforms transforms2(loaded, "transforms");
    REQUIRE(loaded.load(rows));
    CHECK(loaded.hash() == registry.hash());
    check_transforms(transforms2);
    CHECK(meshes_of(meshes2, e[3]) == meshes_of(meshes, e[3]));
    CHECK(names2.of(e[9]) == Text{10});
    CHECK(transforms2.take_moved() == transforms.take_moved());
  }
  SECTION("managers later, or never: what they saved is kept and saved again") {
    EntityRegistry loaded;
    REQUIRE(loaded.load(rows));
    CHECK(loaded.hash() == registry.hash());
    KeptRows again;
    loaded.save(again);
    CHECK(again.kept == rows.kept);
    const Transforms transforms2(loaded, "transforms");
    check_transforms(transforms2);
    CHECK(transforms2.size() == 40);
  }
  SECTION("a row that is cut off is refused, and the manager says so") {
    for (auto& [key, bytes] : rows.kept)
      if (key.section == StateSection::manager_parts) bytes.pop_back();
    EntityRegistry loaded;
    managers::Meshes meshes2(loaded);
    const auto result = loaded.load(rows);
    REQUIRE_FALSE(result);
    CHECK(result.error().text().find("meshes are truncated") != std::string::npos);
  }
}

namespace {

/// Counts which parts of managers a save writes, and holds that what it does not write is what the one before had.
struct WrittenParts final : StateSink {
  std::map<StateKey, std::pair<std::uint64_t, std::vector<std::byte>>> kept;
  std::set<StateKey> seen;
  std::size_t written = 0;
  bool has(const StateKey& key, std::uint64_t version) override {
    const auto at = kept.find(key);
    if (at == kept.end() || at->second.first != version) return false;
    seen.insert(key);
    return true;
  }
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    if (key.section != StateSection::manager_parts) return;
    seen.insert(key);
    kept[key] = {version, {bytes.begin(), bytes.end()}};
    ++written;
  }
  std::size_t save(EntityRegistry& registry) {
    written = 0;
    seen.clear();
    registry.host().begin_version();
    registry.save(*this);
    std::erase_if(kept, [&](const auto& one) { return !seen.contains(one.first); });
    KeptRows whole;
    registry.save(whole);
    std::erase_if(whole.kept, [](const auto& one) { return one.first.section != StateSection::manager_parts; });
    REQUIRE(whole.kept.size() == kept.size());
    for (const auto& [key, bytes] : whole.kept) REQUIRE(kept.at(key).second == bytes);
    return written;
  }
};

}  // namespace

TEST_CASE("a save writes those parts of the meshes whose rows changed, and of others nothing") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  const std::vector<Entity> e = registry.create_many(5000);
  for (const Entity one : e) registry.push(one, managers::AddMesh{.mesh = Text{7}});
  WrittenParts parts;
  CHECK(parts.save(registry) == 1 + 5);
  CHECK(parts.save(registry) == 0);
  meshes.collect(100);  // nobody is dead: how far it came is all that changed
  CHECK(parts.save(registry) == 1);
  registry.push(e[0], managers::AddMesh{.mesh = Text{8}});
  CHECK(parts.save(registry) == 3);  // the chain's end, and the new row
  registry.push(e[1500], managers::RemoveMesh{.instance = 1501});
  CHECK(parts.save(registry) == 4);  // its hole, the last row, and the chain that led to that
  for (std::size_t i = 0; i < 1000; ++i) registry.destroy(e[4999 - i]);
  CHECK(parts.save(registry) == 0);
  meshes.collect(20'000);
  CHECK(parts.save(registry) > 0);
  CHECK(parts.kept.size() == 1 + 4);
}

TEST_CASE("whatever meshes come and go, what saves wrote of them is what there is, and comes back") {
  std::mt19937_64 random(11);
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  std::vector<Entity> all = registry.create_many(400);
  WrittenParts parts;
  std::uint64_t ids = 0;
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t left = random() % 60; left > 0; --left) {
      const Entity e = all[random() % all.size()];
      if (!registry.alive(e)) continue;
      const auto kind = random() % 20;
      if (kind < 12) {
        registry.push(e, managers::AddMesh{.mesh = Text{++ids}});
      } else if (kind < 19) {
        const auto first = meshes.first(e);
        if (first != managers::no_instance) registry.push(e, managers::RemoveMesh{.instance = meshes.id(first)});
      } else {
        registry.destroy(e);
        all.push_back(registry.create());
      }
    }
    meshes.collect(static_cast<std::uint32_t>(random() % 50));
    if (random() % 2) (void)parts.save(registry);
    if (round % 20 != 0) continue;
    KeptRows rows;
    registry.save(rows);
    EntityRegistry loaded;
    managers::Meshes meshes2(loaded);
    REQUIRE(loaded.load(rows));
    CHECK(loaded.hash() == registry.hash());
    for (const Entity e : all) REQUIRE(meshes_of(meshes2, e) == meshes_of(meshes, e));
  }
  CHECK(meshes.size() > 1024);
}

TEST_CASE("meshes that were saved in one piece come back, and damaged parts are refused") {
  EntityRegistry registry;
  managers::Meshes meshes(registry);
  const std::vector<Entity> e = registry.create_many(1100);
  for (const Entity one : e) registry.push(one, managers::AddMesh{.mesh = Text{one.index + 1u}});
  struct Parts final : ManagerSink {
    std::vector<std::vector<std::byte>> kept;
    bool has(std::uint32_t, std::uint64_t) override { return false; }
    void part(std::uint32_t, std::uint64_t, std::span<const std::byte> bytes) override {
      kept.emplace_back(bytes.begin(), bytes.end());
    }
  } parts;
  meshes.save_parts(parts);
  REQUIRE(parts.kept.size() == 3);
  std::vector<std::byte> piece;
  for (const auto& part : parts.kept) piece.insert(piece.end(), part.begin(), part.end());
  const auto load = [&](std::initializer_list<std::uint32_t> numbers, std::size_t cut = 0) {
    std::vector<ManagerPart> given;
    for (const std::uint32_t number : numbers) given.push_back({number, parts.kept[number]});
    if (cut != 0) given.back().bytes = given.back().bytes.first(given.back().bytes.size() - cut);
    return meshes.load_parts(2, given).has_value();
  };
  const std::uint64_t hash = registry.hash();
  CHECK(load({0, 1, 2}));
  CHECK(meshes.load(1, piece));
  CHECK(registry.hash() == hash);
  CHECK(meshes_of(meshes, e[1050]) == std::vector<std::uint64_t>{e[1050].index + 1u});
  CHECK_FALSE(load({}));
  CHECK_FALSE(load({0}));
  CHECK_FALSE(load({0, 1}));
  CHECK_FALSE(load({0, 2}));
  CHECK_FALSE(load({1, 2}));
  CHECK_FALSE(load({0, 1, 2}, 1));
  CHECK_FALSE(load({0, 1, 2}, 32));
  CHECK_FALSE(load({0, 1, 2}, parts.kept[2].size()));
  CHECK_FALSE(meshes.load(1, std::span(piece).first(piece.size() - 1)));
  CHECK(registry.hash() == hash);
}
