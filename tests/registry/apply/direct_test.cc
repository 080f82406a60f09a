// Creating, giving, taking and destroying directly and in bulk gives what the general way gives, down to versions, old
// values handed to a reader of the past, ids and bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/storage/bulk_rows.h"
#include "tests/registry/game.h"
#include "tests/support/id_or_nil.h"
#include "tests/support/open_storage.h"

using namespace muster;
using namespace game;

namespace {

struct Sound {
  int volume = 3;
};

}  // namespace

template <>
struct muster::RuntimeTraits<Sound> {
  static constexpr std::string_view name = "game.DirectSound";
};

namespace {

/// All that others are told of a registry.
struct Heard final : InputSink, ColumnPreserver, Manager {
  std::vector<std::byte> inputs;
  std::vector<std::uint32_t> receipts;
  std::vector<Entity> destroyed;
  std::vector<std::vector<std::uint64_t>> kept;  // uid, slot, rows, their bytes
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    const auto* sequence = reinterpret_cast<const std::byte*>(&envelope.sequence);
    inputs.insert(inputs.end(), sequence, sequence + sizeof envelope.sequence);
    inputs.insert(inputs.end(), batch.begin(), batch.end());
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    receipts.insert(receipts.end(), {static_cast<std::uint32_t>(envelope.sequence), receipt.handled, receipt.unhandled,
                                     receipt.dead, receipt.refused, static_cast<std::uint32_t>(receipt.refusal.code)});
  }
  void before_write(const Chunk& chunk, std::uint32_t slot) override {
    std::uint64_t hash = 0;
    if (const std::byte* data = chunk.slots()[slot].data)
      hash =
          hash64({reinterpret_cast<const char*>(data), std::size_t{chunk.archetype->slot_bytes[slot]} * chunk.count});
    kept.push_back({chunk.uid, slot, chunk.count, hash});
  }
  void before_recycle(const Chunk& chunk) override { kept.push_back({chunk.uid, 999, chunk.count, 0}); }
  void on_destroyed(std::span<const Entity> gone) override {
    destroyed.insert(destroyed.end(), gone.begin(), gone.end());
  }
};

enum class Way { direct, watched, sometimes_watched };

/// A registry that is told what to do by a program; all of one seed get the same.
class World {
 public:
  World(Way way, bool managed, bool runtime) : way_(way), managed_(managed), runtime_(runtime) {
    registry.host().add_sink(heard);
    registry.host().add_preserver(heard);
    if (managed_) registry.add_manager("heard", heard);
    registry.add_type<Health>();  // so that a type's number of use does not differ
    if (way_ == Way::watched) watch();
  }
  ~World() {
    handlers_ = {};
    if (managed_) registry.remove_manager(heard);
    registry.host().remove_preserver(heard);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run(std::uint32_t seed, int steps) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto any = [&] { return all.empty() ? Entity{} : all[below(all.size())]; };
    for (int step = 0; step < steps; ++step) {
      if (const std::uint32_t dice = below(40); way_ == Way::sometimes_watched && dice < 2) {
        handlers_ = {};
        if (dice == 0) watch();
      }
      const float value = static_cast<float>(step);
      switch (below(20)) {
        case 0: add(create()); break;
        case 1: add(create(Health{value})); break;
        case 2: add(create(Health{value}, Count{below(9)})); break;
        case 3: add(create(Count{below(9)}, Health{value})); break;
        case 4: add(create(Frozen{}, Position{{1, 2, value}}, Armor{value})); break;
        case 5: many(below(3) == 0 ? 900 : 20, Health{value}, Count{1}); break;
        case 6: many(below(50)); break;
        case 7: registry.destroy(any()); break;
        case 8: registry.set(any(), Health{value}); break;
        case 9: registry.set(any(), Armor{value}, Health{value}); break;
        case 10: registry.set(any(), Frozen{}, Slots{}); break;
        case 11: registry.remove<Health>(any()); break;
        case 12: registry.remove<Frozen>(any()); break;
        case 13: add(muster::test::id_or_nil(registry.create_under(any(), {}, Health{value}))); break;
        case 14: add(muster::test::id_or_nil(registry.create_under(any(), "name", Count{1}))); break;
        case 15: registry.reparent(any(), below(3) == 0 ? Entity{} : any()); break;
        case 16: tree(below(40)); break;
        case 17: destroy_span(below(static_cast<std::uint32_t>(all.size()) + 1)); break;
        case 18: registry.host().begin_version(); break;
        case 19: queued(any(), value); break;
      }
      if (runtime_)
        for (const Entity e : std::exchange(fresh_, {}))
          if (registry.alive(e)) registry.set(e, Has<Sound>{});
    }
  }

