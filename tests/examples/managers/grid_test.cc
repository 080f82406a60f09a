#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "examples/managers/grid.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/examples/managers/things.h"

using namespace muster;
using namespace collision;
using managers::Grid;
using things::Armor;
using things::Ghost;
using things::Hits;

namespace {

Place at(float x, float y = 0, float z = 0) { return {.at = {.x = x, .y = y, .z = z}}; }

/// Contacts as they were heard, in order.
struct Heard {
  std::vector<std::tuple<Entity, Entity, float, float, bool>> contacts;  // self, other, normal x, depth, first
  std::string triggers;
  std::vector<std::pair<Entity, RayHit>> hits;
  Handlers handlers;
  explicit Heard(EntityRegistry& registry) {
    handlers.add(registry.subscribe("heard.collision", [this](const Collision& c, Entity self) {
      contacts.emplace_back(self, c.other, c.normal.x, c.depth, c.first_contact);
    }));
    handlers.add(registry.subscribe("heard.enter", [this](const TriggerEnter& t, Entity self) {
      triggers += "+" + std::to_string(self.index) + ":" + std::to_string(t.other.index) + " ";
    }));
    handlers.add(registry.subscribe("heard.exit", [this](const TriggerExit& t, Entity self) {
      triggers += "-" + std::to_string(self.index) + ":" + std::to_string(t.other.index) + " ";
    }));
    handlers.add(
        registry.subscribe("heard.hit", [this](const RayHit& hit, Entity self) { hits.emplace_back(self, hit); }));
  }
};

}  // namespace

TEST_CASE("in a heap a body is told of as many others as a grid tells of, whether it is in few cells or in many") {
  for (const float radius : {0.5F, 40.0F}) {
    CAPTURE(radius);
    EntityRegistry registry;
    constexpr std::uint32_t contacts_max = 40;
    const Grid grid(registry, 2, contacts_max);
    Heard heard(registry);
    constexpr std::size_t bodies = 3 * contacts_max;
    for (std::size_t i = 0; i < bodies; ++i) registry.create(at(0), Body{.radius = radius});
    registry.push(FindContacts{});
    std::map<Entity, std::size_t> told;
    std::set<std::pair<Entity, Entity>> pairs;
    for (const auto& contact : heard.contacts) {
      ++told[std::get<0>(contact)];
      CHECK(pairs.emplace(std::get<0>(contact), std::get<1>(contact)).second);
    }
    REQUIRE_FALSE(told.empty());
    for (const auto& [body, others] : told) CHECK(others <= contacts_max);
    CHECK(told.begin()->second == contacts_max);
    for (const auto& [one, other] : pairs) CHECK(pairs.contains({other, one}));
  }
}

TEST_CASE("usagi 13: both sides are called once per contact, the normal mirrored, the first contact flagged") {
  EntityRegistry registry;
  const Grid grid(registry);
  Heard heard(registry);
  const Entity a = registry.create(at(0), Body{.radius = 1}), b = registry.create(at(1.5F), Body{.radius = 1});
  registry.push(FindContacts{});
  REQUIRE(heard.contacts.size() == 2);
  CHECK(heard.contacts[0] == std::tuple(a, b, 1.0F, 0.5F, true));
  CHECK(heard.contacts[1] == std::tuple(b, a, -1.0F, 0.5F, true));
  heard.contacts.clear();
  registry.push(FindContacts{});
  REQUIRE(heard.contacts.size() == 2);
  CHECK_FALSE(std::get<4>(heard.contacts[0]));
  registry.set(b, at(9));
  heard.contacts.clear();
  registry.push(FindContacts{});
  CHECK(heard.contacts.empty());
  registry.set(b, at(0));  // in one place
  registry.push(FindContacts{});
  REQUIRE(heard.contacts.size() == 2);
  CHECK(heard.contacts[0] == std::tuple(a, b, 1.0F, 2.0F, true));
}

TEST_CASE(
    "usagi 13: a system is not called when what it requires of the other is missing, or group and mask share nothing") {
  EntityRegistry registry;
  const Grid grid(registry);
  std::vector<Entity> called;
  const auto s = registry.subscribe("hurt", [&](const Collision& c, Hits& hits, Other<const Armor> armor, Entity self) {
    hits.sum += armor->factor;
    called.push_back(self);
    CHECK(c.depth > 0);
  });
  const Entity vehicle = registry.create(Armor{.factor = 3});
  const Entity wheel = registry.create_under(vehicle, "wheel", at(0), Body{.group = 2, .mask = 4});
  const Entity soldier = registry.create(at(0.2F), Body{.group = 4, .mask = 2}, Hits{});
  const Entity bird = registry.create(at(0.1F), Body{.group = 8, .mask = 2}, Hits{});
  registry.push(FindContacts{});
  CHECK(called == std::vector{soldier, bird});  // the wheel's armor is its parent's; the wheel itself hears of 4 only
  CHECK(registry.get<Hits>(soldier).sum == 3);
  registry.remove<Armor>(vehicle);
  called.clear();
  registry.push(FindContacts{});
  CHECK(called.empty());
  CHECK(registry.alive(wheel));
}

