#include <catch2/catch.hpp>

#include "registry/delivery/schedule.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;
using game::Armor;
using game::Count;
using game::Frozen;
using game::Health;
using game::Position;

namespace {

/// Two handlers of Update and what is found out about them.
template <class A, class B>
std::vector<Conflict> between(A a, B b, HandlerOptions options_a = {}, HandlerOptions options_b = {}) {
  EntityRegistry registry;
  const auto first = registry.subscribe("a", a, std::move(options_a));
  const auto second = registry.subscribe("b", b, std::move(options_b));
  const MessageRoute& route = *registry.host().handlers().route(TypeTraits<Update>::id);
  std::vector<Conflict> found = conflicts(*route.active[0], *route.active[1]);
  // Nobody is the first: what is found the other way round is the same, mirrored.
  CHECK(conflicts(*route.active[1], *route.active[0]).size() == found.size());
  return found;
}
template <class F>
Splitting split_of(F f, HandlerOptions options = {}) {
  EntityRegistry registry;
  const auto s = registry.subscribe("a", f, std::move(options));
  return splitting(*registry.host().handlers().route(TypeTraits<Update>::id)->active[0]);
}

void reads_health(const Update&, const Health&) {}
void writes_health(const Update&, Health&) {}
void writes_armor(const Update&, Armor&) {}

}  // namespace

TEST_CASE("readers of one component may overlap, whatever their source") {
  CHECK(between(reads_health, reads_health).empty());
  CHECK(between(reads_health, [](const Update&, Parent<const Health>, Armor&) {}).empty());
  CHECK(between(reads_health, [](const Update&, Lookup<const Health>, Armor&) {}).empty());
}

TEST_CASE("writers of different components may overlap") { CHECK(between(writes_health, writes_armor).empty()); }

TEST_CASE("a writer conflicts with a writer and with a reader of any source") {
  const auto one = [](const std::vector<Conflict>& found, Source source) {
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == ConflictKind::component);
    CHECK(found[0].component == TypeTraits<Health>::id);
    CHECK(found[0].first_writes);
    CHECK(found[0].second_source == source);
  };
  one(between(writes_health, writes_health), Source::self);
  one(between(writes_health, reads_health), Source::self);
  one(between(writes_health, [](const Update&, Parent<const Health>, Armor&) {}), Source::parent);
  one(between(writes_health, [](const Update&, Parent<const Health*>, Armor&) {}), Source::parent);
  one(between(writes_health, [](const Update&, SelfOrParent<const Health>, Armor&) {}), Source::self_or_parent);
  one(between(writes_health, [](const Update&, ParentWith<const Health, Armor>, Count&) {}), Source::parent_with);
  one(between(writes_health, [](const Update&, Lookup<const Health>, Armor&) {}), Source::any);
  one(between(writes_health, [](const Update&, const Health*, Armor&) {}), Source::self);
  one(between(writes_health, [](const Update&, std::span<const Health>) {}), Source::self);
}

TEST_CASE("who only asks whether a component is there touches nothing of it") {
  CHECK(between(writes_health, [](const Update&, With<Health>, Armor&) {}).empty());
  CHECK(between(writes_health, [](const Update&, Without<Health>, Armor&) {}).empty());
  CHECK(between(writes_health, [](const Update&, WithoutParent<Health>, Armor&) {}).empty());
}

TEST_CASE("handlers whose own rows are never the same entity's may overlap") {
  const auto frozen = [](const Update&, Health&, With<Frozen>) {};
  const auto not_frozen = [](const Update&, Health&, Without<Frozen>) {};
  CHECK(between(frozen, not_frozen).empty());
  CHECK_FALSE(between(frozen, frozen).empty());
  // The parent may well be frozen.
  CHECK_FALSE(between(frozen, [](const Update&, Parent<const Health>, Without<Frozen>, Armor&) {}).empty());
}

TEST_CASE("external resources conflict as components do") {
  const HandlerOptions reads{.external_reads = {"octree"}}, writes{.external_writes = {"octree"}};
  const HandlerOptions other{.external_writes = {"renderer"}};
  CHECK(between(reads_health, reads_health, reads, reads).empty());
  CHECK(between(reads_health, reads_health, writes, other).empty());
  for (const auto& [a, b] : {std::pair{reads, writes}, std::pair{writes, reads}, std::pair{writes, writes}}) {
    const auto found = between(reads_health, reads_health, a, b);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == ConflictKind::external);
    CHECK(found[0].resource == "octree");
  }
}

