#include <catch2/catch.hpp>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "examples/managers/transforms.h"
#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/storage/directory.h"
#include "registry/templates/template_file.h"
#include "registry/templates/template_tree.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/lineage/lineage.h"
#include "tests/registry/death.h"

namespace bitsquid_test {

using namespace muster;
using namespace lineage;

namespace {

using Ids = EntityAllocator<BitsquidLayout>;

/// How many creates it takes until the first id comes again, where every entity is destroyed at once.
template <class Layout>
std::uint32_t creates_until_the_first_id_returns() {
  EntityAllocator<Layout> ids;
  const auto first = ids.create();
  ids.release(first);
  for (std::uint32_t creates = 2;; ++creates) {
    const auto id = ids.create();
    if (id == first) return creates;
    ids.release(id);
  }
}

/// The rule of the text rather than of the code: "at least 1024".
struct AtLeast1024 : BitsquidLayout {
  static constexpr std::uint32_t minimum_free = 1023;
};

/// Owns component data and is no Manager: the registry knows only its handlers.
class Scores {
 public:
  explicit Scores(EntityRegistry& registry)
      : handlers_(registry.subscribe("scores.hit", *this, &Scores::on_hit),
                  registry.subscribe("scores.gone", *this, &Scores::on_gone)) {}
  float of(Entity e) const {
    for (const auto& [entity, score] : rows_)
      if (entity == e) return score;
    return -1;
  }
  std::size_t size() const { return rows_.size(); }

 private:
  void on_hit(const Hit& hit, Entity self) { rows_.emplace_back(self, hit.amount); }
  void on_gone(const Deactivated&, Entity self) {
    std::erase_if(rows_, [&](const auto& row) { return row.first == self; });
  }
  std::vector<std::pair<Entity, float>> rows_;
  Handlers handlers_;
};

template <class T>
concept HasSetWorld = requires(T& t) { t.set_world(0, managers::Matrix4{}); };

}  // namespace

TEST_CASE("bitsquid 1: an entity is one unsigned integer") {
  STATIC_REQUIRE(std::is_same_v<Ids::Id, std::uint32_t>);
  STATIC_REQUIRE(sizeof(Ids::Id) == 4);
  // The registry's own has twice as many bits, and is still no more than a number.
  STATIC_REQUIRE(sizeof(Entity) == 8);
  STATIC_REQUIRE(std::is_trivially_copyable_v<Entity>);
  CHECK(Entity::from_bits(Entity{7, 3}.bits()) == Entity{7, 3});
}

TEST_CASE("bitsquid 2: 22 bits of index and 8 of generation: every id is below 2^30") {
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint32_t index = random() & ((1u << 22) - 1), generation = random() & 255;
    const std::uint32_t id = BitsquidLayout::make(index, generation);
    REQUIRE(id < 1u << 30);
    REQUIRE((id & ((1u << 22) - 1)) == index);
    REQUIRE((id >> 22 & 255) == generation);
    REQUIRE(BitsquidLayout::index(id) == index);
    REQUIRE(BitsquidLayout::generation(id) == generation);
  }
  CHECK(BitsquidLayout::make((1u << 22) - 1, 255) == (1u << 30) - 1);
}

TEST_CASE("bitsquid 3: the first creates hand out 0, 1, 2 and so on, of generation 0") {
  Ids ids;
  for (std::uint32_t i = 0; i < 5000; ++i) REQUIRE(ids.create() == i);
}

TEST_CASE("bitsquid 4: destroy raises the slot's generation, which wraps at 256, and queues the index last") {
  Ids ids;
  std::vector<std::uint32_t> made;
  for (int i = 0; i < 1500; ++i) made.push_back(ids.create());
  for (const std::uint32_t index : {7u, 3u, 1000u}) {
    REQUIRE(ids.release(made[index]));
    CHECK(ids.slot(index) == 1);
    CHECK(ids.free_queue()[ids.free_queue().size() - 1] == index);
  }
  CHECK(ids.free_queue().size() == 3);
  ids.slot(42) = 255;
  REQUIRE(ids.release(BitsquidLayout::make(42, 255)));
  CHECK(ids.slot(42) == 0);
}