TEST_CASE("usagi 14: triggers hear who comes in and who goes out, and may read of the triggerer") {
  EntityRegistry registry;
  const Grid grid(registry);
  Heard heard(registry);
  float read = 0;
  const auto s = registry.subscribe(
      "greet", [&](const TriggerEnter&, const Trigger&, Other<const Armor> armor) { read += armor->factor; });
  const Entity zone = registry.create(at(0), Trigger{.radius = 5});
  const Entity orc = registry.create(at(20), Body{}, Armor{.factor = 2});
  const Entity elf = registry.create(at(21), Body{});
  registry.push(FindContacts{});
  CHECK(heard.triggers.empty());
  registry.set(orc, at(1));
  registry.set(elf, at(2));
  registry.push(FindContacts{});
  registry.push(FindContacts{});
  CHECK(heard.triggers == "+1:2 +1:3 ");
  CHECK(read == 2);
  heard.triggers.clear();
  registry.set(orc, at(50));
  registry.destroy(elf);
  registry.push(FindContacts{});
  CHECK(heard.triggers == "-1:2 -1:3 ");
  registry.destroy(zone);
  registry.push(FindContacts{});
  CHECK(heard.triggers == "-1:2 -1:3 ");
}

TEST_CASE("usagi 14: a ray's answer reaches the entity that asked and nobody else, with the asker's ticket") {
  EntityRegistry registry;
  const Grid grid(registry);
  Heard heard(registry);
  const Entity asker = registry.create(at(0), Body{});
  const Entity near = registry.create(at(10), Body{.radius = 1, .group = 2});
  const Entity far = registry.create(at(20), Body{.radius = 1, .group = 4});
  const Vec3 east{.x = 2};
  registry.push(asker, CastRay{.direction = east, .ticket = 1});
  registry.push(asker, CastRay{.direction = east, .mask = 4, .ticket = 2});
  registry.push(asker, CastRay{.direction = east, .distance = 5, .ticket = 3});
  registry.push(asker, CastRay{.direction = {.x = -1}, .ticket = 4});
  registry.push(asker, CastRay{.ticket = 5});
  CHECK(heard.hits.empty());
  registry.push(FindContacts{});
  REQUIRE(heard.hits.size() == 5);
  const Entity expected[] = {near, far, {}, {}, {}};
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(heard.hits[i].first == asker);
    CHECK(heard.hits[i].second.ticket == i + 1);
    CHECK(heard.hits[i].second.other == expected[i]);
  }
  CHECK(heard.hits[0].second.distance == 9);
  CHECK(heard.hits[0].second.at.x == 9);
  registry.push(FindContacts{});
  CHECK(heard.hits.size() == 5);
}

TEST_CASE("the grid finds what comparing everybody with everybody finds, whatever the cell size, in order of ids") {
  std::mt19937 random(3);
  std::vector<Place> places;
  std::vector<Body> bodies;
  for (int i = 0; i < 300; ++i) {
    const auto coordinate = [&] { return static_cast<float>(random() % 400) / 10 - 20; };
    places.push_back(at(coordinate(), coordinate(), coordinate()));
    bodies.push_back({.radius = i % 50 == 0 ? 15.0F : static_cast<float>(random() % 20) / 10});
  }
  places.push_back(at(3e30F));  // far outside, where all cells are one
  bodies.push_back({.radius = 1});
  places.push_back(at(std::nanf("")));
  bodies.push_back({.radius = 1});
  std::vector<std::tuple<Entity, Entity, float, float, bool>> expected;
  for (const float cell : {0.5F, 2.0F, 100.0F}) {
    EntityRegistry registry;
    const Grid grid(registry, cell);
    Heard heard(registry);
    std::vector<Entity> e;
    for (std::size_t i = 0; i < places.size(); ++i) {
      e.push_back(registry.create());
      registry.set(e[i], places[i], bodies[i]);
      if (i % 3 == 0) registry.set(e[i], Armor{});  // other archetypes, other row order
    }
    registry.push(FindContacts{});
    if (expected.empty()) {
      std::size_t pairs = 0;
      for (std::size_t i = 0; i < places.size(); ++i)
        for (std::size_t j = i + 1; j < places.size(); ++j) {
          const Vec3 &a = places[i].at, &b = places[j].at;
          const float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z, reach = bodies[i].radius + bodies[j].radius;
          if (x * x + y * y + z * z <= reach * reach) {
            REQUIRE(heard.contacts.size() > pairs * 2 + 1);
            CHECK(std::get<0>(heard.contacts[pairs * 2]) == e[i]);
            CHECK(std::get<1>(heard.contacts[pairs * 2]) == e[j]);
            ++pairs;
          }
        }
      CHECK(pairs > 100);
      CHECK(heard.contacts.size() == pairs * 2);
      expected = heard.contacts;
    }
    CHECK(heard.contacts == expected);
  }
}

TEST_CASE("who touched and which rays wait is saved: a loaded world hears the same contacts") {
  EntityRegistry registry;
  const Grid grid(registry);
  const Entity a = registry.create(at(0), Body{}), b = registry.create(at(0.5F), Body{});
  const Entity zone = registry.create(at(0), Trigger{});
  registry.push(FindContacts{});
  registry.set(b, at(40));
  registry.push(a, CastRay{.direction = {.x = 1}, .ticket = 6});
  KeptRows rows;
  registry.save(rows);
  EntityRegistry loaded;
  const Grid grid2(loaded);
  REQUIRE(loaded.load(rows));
  CHECK(loaded.hash() == registry.hash());
  Heard heard(registry), heard2(loaded);
  for (EntityRegistry* each : {&registry, &loaded}) {
    each->push(FindContacts{});
    each->set(b, at(0));
    each->push(FindContacts{});
  }
  CHECK(heard.contacts == heard2.contacts);
  CHECK(heard.triggers == heard2.triggers);
  CHECK(heard.triggers == "-" + std::to_string(zone.index) + ":2 +" + std::to_string(zone.index) + ":2 ");
  REQUIRE(heard2.hits.size() == 1);
  CHECK(heard2.hits[0].second.other == b);
  CHECK(loaded.hash() == registry.hash());
}