TEST_CASE("state that no external resource stands for conflicts with all others of that kind") {
  int a = 0, b = 0;
  const auto counts_a = [&a](const Update&, const Health&) { ++a; };
  const auto counts_b = [&b](const Update&, const Armor&) { ++b; };
  const auto found = between(counts_a, counts_b);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == ConflictKind::hidden_state);
  CHECK(between(counts_a, reads_health).empty());
  CHECK(between(counts_a, counts_b, {.external_writes = {"a"}}).empty());
  CHECK(between(counts_a, counts_b, {.external_writes = {"a"}}, {.external_writes = {"b"}}).empty());
  // What on_begin does is not known either.
  CHECK(between(counts_a, reads_health, {}, {.on_begin = [] { return true; }}).size() == 1);
}

TEST_CASE("who gives out ids conflicts with others who do, and with who finds rows by ids") {
  const auto spawns = [](const Update&, const Armor&, Spawner&) {};
  const auto looks_up = [](const Update&, Lookup<const Count>, Health&) {};
  const auto parent = [](const Update&, Parent<const Count>, Health&) {};
  for (const auto& found : {between(spawns, spawns), between(spawns, looks_up), between(parent, spawns)}) {
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == ConflictKind::ids);
  }
  CHECK(between(spawns, writes_health).empty());
  // An object's handler may ask the registry who is alive, whatever it names.
  int n = 0;
  CHECK(between(spawns, [&n](const Update&, const Health&) { ++n; }, {}, {.external_writes = {"n"}}).size() == 1);
}

TEST_CASE("a handler of its own rows is split over rows, whether it pushes or not") {
  CHECK(split_of(writes_health).split == Split::rows);
  CHECK(split_of([](const Update&, Health&, const Armor*, Entity, Outbox&) {}).split == Split::rows);
  CHECK(split_of([](const Update&, Parent<const Armor>, Health&) {}).split == Split::rows);
  CHECK(split_of([](const Update&, Lookup<const Armor>, Health&) {}).split == Split::rows);
  CHECK(split_of([](const Update&, std::span<Health>) {}).split == Split::rows);
}

TEST_CASE("a handler that reads from ancestors what it writes is split over branches") {
  CHECK(split_of([](const Update&, Parent<const Health>, Health&) {}).split == Split::branches);
  CHECK(split_of([](const Update&, Parent<const Health*>, Health&) {}).split == Split::branches);
  CHECK(split_of([](const Update&, SelfOrParent<const Health>, Health&) {}).split == Split::branches);
  CHECK(split_of([](const Update&, ParentWith<const Health, Armor>, Health&) {}).split == Split::branches);
}

TEST_CASE("what must go row after row is not split, and the schedule knows why") {
  int count = 0;
  const auto because = [](const Splitting& s, WholeBecause why) {
    CHECK(s.split == Split::whole);
    CHECK(s.because == why);
  };
  because(split_of([](const Update&) {}), WholeBecause::once);
  because(split_of([](const Update&, const Health&, Spawner&) {}), WholeBecause::spawns);
  because(split_of([&count](const Update&, const Health&) { ++count; }), WholeBecause::hidden_state);
  because(split_of(reads_health, {.external_writes = {"octree"}}), WholeBecause::external_write);
  because(split_of([](const Update&, Health&, Lookup<const Health>) {}), WholeBecause::reads_by_id);
  // Reading through a capture that is named as such is no reason.
  CHECK(split_of([&count](const Update&, Health&) { (void)count; }, {.external_reads = {"octree"}}).split ==
        Split::rows);
}

TEST_CASE("bubel 11: jobs and their dependencies come from what is read and written, in the order of priorities") {
  EntityRegistry registry;
  const auto s1 = registry.subscribe("late", writes_health, {.priority = 9});
  const auto s2 = registry.subscribe("reader one", reads_health, {.priority = 5});
  const auto s3 = registry.subscribe("reader two", reads_health, {.priority = 6});
  const auto s4 = registry.subscribe("early", writes_health, {.priority = 1});
  const auto s5 = registry.subscribe("elsewhere", writes_armor, {.priority = 20});
  const PassSchedule schedule = make_schedule(registry.host().handlers().route(TypeTraits<Update>::id)->active);
  REQUIRE(schedule.nodes.size() == 5);
  const auto earlier = [&](std::size_t i) { return schedule.nodes[i].earlier; };
  CHECK(earlier(0).empty());                                   // early
  CHECK(earlier(1) == std::vector<std::uint32_t>{0});          // reader one
  CHECK(earlier(2) == std::vector<std::uint32_t>{0});          // reader two: beside reader one
  CHECK(earlier(3) == (std::vector<std::uint32_t>{0, 1, 2}));  // late
  CHECK(earlier(4).empty());                                   // elsewhere
  CHECK(schedule.groups == 3);
}