TEST_CASE("bitsquid 5: the oldest free index is used again only while more than 1024 wait") {
  Ids ids;
  std::vector<std::uint32_t> made;
  for (int i = 0; i < 1100; ++i) made.push_back(ids.create());
  for (std::uint32_t i = 0; i < 1024; ++i) REQUIRE(ids.release(made[i + 10]));
  CHECK(ids.create() == 1100);
  REQUIRE(ids.release(made[0]));
  CHECK(ids.create() == BitsquidLayout::make(10, 1));
  CHECK(ids.create() == 1101);
  // The session's code says "more than", his prose "at least": one apart, and it shows here.
  CHECK(creates_until_the_first_id_returns<BitsquidLayout>() == 262'401);
  CHECK(creates_until_the_first_id_returns<AtLeast1024>() == 262'145);
}

TEST_CASE("bitsquid 6: no id comes again before its index has gone round 256 times") {
  Ids ids;
  std::mt19937 random(6);
  std::vector<std::uint32_t> alive;
  struct Death {
    std::uint32_t at = 0;  // how many destroys there were; 0: none yet
  };
  std::vector<Death> deaths(1u << 22);  // by index * 256 + generation, while few indices are in use
  std::uint32_t destroys = 0, soonest = ~0u;
  while (destroys < 3'000'000) {
    if (alive.empty() || (alive.size() < 3000 && random() % 2 == 0)) {
      const std::uint32_t id = ids.create();
      const std::size_t at = std::size_t{BitsquidLayout::index(id)} * 256 + BitsquidLayout::generation(id);
      if (at >= deaths.size()) deaths.resize(2 * at);
      if (deaths[at].at != 0) soonest = std::min(soonest, destroys - deaths[at].at);
      alive.push_back(id);
    } else {
      std::swap(alive[random() % alive.size()], alive.back());
      const std::uint32_t id = alive.back();
      alive.pop_back();
      ids.release(id);
      deaths[std::size_t{BitsquidLayout::index(id)} * 256 + BitsquidLayout::generation(id)].at = ++destroys;
    }
  }
  CHECK(soonest >= 256 * 1024);
  CHECK(soonest < 3'000'000);  // they do come again: the test can fail
}

TEST_CASE("bitsquid 7: more than 2^22 indices stop the program") {
  Ids ids;
  for (std::uint32_t i = 0; i < 1u << 22; ++i) ids.create();
  CHECK(ids.indices() == 1u << 22);
  CHECK_THAT(test::last_words([&] { (void)ids.create(); }), Catch::Contains("all indices are in use"));
}

TEST_CASE("bitsquid 8: alive is one look into an array of one byte per index ever used") {
  STATIC_REQUIRE(sizeof(Ids::Slot) == 1);
  STATIC_REQUIRE(noexcept(std::declval<const Ids&>().current(0)));
  Ids ids;
  for (int i = 0; i < 1000; ++i) ids.create();
  CHECK(ids.indices() == 1000);  // bytes
  CHECK(&ids.slot(999) - &ids.slot(0) == 999);
  // Nothing but that byte decides.
  REQUIRE(ids.current(500));
  ids.slot(500) = 9;
  CHECK_FALSE(ids.current(500));
  CHECK(ids.current(BitsquidLayout::make(500, 9)));
  // The registry's own array holds the generation and the row: 8 bytes, and one read as well.
  STATIC_REQUIRE(sizeof(DirectoryEntry) == 8);
}

TEST_CASE("bitsquid 9: an id that somebody kept is a weak reference: it is not alive, and nobody is harmed") {
  EntityRegistry registry;
  int hits = 0;
  const auto s = registry.subscribe("hit", [&](const Hit&, const Health&) { ++hits; });
  const Entity kept = registry.create(Health{});
  const auto lane = registry.host().inbox().open_lane(7);
  const auto from_a_thread = [&] {
    bool taken = false;
    std::thread([&] {
      BatchBuilder builder;
      builder.append(kept, Hit{});
      taken = lane->put(builder.bytes());
    }).join();
    REQUIRE(taken);
    return registry.flush();
  };
  CHECK(from_a_thread().handled == 1);
  registry.destroy(kept);
  for (int i = 0; i < 1024; ++i) registry.destroy(registry.create());
  const Entity tenant = registry.create(Health{});
  REQUIRE(tenant.index == kept.index);
  CHECK_FALSE(registry.alive(kept));
  CHECK(registry.find<Health>(kept) == nullptr);
  CHECK(from_a_thread().dead == 1);
  CHECK(hits == 1);
  // A script keeps the number.
  const std::uint64_t number = kept.bits();
  CHECK_FALSE(registry.alive(Entity::from_bits(number)));
  Ids ids;
  const std::uint32_t old = ids.create();
  REQUIRE(ids.release(old));
  CHECK_FALSE(ids.current(old));
}

TEST_CASE("bitsquid 10: destroying a dead or stale id is refused and changes nothing") {
  Ids ids;
  std::vector<std::uint32_t> made;
  for (int i = 0; i < 1025; ++i) made.push_back(ids.create());
  for (const std::uint32_t id : made) REQUIRE(ids.release(id));
  CHECK_FALSE(ids.release(made[3]));
  CHECK(ids.free_queue().size() == 1025);
  const std::uint32_t tenant = ids.create();
  REQUIRE(BitsquidLayout::index(tenant) == 0);
  CHECK_FALSE(ids.release(made[0]));  // its tenant lives on
  CHECK(ids.current(tenant));

  EntityRegistry registry;
  const Entity e = registry.create(Health{});
  CHECK(registry.destroy(e).handled == 1);
  const std::uint64_t free = registry.host().storage().ids().free_queue().size();
  CHECK(registry.destroy(e).dead == 1);
  CHECK(registry.host().storage().ids().free_queue().size() == free);
  for (int i = 0; i < 1024; ++i) registry.destroy(registry.create());
  const Entity reused = registry.create(Health{});
  REQUIRE(reused.index == e.index);
  CHECK(registry.destroy(e).dead == 1);
  CHECK(registry.alive(reused));
  CHECK(registry.host().counters().dead == 2);
}

TEST_CASE("bitsquid 11: an index that was never issued is not alive, and nil is nobody") {
  Ids ids;
  CHECK_FALSE(ids.current(0));
  CHECK_FALSE(ids.current(BitsquidLayout::make((1u << 22) - 1, 0)));
  CHECK_FALSE(ids.release(77));
  CHECK(ids.create() == 0);  // as in the seed, 0 is an entity of this layout

  EntityRegistry registry;
  CHECK_FALSE(registry.alive({}));
  CHECK_FALSE(registry.alive({1, 1}));
  CHECK_FALSE(registry.alive({0xffffffff, 1}));
  CHECK_FALSE(registry.alive({0, 1}));
  CHECK(registry.create() == Entity{1, 1});  // the registry keeps index 0 for nil
  CHECK(registry.destroy({}).dead == 1);
  CHECK(registry.destroy({900, 1}).dead == 1);
  CHECK(registry.entity_count() == 1);
}

TEST_CASE("bitsquid 12: an owner of component data needs no base class, and the registry does not know what it holds") {
  EntityRegistry registry;
  const Scores scores(registry);
  const Entity a = registry.create(), b = registry.create();
  registry.push(a, Hit{.amount = 4});
  CHECK(scores.of(a) == 4);
  CHECK(scores.of(b) == -1);
  CHECK(registry.host().components(a).empty());
  registry.destroy(a);
  CHECK(scores.size() == 0);
}

TEST_CASE("bitsquid 17: all arrays of a manager lie in one block, which is made anew to grow") {
  EntityRegistry registry;
  managers::Transforms transforms(registry, "transforms");
  const auto bytes = [](const auto& value) { return reinterpret_cast<const char*>(&value); };
  const managers::Matrix4* before = nullptr;
  int moves = 0;
  for (const Entity e : registry.create_many(1000)) {
    transforms.create(e);
    // local and world are neighbours: between their first elements lie as many matrices as there is room for.
    const std::ptrdiff_t apart = bytes(transforms.world(0)) - bytes(transforms.local(0));
    REQUIRE(apart >= static_cast<std::ptrdiff_t>(transforms.size() * sizeof(managers::Matrix4)));
    REQUIRE(apart <= static_cast<std::ptrdiff_t>((2 * transforms.size() + 64) * sizeof(managers::Matrix4)));
    if (before != &transforms.local(0)) ++moves;
    before = &transforms.local(0);
  }
  CHECK(moves > 1);
  CHECK(moves < 20);
}

TEST_CASE("bitsquid 22: a transform moves by its local matrix alone, and only who was given one has one") {
  EntityRegistry registry;
  managers::Transforms transforms(registry, "transforms");
  STATIC_REQUIRE_FALSE(HasSetWorld<managers::Transforms>);
  STATIC_REQUIRE(std::is_same_v<decltype(transforms.world(0)), const managers::Matrix4&>);
  const std::vector<Entity> e = registry.create_many(3);
  for (const Entity each : {e[0], e[1]}) transforms.create(each);
  CHECK(transforms.lookup(e[2]) == managers::Transforms::nil);
  CHECK(transforms.size() == 2);
  transforms.link(transforms.lookup(e[1]), transforms.lookup(e[0]));
  transforms.set_local(transforms.lookup(e[1]), managers::Matrix4::translation(0, 5, 0));
  transforms.set_local(transforms.lookup(e[0]), managers::Matrix4::translation(7, 0, 0));
  const managers::Matrix4& world = transforms.world(transforms.lookup(e[1]));
  CHECK((world.m[12] == 7 && world.m[13] == 5));
}

TEST_CASE("bitsquid 25: managers hear of a spawned tree in the order they ask for, when all of it is there") {
  EntityRegistry registry;
  std::string log;
  const auto whole = [&registry] { return registry.entity_count() == 3; };
  const auto meshes = registry.subscribe("meshes",
                                         [&](const Added<Place>&, const Place&, Entity e) {
                                           log += whole() ? "m" : "?";
                                           log += std::to_string(e.index) + " ";
                                         },
                                         {.after = {"transforms"}});
  const auto transforms = registry.subscribe("transforms", [&](const Added<Place>&, const Place&, Entity e) {
    log += whole() ? "t" : "?";
    log += std::to_string(e.index) + " ";
  });
  TemplateTree tree("tree");
  tree.set("", Place{}).set("a", Place{}).set("a/b", Place{});
  registry.define_template(tree);
  registry.spawn("tree").or_stop();
  CHECK(log == "t1 m1 t2 m2 t3 m3 ");
}

TEST_CASE("bitsquid 25: values are copied row by row of a type; types that nobody knows are kept and passed over") {
  EntityRegistry first;
  REQUIRE(define_templates(first, R"({templates: [{name: "orc", components: {"lineage.Health": {value: 30}, Frozen: {}},
      children: [{name: "arm", components: {Place: {at: {x: 5}}}}, {name: "leg", components: {Place: {}}}]}]})",
                           "orcs.json")
              .has_value() == false);  // its types are not known yet
  first.add_type<Health>();
  REQUIRE(define_templates(first, R"({templates: [{name: "orc", components: {"lineage.Health": {value: 30}, Frozen: {}},
      children: [{name: "arm", components: {Place: {at: {x: 5}}}}, {name: "leg", components: {Place: {}}}]}]})",
                           "orcs.json"));
  std::vector<Entity> ids;
  first.spawn("orc", {.count = 100, .ids = &ids}).or_stop();
  REQUIRE(ids.size() == 300);
  const Place* places = first.find<Place>(ids[1]);
  for (std::size_t i = 0; i < 16; ++i) {  // side by side, whatever lies between them in the tree
    CHECK(first.find<Place>(ids[1 + i / 2 * 3 + i % 2]) == places + i);
    CHECK(places[i].at.x == (i % 2 ? 1 : 5));
  }
  // A program without these types reads the same rows, keeps what it does not know, and writes it back.
  KeptRows rows, again;
  first.save(rows);
  EntityRegistry stranger;
  REQUIRE(stranger.load(rows));
  CHECK(stranger.entity_count() == 300);
  stranger.save(again);
  CHECK(again.kept == rows.kept);
}

TEST_CASE("bitsquid 26: components are compiled from text, and what an editor shows of them is in their schema") {
  EntityRegistry registry;
  registry.add_type<Health>();
  REQUIRE(define_templates(registry, R"({templates: [{name: "orc", components: {"lineage.Health": {value: 30}}}]})",
                           "orc.json"));
  CHECK(registry.get<Health>(registry.spawn("orc")).value == 30);
  const TypeDescriptor& type = *registry.types().find("lineage.Health");
  REQUIRE(type.fields.size() == 1);
  const FieldDescriptor& field = type.fields[0];
  CHECK(field.name == "value");
  CHECK(field.unit == "hp");
  CHECK((field.has_range && field.range_min == 0 && field.range_max == 1000));
  CHECK(field.default_text == "100");
  CHECK(field.doc.find("What is left") != std::string::npos);
  // And what a text may not say is found by it.
  const auto wrong = define_templates(
      registry, R"({templates: [{name: "x", components: {"lineage.Health": {value: 2000}}}]})", "x.json");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().text().find("from 0 to 1000") != std::string::npos);
}

}  // namespace bitsquid_test
