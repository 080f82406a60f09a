#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace hierarchy_test {

using namespace muster;

namespace {

std::string children(const EntityRegistry& registry, Entity parent) {
  std::string names;
  std::uint32_t count = 0;
  for (Entity child = registry.first_child(parent); child; child = registry.next_sibling(child), ++count) {
    CHECK(registry.parent(child) == parent);
    CHECK(registry.depth(child) == registry.depth(parent) + 1);
    names += registry.name(child);
  }
  CHECK(registry.child_count(parent) == count);
  return names;
}

}  // namespace

TEST_CASE("children keep the order they were put in") {
  EntityRegistry registry;
  const Entity p = registry.create("p");
  const Entity a = registry.create_under(p, "a"), b = registry.create_under(p, "b");
  const Entity c = registry.create_under(p, "c");
  CHECK(children(registry, p) == "abc");
  CHECK(registry.reparent(c, p, a).handled == 1);
  CHECK(children(registry, p) == "cab");
  CHECK(registry.reparent(c, p, b).handled == 1);
  CHECK(children(registry, p) == "acb");
  CHECK(registry.reparent(a, p).handled == 1);
  CHECK(children(registry, p) == "cba");
  registry.destroy(b);
  CHECK(children(registry, p) == "ca");
  const Entity q = registry.create("q");
  CHECK(registry.reparent(c, q).handled == 1);
  CHECK(children(registry, p) == "a");
  CHECK(children(registry, q) == "c");
  CHECK(registry.reparent(a, q, c).handled == 1);
  CHECK(children(registry, q) == "ac");
  CHECK(children(registry, p).empty());
}

TEST_CASE("the order of children is in the hash, of those behind the first too") {
  EntityRegistry one, other;
  std::vector<Entity> places;
  for (EntityRegistry* registry : {&one, &other}) {
    const Entity p = registry->create("p");
    const Entity a = registry->create_under(p, "a"), b = registry->create_under(p, "b");
    const Entity c = registry->create_under(p, "c"), d = registry->create_under(p, "d");
    REQUIRE(registry->reparent(d, p, registry == &one ? b : c).handled == 1);
    CHECK(children(*registry, p) == (registry == &one ? "adbc" : "abdc"));
    CHECK(registry->first_child(p) == a);
  }
  CHECK(one.sequence() == other.sequence());
  CHECK(one.hash() != other.hash());
}

TEST_CASE("Create takes its place before a sibling") {
  EntityRegistry registry;
  const Entity p = registry.create("p");
  const Entity b = registry.create_under(p, "b");
  const auto create_before = [&](Entity parent, Entity before) {
    const Entity id = registry.host().grant(1, 1);
    const Text name = registry.intern("n" + std::to_string(id.index));
    return registry.push(id, Create{.parent = parent, .before = before, .name = name});
  };
  CHECK(create_before(p, b).handled == 1);
  CHECK(registry.next_sibling(registry.first_child(p)) == b);
  // Not a sibling: refused, naming the field.
  for (const Entity wrong : {p, Entity{77, 1}}) {
    const Receipt receipt = create_before(p, wrong);
    CHECK(receipt.refusal.code == RefusalCode::before_is_no_child);
    CHECK(receipt.refusal.field == hash32("before"));
  }
  // Roots have no order among each other.
  CHECK(create_before({}, p).refusal.code == RefusalCode::before_is_no_child);
  CHECK(registry.child_count(p) == 2);
}

TEST_CASE("a cycle is refused and changes nothing") {
  EntityRegistry registry;
  const Entity a = registry.create("a");
  const Entity b = registry.create_under(a, "b"), c = registry.create_under(b, "c");
  for (const Entity below : {a, b, c}) {
    const Receipt receipt = registry.reparent(a, below);
    CHECK(receipt.refused == 1);
    CHECK(receipt.refusal.code == RefusalCode::cycle);
    CHECK(receipt.refusal.entity == a);
    CHECK(receipt.refusal.field == hash32("parent"));
  }
  CHECK(registry.path(c) == "/a/b/c");
  CHECK(registry.reparent(b, b).refusal.code == RefusalCode::cycle);
}

