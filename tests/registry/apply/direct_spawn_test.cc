// A tree that is spawned directly is the tree of the general way, in everything that anybody is told.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"
#include "tests/support/id_or_nil.h"

namespace direct_spawn_test {

using namespace muster;
using namespace game;

namespace {

/// All that others are told of a registry, and where its rows are.
struct Side final : InputSink, ColumnPreserver {
  EntityRegistry registry;
  std::vector<std::uint64_t> told;
  std::vector<std::vector<std::uint64_t>> kept;
  std::vector<Entity> all;
  bool throws = false;

  explicit Side(bool shortcuts) : registry(options(shortcuts)) {
    registry.host().add_sink(*this);
    registry.host().add_preserver(*this);
    TemplateTree grove("grove");
    grove.set("", Health{.value = 3}).set("a", Count{.hits = 1}).set("a/deep", Health{}).set("a/deep/er", Frozen{});
    grove.set("b", Count{.hits = 2}).set("c", Position{{1, 2, 3}}).set("d", Count{.hits = 4});
    registry.define_template(grove);
    TemplateTree row("row");
    for (int i = 0; i < 40; ++i) row.set("n" + std::to_string(i), Health{.value = static_cast<float>(i)});
    registry.define_template(row);
    TemplateTree lone("lone");
    lone.set("", Armor{});
    registry.define_template(lone);
  }
  ~Side() { registry.host().remove_preserver(*this); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (throws) throw 1;
    told.insert(told.end(), {envelope.sequence, envelope.drawn, envelope.resumed, envelope.next_timer});
    told.push_back(hash64({reinterpret_cast<const char*>(batch.data()), batch.size()}));
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    told.insert(told.end(), {envelope.sequence, receipt.handled, receipt.unhandled, receipt.dead, receipt.refused});
  }
  void before_write(const Chunk& chunk, std::uint32_t slot) override {
    kept.push_back({chunk.uid, slot, chunk.count, chunk.slots()[slot].version});
  }
  void before_recycle(const Chunk& chunk) override { kept.push_back({chunk.uid, 999, chunk.count}); }

  void run(std::uint32_t seed, int steps) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto any = [&] { return all.empty() ? Entity{} : all[below(all.size())]; };
    std::vector<Entity> ids;
    for (int step = 0; step < steps; ++step) {
      const char* const what = below(3) == 0 ? "grove" : below(2) == 0 ? "row" : "lone";
      switch (below(14)) {
        case 0:
        case 1:
        case 2: all.push_back(muster::test::id_or_nil(registry.spawn(what))); break;
        case 3:
        case 4:
          if (registry.spawn(what, {.parent = any(), .ids = &ids})) all.insert(all.end(), ids.begin(), ids.end());
          break;
        case 5: (void)registry.spawn(what, {.name = "named"}); break;
        case 6: (void)registry.spawn(what, {.parent = any(), .clash = NameClash::refuse, .count = 1 + below(3)}); break;
        case 7: (void)registry.spawn(what, {}, Health{.value = 7}); break;
        case 8: registry.destroy(any()); break;
        case 9:
          if (const Entity found = registry.find_child(any(), below(2) == 0 ? "a" : "n3")) registry.rename(found, "b");
          break;
        case 10: registry.host().begin_version(); break;
        case 11: registry.post(any(), Destroy{}); break;
        case 12: all.push_back(muster::test::id_or_nil(registry.spawn("unknown"))); break;
        case 13: registry.reparent(any(), any()); break;
      }
      if (all.size() > 500) {
        const std::vector<Entity> gone(all.begin(), all.begin() + 300);
        registry.push(std::span<const Entity>(gone), Destroy{});
        all.erase(all.begin(), all.begin() + 300);
      }
    }
  }

 private:
  static RegistryOptions options(bool shortcuts) {
    RegistryOptions made;
    made.shortcuts = shortcuts;
    return made;
  }
};

void same(const Side& a, const Side& b) {
  CHECK(a.told == b.told);
  CHECK(a.registry.hash() == b.registry.hash());
  CHECK(a.registry.host().counters().messages == b.registry.host().counters().messages);
  CHECK(a.registry.host().counters().refused == b.registry.host().counters().refused);
  const Storage &x = a.registry.host().storage(), &y = b.registry.host().storage();
  REQUIRE(x.chunk_numbers() == y.chunk_numbers());
  for (std::uint32_t number = 0; number < x.chunk_numbers(); ++number) {
    const Chunk *one = x.chunk(number), *other = y.chunk(number);
    REQUIRE((one != nullptr) == (other != nullptr));
    if (!one) continue;
    CHECK(one->uid == other->uid);
    CHECK(one->count == other->count);
    for (std::uint32_t slot = 0; slot < one->archetype->pod_slots; ++slot)
      CHECK(one->slots()[slot].version == other->slots()[slot].version);
  }
  for (std::uint32_t page = 0; page <= x.ids().indices() >> id_page_bits; ++page)
    CHECK(x.id_page_version(page) == y.id_page_version(page));
}

}  // namespace

TEST_CASE("a tree that is spawned directly is the tree of the general way, in everything that anybody is told") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Side direct(true), general(false);
    direct.run(seed, 500);
    general.run(seed, 500);
    same(direct, general);
    std::ranges::sort(direct.kept);
    std::ranges::sort(general.kept);
    CHECK(direct.kept == general.kept);
  }
}

TEST_CASE("a tree that no sink takes is not spawned, and the next one has its ids") {
  for (const char* what : {"grove", "lone"}) {
    Side side(true);
    side.registry.spawn(what).or_stop();
    const std::uint64_t hash = side.registry.hash(), sequence = side.registry.sequence();
    side.throws = true;
    CHECK_THROWS(side.registry.spawn(what));
    side.throws = false;
    CHECK(side.registry.hash() == hash);
    CHECK(side.registry.sequence() == sequence);
    Side other(true);
    other.registry.spawn(what).or_stop();
    CHECK(side.registry.spawn(what).or_stop() == other.registry.spawn(what).or_stop());
    CHECK(side.registry.hash() == other.registry.hash());
  }
}

TEST_CASE("who begins to be told of spawned trees is told of the next one") {
  Side side(true);
  side.registry.spawn("grove").or_stop();
  side.registry.spawn("grove").or_stop();
  std::uint32_t spawned = 0, loaded = 0;
  {
    const Handlers kept(side.registry.subscribe("spawns", [&](const muster::Spawn&, Entity) { ++spawned; }));
    side.registry.spawn("grove").or_stop();
    CHECK(spawned == 7);
  }
  const Handlers kept(side.registry.subscribe("loads", [&](const Loaded&, Entity) { ++loaded; }));
  side.registry.spawn("grove").or_stop();
  CHECK(spawned == 7);
  CHECK(loaded == 7);
}

TEST_CASE("a name below one who is gone is not found among the children of who has its index now") {
  Side side(true);
  EntityRegistry& r = side.registry;
  std::vector<Entity> gone;
  std::uint32_t reused = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<Entity> roots;
    for (int i = 0; i < 300; ++i) {
      const Entity root = roots.emplace_back(r.spawn("grove"));
      for (const Entity old : gone)
        if (old.index == root.index) {
          ++reused;
          CHECK_FALSE(r.find_child(old, "a"));
          CHECK(r.find_child(root, "a"));
        }
    }
    for (const Entity root : roots) r.destroy(root);
    gone.insert(gone.end(), roots.begin(), roots.end());
  }
  CHECK(reused > 0);
}

}  // namespace direct_spawn_test