  Heard heard;
  EntityRegistry registry;
  std::vector<Entity> all;

 private:
  void watch() {
    handlers_.add(registry.subscribe("create", [](const Create&, Entity) {}));
    handlers_.add(registry.subscribe("set", [](const Set&, Entity) {}));
    handlers_.add(registry.subscribe("remove", [](const Remove&, Entity) {}));
    handlers_.add(registry.subscribe("destroy", [](const Destroy&, Entity) {}));
  }
  void add(Entity e) {
    if (!e) return;
    all.push_back(e);
    fresh_.push_back(e);
  }
  template <class... Cs>
  Entity create(const Cs&... components) {
    return registry.create(components...);
  }
  template <class... Cs>
  void many(std::uint32_t count, const Cs&... components) {
    for (const Entity e : registry.create_many(count, components...)) add(e);
  }
  void tree(std::uint32_t size) {
    std::vector<Entity> made{registry.create(Health{1})};
    for (std::uint32_t i = 0; i < size; ++i)
      made.push_back(i % 3 ? registry.create_under(made[i / 2], {}, Health{static_cast<float>(i)})
                           : registry.create_under(made[i / 4], {}, Count{i}, Armor{}));
    for (const Entity e : made) add(e);
  }
  /// The dead, children and duplicates among them.
  void destroy_span(std::uint32_t first) {
    const std::size_t count = std::min<std::size_t>(all.size() - first, 700);
    std::vector<Entity> gone(all.begin() + first, all.begin() + first + static_cast<std::ptrdiff_t>(count));
    if (count > 9) gone.push_back(gone[3]);
    registry.push(std::span<const Entity>(gone), Destroy{});
    if (all.size() > 3000) all.erase(all.begin(), all.begin() + 1000);
  }
  /// What waits goes first, and directly nothing does then.
  void queued(Entity e, float value) {
    registry.post(e, Set{});
    registry.set(e, Health{value});
    registry.post(e, Remove{.component = TypeTraits<Health>::id});
    add(registry.create(Health{value}));
    registry.post(e, Destroy{});
    registry.destroy(e);
  }

  Way way_;
  bool managed_, runtime_;
  Handlers handlers_;
  std::vector<Entity> fresh_;
};

/// Versions of all columns and of the pages of ids, by chunk.
std::map<std::uint64_t, std::vector<std::uint64_t>> versions(const EntityRegistry& registry) {
  const Storage& storage = registry.host().storage();
  std::map<std::uint64_t, std::vector<std::uint64_t>> found;
  for (std::uint32_t page = 0; page <= storage.ids().indices() >> id_page_bits; ++page)
    found[0].push_back(storage.id_page_version(page));
  for (const auto& archetype : storage.archetypes()) {
    std::uint64_t rows = 0;
    for (const Group& group : archetype->groups) {
      std::uint64_t in_group = 0;
      for (const Chunk* chunk : group.chunks) {
        for (std::uint32_t slot = 0; slot < archetype->pod_slots; ++slot)
          found[chunk->uid].push_back(chunk->slots()[slot].version);
        in_group += chunk->count;
        CHECK(chunk->group == &group);
      }
      CHECK(group.rows() == in_group);
      CHECK(group.last == (group.chunks.empty() ? nullptr : group.chunks.back()));
      rows += in_group;
    }
    CHECK(archetype->rows() == rows);
  }
  return found;
}

/// What the rows are, in row order, but for the runtime component.
std::vector<std::uint64_t> rows_of(const EntityRegistry& registry) {
  std::vector<std::uint64_t> rows;
  registry.each<>([&](Entity e) {
    rows.insert(rows.end(), {e.bits(), registry.parent(e).bits(), registry.depth(e)});
    for (const TypeId type : registry.host().components(e)) {
      if (type == TypeTraits<Sound>::id) continue;
      const TypeDescriptor& known = *registry.types().find(type);
      rows.push_back(type);
      if (!known.tag) rows.push_back(hash64({reinterpret_cast<const char*>(registry.find(e, type)), known.size}));
    }
  });
  std::sort(rows.begin(), rows.end());
  return rows;
}