TEST_CASE("a dead parent and a wrong place are refused") {
  EntityRegistry registry;
  const Entity a = registry.create("a"), b = registry.create("b");
  const Entity dead = registry.create("dead");
  registry.destroy(dead);
  CHECK(registry.reparent(a, dead).refusal.code == RefusalCode::dead_entity);
  CHECK(registry.reparent(a, b, a).refusal.code == RefusalCode::before_is_no_child);
  CHECK(registry.reparent(a, b, dead).refusal.code == RefusalCode::before_is_no_child);
  CHECK(registry.reparent(a, {}, b).refusal.code == RefusalCode::before_is_no_child);
  CHECK_FALSE(registry.create_under(dead, "child"));
  CHECK(registry.reparent(dead, a).dead == 1);
  CHECK(registry.depth(a) == 0);
}

TEST_CASE("a subtree changes depth with its top") {
  EntityRegistry registry;
  const Entity a = registry.create("a");
  const Entity b = registry.create_under(a, "b", game::Health{.value = 1});
  const Entity c = registry.create_under(b, "c", game::Health{.value = 2});
  const Entity d = registry.create_under(c, "d", game::Health{.value = 3});
  CHECK(registry.reparent(b, {}).handled == 1);
  CHECK(registry.parent(b) == Entity{});
  CHECK(registry.depth(b) == 0);
  CHECK(registry.depth(d) == 2);
  CHECK(registry.path(d) == "/b/c/d");
  CHECK(registry.find_child({}, "b") == b);
  CHECK(registry.find_child(a, "b") == Entity{});
  CHECK(registry.reparent(a, d).handled == 1);
  CHECK(registry.depth(a) == 3);
  CHECK(registry.get<game::Health>(b).value == 1);
  CHECK(registry.get<game::Health>(c).value == 2);
  CHECK(registry.get<game::Health>(d).value == 3);
}

TEST_CASE("destroying an entity destroys everything below it, children first, and nothing else") {
  EntityRegistry registry;
  const Entity p = registry.create("p");
  const Entity before = registry.create_under(p, "before"), middle = registry.create_under(p, "middle");
  const Entity after = registry.create_under(p, "after");
  const Entity m1 = registry.create_under(middle, "1"), m2 = registry.create_under(middle, "2");
  const Entity m11 = registry.create_under(m1, "11");
  std::vector<Entity> seen;
  const auto s = registry.subscribe("obituary", [&](const Destroy&, Entity self) { seen.push_back(self); });
  CHECK(registry.destroy(middle).handled == 1);
  CHECK(seen == std::vector<Entity>{m2, m11, m1, middle});
  for (const Entity e : seen) CHECK_FALSE(registry.alive(e));
  CHECK(children(registry, p) == "beforeafter");
  CHECK(registry.next_sibling(before) == after);
  CHECK(registry.entity_count() == 3);
  CHECK(registry.find_path("/p/middle/1") == Entity{});
  CHECK(registry.destroy(middle).dead == 1);
  CHECK(registry.entity_count() == 3);
}

TEST_CASE("a span that destroys parent and child destroys each once") {
  EntityRegistry registry;
  const Entity p = registry.create("p");
  const Entity c = registry.create_under(p, "c");
  const Entity both[] = {p, c};
  const Receipt receipt = registry.push(std::span<const Entity>(both), Destroy{});
  CHECK(receipt.handled == 1);
  CHECK(receipt.dead == 1);
  CHECK(registry.entity_count() == 0);
}

TEST_CASE("a reused index has none of its predecessor's relations") {
  EntityRegistry registry;
  const Entity p = registry.create("p");
  std::vector<Entity> gone;
  for (int i = 0; i < 1100; ++i) {
    const Entity mid = registry.create_under(p, "");
    registry.create_under(mid, "leaf").or_stop();
    gone.push_back(mid);
  }
  for (const Entity e : gone) registry.destroy(e);
  CHECK(registry.child_count(p) == 0);
  for (int i = 0; i < 1500; ++i) {
    const Entity e = registry.create();
    REQUIRE(registry.first_child(e) == Entity{});
    REQUIRE(registry.next_sibling(e) == Entity{});
    REQUIRE(registry.child_count(e) == 0);
    REQUIRE(registry.parent(e) == Entity{});
  }
}

TEST_CASE("a chain of a thousand is walked without recursion") {
  EntityRegistry registry;
  const Entity top = registry.create("0");
  Entity at = top;
  for (int i = 1; i < 1000; ++i) at = registry.create_under(at, std::to_string(i));
  CHECK(registry.depth(at) == 999);
  CHECK(registry.find_path(registry.path(at)) == at);
  CHECK(registry.destroy(top).handled == 1);
  CHECK(registry.entity_count() == 0);
}

