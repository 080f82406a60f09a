// Components that come and go without their rows moving: what they are to everybody who asks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/enableable.h"

using namespace muster;
using namespace ward;

namespace {

const Archetype& archetype_of(const EntityRegistry& r, Entity e) {
  return *r.host().storage().find(e).chunk->archetype;
}

std::vector<TypeId> sorted(std::vector<TypeId> types) {
  std::ranges::sort(types);
  return types;
}

std::vector<TypeId> components(const EntityRegistry& r, Entity e) {
  const auto found = r.host().components(e);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("that a component is enableable is a part of its layout, and known when programs are compiled") {
  STATIC_REQUIRE(EnableableType<Shield>);
  STATIC_REQUIRE(EnableableType<Stunned>);
  STATIC_REQUIRE_FALSE(EnableableType<Life>);
  STATIC_REQUIRE(TypeTraits<Stunned>::fingerprint == hash64("struct 1 1 enableable\n0 uint8 1 reserved\n"));
  EntityRegistry r;
  r.add_type<Shield>();
  CHECK(r.types().find("ward.Shield")->enableable);
  CHECK_FALSE(r.types().find("ward.Life")->enableable);
}

TEST_CASE("an enableable component that was removed is not there, and none of its old value is left") {
  EntityRegistry r;
  const Entity e = r.create(Life{}, Shield{.strength = 9}, Stunned{});
  CHECK(r.get<Shield>(e).strength == 9);
  CHECK(r.has<Stunned>(e));
  REQUIRE(r.remove<Shield>(e).handled == 1);
  REQUIRE(r.remove<Stunned>(e).handled == 1);
  CHECK_FALSE(r.has<Shield>(e));
  CHECK(r.find<Shield>(e) == nullptr);
  CHECK_FALSE(r.has<Stunned>(e));
  CHECK(components(r, e) == std::vector{TypeTraits<Life>::id});
  CHECK(r.remove<Shield>(e).refusal.code == RefusalCode::missing_component);
  CHECK(r.remove<Stunned>(e).refusal.code == RefusalCode::missing_component);

  const Row row = r.host().storage().find(e);
  const std::byte* const value = row.at(row.chunk->archetype->column(TypeTraits<Shield>::id), sizeof(Shield));
  CHECK(std::all_of(value, value + sizeof(Shield), [](std::byte b) { return b == std::byte{}; }));
  REQUIRE(r.set(e, Shield{}).handled == 1);
  CHECK(r.get<Shield>(e) == Shield{});
}

TEST_CASE("rows stay where they are when an enableable component goes and comes again, and no archetype comes") {
  EntityRegistry r;
  const std::vector<Entity> many = r.create_many(3000, Life{});
  for (const Entity e : many) r.set(e, Shield{});
  const std::size_t archetypes = r.host().storage().archetypes().size();
  const Archetype* const archetype = &archetype_of(r, many[7]);
  const std::uint32_t row = r.host().storage().find(many[7]).row;
  for (int i = 0; i < 3; ++i) {
    for (const Entity e : many) REQUIRE(r.remove<Shield>(e).handled == 1);
    for (const Entity e : many) REQUIRE(r.set(e, Shield{.strength = i}).handled == 1);
  }
  CHECK(r.host().storage().archetypes().size() == archetypes);
  CHECK(&archetype_of(r, many[7]) == archetype);
  CHECK(r.host().storage().find(many[7]).row == row);
}

TEST_CASE("directly and through the queue an enableable component comes and goes alike") {
  EntityRegistry direct, queued({.shortcuts = false});
  const auto life = [](EntityRegistry& r) {
    const Entity top = r.create("top", Life{});
    std::vector<Entity> all{top, r.create_under(top, "below", Life{}), r.create(Shield{.strength = 3}),
                            r.create(Life{}, Stunned{}, Aura{})};
    const auto more = r.create_many(40, Life{}, Aura{});
    all.insert(all.end(), more.begin(), more.end());
    for (std::uint32_t i = 0; i < 400; ++i) {
      const Entity e = all[i * 7 % all.size()];
      switch (i % 8) {
        case 0: r.set(e, Shield{.strength = static_cast<int>(i)}); break;
        case 1: r.remove<Shield>(e); break;
        case 2: r.set(e, Stunned{}); break;
        case 3: r.remove<Stunned>(e); break;
        case 4: r.set(e, Shield{}, Aura{.range = 3}); break;
        case 5: r.remove<Aura>(e); break;
        case 6: r.set(e, Life{.value = 3}, Stunned{}); break;
        default: i % 3 == 0 ? r.remove<Life>(e) : r.set(e, Aura{}); break;
      }
    }
    r.destroy(all[5]);
    return r.hash();
  };
  CHECK(life(direct) == life(queued));
  naive::StateRows a = naive::saved_rows(direct), b = naive::saved_rows(queued);
  CHECK(a == b);
}

TEST_CASE("modes of Set and SetField take an enableable component that is not there for missing") {
  EntityRegistry r;
  const Entity e = r.create(Shield{});
  r.remove<Shield>(e);
  const auto set = [&](SetMode mode) {
    BatchBuilder builder;
    builder.append_rows(e, Set{.mode = mode}, Shield{.strength = 4});
    return r.host().push_batch(builder.bytes());
  };
  SetField field{.component = TypeTraits<Shield>::id, .field = hash32("strength"), .bytes = 4};
  CHECK(set(SetMode::replace).refusal.code == RefusalCode::missing_component);
  CHECK(r.push(e, field).refusal.code == RefusalCode::missing_component);
  CHECK(set(SetMode::add).handled == 1);
  CHECK(set(SetMode::add).refusal.code == RefusalCode::component_there);
  CHECK(set(SetMode::replace).handled == 1);
  CHECK(r.push(e, field).handled == 1);
  CHECK(r.get<Shield>(e).strength == 0);
}

TEST_CASE("handlers are called for rows that have what they ask for") {
  EntityRegistry r;
  std::vector<Entity> many = r.create_many(100, Life{}, Shield{}, Stunned{});
  for (std::size_t i = 0; i < many.size(); ++i) {
    if (i % 2 == 0) r.remove<Shield>(many[i]);
    if (i % 3 == 0) r.remove<Stunned>(many[i]);
  }
  int shields = 0, bare = 0, stunned = 0, awake = 0, maybe = 0, none = 0;
  Handlers all;
  all.add(r.subscribe("a", [&](const Beat&, Shield& shield) { ++shields, ++shield.strength; }));
  all.add(r.subscribe("b", [&](const Beat&, Without<Shield>) { ++bare; }));
  all.add(r.subscribe("c", [&](const Beat&, const Life&, With<Stunned>) { ++stunned; }));
  all.add(r.subscribe("d", [&](const Beat&, const Shield&, Without<Stunned>) { ++awake; }));
  all.add(r.subscribe("e", [&](const Beat&, const Shield* shield) { ++(shield ? maybe : none); }));
  r.push(Beat{});
  CHECK(shields == 50);
  CHECK(bare == 50);
  CHECK(stunned == 66);
  CHECK(awake == 17);
  CHECK(maybe == 50);
  CHECK(none == 50);
  shields = 0;
  for (const Entity e : many) r.push(e, Beat{});
  CHECK(shields == 50);
  CHECK(r.get<Shield>(many[1]).strength == 7);
  int found = 0;
  r.each<const Shield>([&](const Shield&) { ++found; });
  CHECK(found == 50);
}

TEST_CASE("the nearest ancestor is the nearest that has an enableable component now") {
  EntityRegistry r;
  const Entity top = r.create("top", Shield{.strength = 1});
  const Entity middle = r.create_under(top, "middle", Shield{.strength = 2});
  const Entity leaf = r.create_under(middle, "leaf", Life{}, Shield{.strength = 3});
  int above = 0, own = 0;
  Handlers all;
  all.add(r.subscribe(
      "above", [&](const Hit&, const Life&, Parent<const Shield*> shield) { above = shield ? shield->strength : 0; }));
  all.add(r.subscribe("own", [&](const Hit&, const Life&, SelfOrParent<const Shield*> shield) {
    own = shield ? shield->strength : 0;
  }));
  const auto look = [&] {
    r.push(leaf, Hit{});
    return std::pair(above, own);
  };
  CHECK(look() == std::pair(2, 3));
  r.remove<Shield>(leaf);
  CHECK(look() == std::pair(2, 2));
  r.remove<Shield>(middle);
  CHECK(look() == std::pair(1, 1));
  r.remove<Shield>(top);
  CHECK(look() == std::pair(0, 0));
  r.set(leaf, Shield{.strength = 8});
  CHECK(look() == std::pair(0, 8));
}

TEST_CASE("who follows an enableable component is told of each time it comes and goes") {
  EntityRegistry r;
  std::string told;
  Handlers all;
  all.add(
      r.subscribe("added", [&](const Added<Shield>&, const Shield& s) { told += "+" + std::to_string(s.strength); }));
  all.add(r.subscribe("removed",
                      [&](const Removed<Shield>&, const Shield& s) { told += "-" + std::to_string(s.strength); }));
  all.add(r.subscribe("changed",
                      [&](const Changed<Shield>&, const Shield& s) { told += "=" + std::to_string(s.strength); }));
  const Entity e = r.create(Life{});
  r.set(e, Shield{.strength = 1});
  r.set(e, Shield{.strength = 2});
  r.remove<Shield>(e);
  r.remove<Shield>(e);
  r.set(e, Shield{.strength = 3});
  r.remove<Shield>(e);
  r.destroy(e);
  CHECK(told == "+1=2-2+3-3");
}

TEST_CASE("a Destroy tells who follows an enableable component of those who have it, and of nobody who lacks it") {
  EntityRegistry r;
  std::vector<Entity> told;
  const Handlers all(r.subscribe("removed", [&](const Removed<Shield>&, Entity e) { told.push_back(e); }));
  const Entity top = r.create(Shield{}), lacks = r.create_under(top, "", Shield{});
  const Entity has = r.create_under(top, "", Shield{});
  r.remove<Shield>(lacks);
  CHECK(std::exchange(told, {}) == std::vector{lacks});
  r.destroy(top);
  CHECK(told == std::vector{has, top});
}

TEST_CASE("nobody is told of a change of an enableable component that the handler took away at once") {
  EntityRegistry r;
  int changed = 0, removed = 0;
  const Handlers all(r.subscribe("hit",
                                 [](const Hit& hit, Shield& shield, Entity e, Outbox& out) {
                                   shield.strength -= hit.amount;
                                   if (hit.amount > 1) out.remove<Shield>(e);
                                 }),
                     r.subscribe("changed", [&](const Changed<Shield>&) { ++changed; }),
                     r.subscribe("removed", [&](const Removed<Shield>&) { ++removed; }));
  const Entity e = r.create(Shield{});
  r.push(e, Hit{.amount = 1});
  CHECK(changed == 1);
  r.push(e, Hit{.amount = 2});  // it is gone when its change would be told
  CHECK(changed == 1);
  CHECK(removed == 1);
}

TEST_CASE("a template gives enableable components, and merging it gives those that are missing") {
  EntityRegistry r;
  r.add_type<Shield>();
  r.add_type<Life>();
  TemplateTree tree("guard");
  tree.set("", Life{}).set("", Shield{.strength = 4}).set("arm", Aura{}).set("arm/hand", Stunned{});
  r.define_template(tree);
  const Entity guard = r.spawn("guard", {.name = "guard"});
  const Entity arm = r.find_path("/guard/arm"), hand = r.find_path("/guard/arm/hand");
  CHECK(r.get<Shield>(guard).strength == 4);
  CHECK(r.get<Aura>(arm).range == 2);
  CHECK(r.has<Stunned>(hand));
  for (int i = 0; i < 20; ++i) r.spawn("guard").or_stop();  // block by block
  const Entity last = r.spawn("guard", {.name = "last"});
  CHECK(r.has<Shield>(last));
  CHECK(r.get<Aura>(r.find_path("/last/arm")).range == 2);
  CHECK(r.has<Stunned>(r.find_path("/last/arm/hand")));
  r.remove<Shield>(guard);
  r.remove<Aura>(arm);
  r.remove<Stunned>(hand);
  REQUIRE(r.apply_template(guard, "guard").refused == 0);
  CHECK(r.get<Shield>(guard).strength == 4);
  CHECK(r.get<Aura>(arm).range == 2);
  CHECK(r.has<Stunned>(hand));
  r.remove<Shield>(guard);
  CHECK(TemplateTree::of(r, guard, "copy").root().components.size() == 1);
}

TEST_CASE("a world with enableable components that were removed is the same once it was saved and loaded") {
  EntityRegistry r;
  const std::vector<Entity> many = r.create_many(2500, Life{}, Shield{.strength = 1}, Stunned{});
  for (std::size_t i = 0; i < many.size(); i += 3) r.remove<Shield>(many[i]);
  for (std::size_t i = 0; i < many.size(); i += 4) r.remove<Stunned>(many[i]);
  const naive::StateRows rows = naive::saved_rows(r);
  EntityRegistry again;
  naive::RowsSource source(rows);
  REQUIRE(again.load(source));
  CHECK(again.hash() == r.hash());
  CHECK(naive::saved_rows(again) == rows);
  for (std::size_t i = 0; i < many.size(); ++i) {
    REQUIRE(again.has<Shield>(many[i]) == (i % 3 != 0));
    REQUIRE(again.has<Stunned>(many[i]) == (i % 4 != 0));
    REQUIRE(components(again, many[i]) == components(r, many[i]));
  }
  CHECK(components(again, many[1]) == sorted({TypeTraits<Life>::id, TypeTraits<Shield>::id, TypeTraits<Stunned>::id}));
}

TEST_CASE(
    "what a saved row that lacks a component says of its value is not read, and one that says neither is refused") {
  EntityRegistry r;
  const Entity e = r.create(Shield{.strength = 7});
  const std::uint64_t uid = r.host().storage().find(e).chunk->uid;
  const StateKey value{StateSection::columns, uid, TypeTraits<Shield>::id};
  const StateKey says{StateSection::columns, uid, hash32("ward.Shield:enabled")};
  naive::StateRows rows = naive::saved_rows(r);
  REQUIRE(rows.at(says).size() == 4);
  const auto load = [&] {
    EntityRegistry loaded;
    naive::RowsSource source(rows);
    const auto done = loaded.load(source);
    return done ? (loaded.has<Shield>(e) ? "there" : "not there") + std::to_string(loaded.hash()) : done.error().text();
  };
  rows.at(says)[0] = std::byte{0};
  const std::string lacks = load();
  std::ranges::fill(rows.at(value), std::byte{});
  CHECK(load() == lacks);
  CHECK(lacks.starts_with("not there"));
  rows.at(says)[1] = std::byte{1};
  CHECK_THAT(load(), Catch::Matchers::Contains("does not say whether it has a component"));
}

TEST_CASE("a handler that is made at run time takes enableable components as others do") {
  EntityRegistry r;
  const std::vector<Entity> many = r.create_many(30, Life{}, Shield{}, Stunned{});
  for (std::size_t i = 0; i < many.size(); i += 2) r.remove<Shield>(many[i]);
  for (std::size_t i = 0; i < many.size(); i += 3) r.remove<Stunned>(many[i]);
  int calls = 0, shields = 0;
  r.add_type<Beat>();
  const Subscription handler =
      r.subscribe("run time",
                  {.message = TypeTraits<Beat>::id,
                   .terms = {{.type = TypeTraits<Shield>::id, .presence = Presence::optional},
                             {.type = TypeTraits<Stunned>::id, .presence = Presence::excluded, .value = false},
                             {.type = TypeTraits<Life>::id}}},
                  [&](const DynamicCall& call) {
                    ++calls;
                    shields += call.values[0] != nullptr;
                    CHECK(call.values[2] != nullptr);
                  });
  r.push(Beat{});
  CHECK(calls == 10);
  CHECK(shields == 5);
}