void same(World& a, World& b) {
  CHECK(a.heard.inputs == b.heard.inputs);
  CHECK(a.heard.receipts == b.heard.receipts);
  CHECK(a.heard.destroyed == b.heard.destroyed);
  std::ranges::sort(a.heard.kept);
  std::ranges::sort(b.heard.kept);
  CHECK(a.heard.kept == b.heard.kept);
  CHECK(a.registry.hash() == b.registry.hash());
  CHECK(versions(a.registry) == versions(b.registry));
  CHECK(a.registry.host().counters().messages == b.registry.host().counters().messages);
  CHECK(a.registry.host().counters().dead == b.registry.host().counters().dead);
  CHECK(a.registry.host().counters().refused == b.registry.host().counters().refused);
  CHECK(a.registry.host().counters().unhandled == b.registry.host().counters().unhandled);
  CHECK(a.registry.entity_count() == b.registry.entity_count());
}

}  // namespace

TEST_CASE("rows that come and go directly are those of the general way, in everything that anybody is told") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const bool managed = seed % 4 == 0;
    World direct(Way::direct, managed, false), watched(Way::watched, managed, false);
    World sometimes(Way::sometimes_watched, managed, false);
    for (World* world : {&direct, &watched, &sometimes}) world->run(seed, 600);
    same(direct, watched);
    if (!managed) {
      // Its program has other steps: only that nothing is broken.
      CHECK(versions(sometimes.registry).size() > 0);
    }
  }
}

TEST_CASE("rows moved in bulk end where they would one by one, as those with runtime components go") {
  for (std::uint32_t seed = 100; seed < 130; ++seed) {
    CAPTURE(seed);
    World bulk(Way::direct, false, false), single(Way::direct, false, true);
    for (World* world : {&bulk, &single}) world->run(seed, 400);
    CHECK(rows_of(bulk.registry) == rows_of(single.registry));
    const auto& a = bulk.registry.host().storage().ids().free_queue();
    const auto& b = single.registry.host().storage().ids().free_queue();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == b[i]);
  }
}

TEST_CASE("a whole subtree that changes its depth keeps the order and the values of moves one by one") {
  const auto order = [](bool runtime, std::uint32_t seed) {
    EntityRegistry r;
    std::mt19937 random(seed);
    std::vector<Entity> all;
    for (std::uint32_t i = 0; i < 1500; ++i) {
      const Entity parent = all.empty() || random() % 8 == 0 ? Entity{} : all[random() % all.size()];
      const auto value = static_cast<float>(i);
      const auto make = [&](const auto&... more) {
        return random() % 2 ? r.create_under(parent, {}, Health{value}, more...)
                            : r.create_under(parent, {}, Health{value}, Count{i}, Slots{}, more...);
      };
      all.push_back(runtime ? make(Has<Sound>{}) : make());
    }
    std::vector<std::uint64_t> found;
    for (int i = 0; i < 60; ++i) {
      const Entity e = all[random() % all.size()];
      r.reparent(e, random() % 4 == 0 ? Entity{} : all[random() % all.size()]);
      r.each<>([&](Entity each) {
        const Count* count = r.find<Count>(each);
        found.insert(found.end(), {each.bits(), r.parent(each).bits(), count ? count->hits : 7,
                                   static_cast<std::uint64_t>(r.get<Health>(each).value)});
      });
    }
    return found;
  };
  for (std::uint32_t seed = 1; seed < 12; ++seed) CHECK((order(false, seed) == order(true, seed)));
}