TEST_CASE("usagi 15: messages reach ancestors, the entity and descendants, root first") {
  EntityRegistry registry;
  const Entity a = registry.create("a", game::Health{});
  const Entity b = registry.create_under(a, "b", game::Health{});
  const Entity c = registry.create_under(b, "c", game::Health{});
  const Entity d = registry.create_under(b, "d");  // no Health: not a target of the handler
  const Entity e = registry.create_under(d, "e", game::Health{});
  std::string seen;
  const auto s = registry.subscribe(
      "log", [&](const game::Heal&, const game::Health&, Entity self) { seen += registry.name(self); });
  const auto reach = [&](std::uint64_t parts) {
    seen.clear();
    const Receipt receipt = registry.push_subtree(b, parts, game::Heal{});
    CHECK(receipt.handled == seen.size());
    return seen;
  };
  CHECK(reach(subtree_self) == "b");
  CHECK(reach(subtree_ancestors) == "a");
  CHECK(reach(subtree_descendants) == "ce");
  CHECK(reach(subtree_ancestors | subtree_self | subtree_descendants) == "abce");
  CHECK(registry.push_subtree(e, subtree_ancestors | subtree_self, game::Heal{}).unhandled == 1);
  CHECK(seen == "abceabe");
  CHECK(registry.alive(c));
}

TEST_CASE("usagi 8: values come from the nearest ancestor that has them") {
  EntityRegistry registry;
  const Entity top = registry.create("top", game::Armor{.factor = 1}, game::Health{.value = 10});
  const Entity middle = registry.create_under(top, "middle", game::Armor{.factor = 2});
  const Entity plain = registry.create_under(middle, "plain");
  const Entity leaf = registry.create_under(plain, "leaf", game::Position{});
  const Entity armed = registry.create_under(plain, "armed", game::Position{}, game::Armor{.factor = 3});
  const Entity lonely = registry.create("lonely", game::Position{});
  std::string seen;
  const auto number = [](const game::Armor* armor) { return armor ? std::to_string(int(armor->factor)) : "-"; };
  const auto s1 = registry.subscribe("1", [&](const game::Heal&, const game::Position&, Parent<const game::Armor> up) {
    seen += "p" + number(up.get());
  });
  const auto s2 = registry.subscribe("2", [&](const game::Heal&, const game::Position&,
                                              SelfOrParent<const game::Armor> up) { seen += "s" + number(up.get()); });
  const auto s3 = registry.subscribe("3", [&](const game::Heal&, const game::Position&, Parent<const game::Armor*> up) {
    seen += "o" + number(up.get());
  });
  const auto s4 =
      registry.subscribe("4", [&](const game::Heal&, const game::Position&,
                                  ParentWith<const game::Armor, game::Health> up) { seen += "w" + number(up.get()); });
  const auto ask = [&](Entity e) {
    seen.clear();
    registry.push(e, game::Heal{});
    return seen;
  };
  CHECK(ask(leaf) == "p2s2o2w1");
  CHECK(ask(armed) == "p2s3o2w1");
  CHECK(ask(lonely) == "o-");
  registry.remove<game::Armor>(middle);
  CHECK(ask(leaf) == "p1s1o1w1");
  registry.set(plain, game::Armor{.factor = 4});
  CHECK(ask(leaf) == "p4s4o4w1");
  registry.set(plain, game::Health{});
  CHECK(ask(leaf) == "p4s4o4w4");
  registry.remove<game::Armor>(plain);
  CHECK(ask(leaf) == "p1s1o1");  // the nearest with Health has no Armor
  registry.reparent(leaf, {});
  CHECK(ask(leaf) == "o-");
}

TEST_CASE("a child that becomes a root has no siblings any more, and its siblings go on without it") {
  EntityRegistry registry;
  const Entity top = registry.create("top");
  const Entity first = registry.create_under(top, "first"), middle = registry.create_under(top, "middle"),
               last = registry.create_under(top, "last");
  registry.reparent(middle, {});
  CHECK_FALSE(registry.parent(middle));
  CHECK_FALSE(registry.next_sibling(middle));
  CHECK(registry.next_sibling(first) == last);
  registry.reparent(first, {});
  CHECK_FALSE(registry.next_sibling(first));
  CHECK(registry.first_child(top) == last);
}

}  // namespace hierarchy_test