TEST_CASE("who begins or ends to watch is told from the next message on") {
  EntityRegistry r;
  const Entity first = r.create(Health{1});
  r.create(Health{2});
  int created = 0, set = 0, removed = 0, destroyed = 0, active = 0;
  {
    Handlers handlers;
    handlers.add(r.subscribe("create", [&](const Create&) { ++created; }));
    handlers.add(r.subscribe("added", [&](const Added<Armor>&) { ++set; }));
    handlers.add(r.subscribe("destroy", [&](const Deactivated&) { ++destroyed; }));
    handlers.add(r.subscribe("active", [&](const Activated&) { ++active; }));
    handlers.add(r.subscribe("remove", [&](const Remove&) { ++removed; }));
    const Entity e = r.create(Health{3});
    r.create_many(3, Health{4});
    r.set(e, Armor{2});
    r.remove<Health>(e);
    r.destroy(e);
    r.set_handler_enabled("create", false);
    r.create(Health{5});
  }
  r.create(Health{6});
  r.set(first, Armor{1});
  r.destroy(first);
  CHECK(created == 4);
  CHECK(active == 5);
  CHECK(set == 1);
  CHECK(removed == 1);
  CHECK(destroyed == 1);
}

TEST_CASE("a tag that becomes a runtime component is not written to directly any more") {
  EntityRegistry r;
  r.create(Has<Sound>{}, Health{1});
  r.create(Has<Sound>{}, Health{2});
  r.host().remove_runtime_type<Sound>();
  const Entity e = r.create(Health{3}, Count{1});
  r.set(e, Count{2});
  r.add_runtime_type<Sound>();
  const Entity loud = r.create(Has<Sound>{}, Health{4});
  r.set(e, Has<Sound>{});
  CHECK(r.get<Sound>(loud).volume == 3);
  CHECK(r.get<Sound>(e).volume == 3);
  CHECK(r.get<Count>(e).hits == 2);
  CHECK(r.get<Health>(loud).value == 4);
}

TEST_CASE("an id whose generations are used up ends a run of many that go, and is retired") {
  test::OpenStorage storage;
  const Hierarchy hierarchy(storage);
  test::OpenBulkRows bulk(storage, hierarchy);
  constexpr std::uint32_t last = DirectoryLayout::generation_last;
  constexpr Locator reserved(IdState::reserved);
  GrowingArray<DirectoryEntry> slots;
  for (const DirectoryEntry entry : {DirectoryEntry{}, {reserved, 5}, {reserved, last}, {reserved, 6}})
    slots.push_back(entry);
  storage.restore_ids(std::move(slots), {}, 0);
  const std::vector<Entity> ids{{1, 5}, {2, last}, {3, 6}};
  Archetype& none = storage.archetype({});
  for (const Entity e : ids) storage.create(e, none, 0, {});
  std::uint32_t destroyed = 0;
  CHECK(bulk.destroy(ids, destroyed) == 1);
  storage.destroy(ids[1]);
  CHECK(bulk.destroy(std::span(ids).subspan(2), destroyed) == 1);
  CHECK(destroyed == 2);
  CHECK(storage.rows() == 0);
  CHECK(storage.ids().retired() == 1);
  CHECK(storage.ids().free_queue().size() == 2);
  for (const Entity e : ids) CHECK_FALSE(storage.alive(e));
  CHECK(storage.ids().slot(3).generation == 7);
}

TEST_CASE("an id that is named twice is made once") {
  EntityRegistry r;
  const Entity first = r.host().grant(3, 1);
  const std::vector<Entity> ids{first, {first.index + 1, 1}, first, {first.index + 2, 1}, first};
  BatchBuilder batch;
  r.add_type<Create>();
  batch.append_shared(ids, Create{});
  const Receipt receipt = r.host().push_batch(batch.bytes());
  CHECK(receipt.handled == 3);
  CHECK(receipt.refused == 2);
  CHECK(receipt.refusal.entity == first);
  CHECK(r.entity_count() == 3);
}

TEST_CASE("who follows the ends of entities alone hears of each that is destroyed directly") {
  EntityRegistry r;
  const std::vector<Entity> all = r.create_many(4, Health{});
  r.destroy(all[0]);  // nobody listens yet: the direct way is known
  std::vector<Entity> ended;
  {
    const auto s = r.subscribe("ends", [&](const Deactivated&, Entity self) { ended.push_back(self); });
    r.destroy(all[1]);
    r.destroy(all[2]);
  }
  r.destroy(all[3]);
  CHECK(ended == std::vector<Entity>{all[1], all[2]});
}
