#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "registry/host.h"
#include "tests/skirmish/battle.h"

using namespace muster;

namespace {

/// What holds between any two inputs of a battle, as long as nobody edits what its handlers keep.
void check_battle(const EntityRegistry& registry) {
  std::map<Entity, std::uint32_t> squads_of, units_of;
  registry.each<skirmish::Squad>([&](Entity self, const skirmish::Squad& squad) {
    REQUIRE(registry.alive(squad.army));
    REQUIRE(registry.parent(self) == squad.army);
    REQUIRE(registry.has<skirmish::March>(self));
    REQUIRE((!squad.target || squad.target == squad.foe));
    ++squads_of[squad.army];
    std::uint32_t standing = 0;
    for (const Entity member : squad.members) {
      if (!member) continue;
      ++standing;
      REQUIRE(registry.alive(member));
      REQUIRE(registry.get<skirmish::Unit>(member).squad == self);
    }
    REQUIRE(standing == squad.units);
    REQUIRE(standing > 0);
  });
  registry.each<skirmish::Unit>([&](Entity self, const skirmish::Unit& unit) {
    REQUIRE(registry.alive(unit.squad));
    REQUIRE(registry.get<skirmish::Squad>(unit.squad).members.at(unit.place) == self);
    REQUIRE(registry.get<skirmish::Health>(self).value > 0);
    REQUIRE(registry.child_count(self) == 1);
    ++units_of[unit.squad];
  });
  registry.each<skirmish::Squad>(
      [&](Entity self, const skirmish::Squad& squad) { REQUIRE(units_of[self] == squad.units); });
  registry.each<skirmish::Army>(
      [&](Entity self, const skirmish::Army& army) { REQUIRE(army.squads == squads_of[self]); });
  registry.each<skirmish::Health>([&](const skirmish::Health& health) { REQUIRE(health.value >= 0); });
}

std::uint32_t squads(const EntityRegistry& registry, Entity army) { return registry.get<skirmish::Army>(army).squads; }

}  // namespace

TEST_CASE("a deployment has exactly the entities asked for, in armies of squads of units with weapons") {
  for (const std::uint32_t entities : {40u, 200u, 2000u, 10'000u}) {
    Battle battle(entities);
    const EntityRegistry& registry = battle.registry;
    CHECK(registry.entity_count() == entities);
    check_battle(registry);
    const Entity weapon = registry.find_path("/red/squad-0/unit-7/weapon");
    REQUIRE(weapon);
    CHECK(registry.depth(weapon) == 3);
    CHECK(registry.has<skirmish::Weapon>(weapon));
    CHECK(registry.find_path("/blue/tower-1"));
  }
}

TEST_CASE("squads march towards each other") {
  Battle battle(200);
  const EntityRegistry& registry = battle.registry;
  const Entity red = registry.find_path("/red/squad-0"), blue = registry.find_path("/blue/squad-0");
  const auto distance = [&] {
    return registry.get<scene::Transform>(blue).position.x - registry.get<scene::Transform>(red).position.x;
  };
  CHECK(distance() == 90);
  battle.run(60);
  CHECK(distance() == Approx(90 - 2 * 4).margin(0.5));
}

TEST_CASE("counts and references of a battle agree at every moment, and reinforcements come") {
  Battle battle(600, 30);
  EntityRegistry& registry = battle.registry;
  const Entity red = registry.find_path("/red");
  const std::uint32_t at_first = squads(registry, red);
  std::uint32_t fewest = at_first, most_since = 0;
  for (int part = 0; part < 100; ++part) {
    battle.run(40);
    check_battle(registry);
    const std::uint32_t now = squads(registry, red);
    CHECK(now <= at_first);
    if (now < fewest) fewest = most_since = now;
    most_since = std::max(most_since, now);
  }
  CHECK(fewest < at_first);
  CHECK(most_since > fewest);
  CHECK(registry.get<skirmish::Army>(red).lost > 0);
  CHECK(registry.host().counters().refused == 0);
}

TEST_CASE("damage is taken from health, and at zero the unit dies with its weapon") {
  Battle battle(200);
  EntityRegistry& registry = battle.registry;
  const Entity unit = registry.find_path("/red/squad-1/unit-3"), weapon = registry.first_child(unit);
  const Entity squad = registry.parent(unit), red = registry.parent(squad);
  registry.push(unit, skirmish::Damage{.amount = 5});
  CHECK(registry.get<skirmish::Health>(unit).value == 95);
  registry.push(unit, skirmish::Damage{.amount = -50});
  registry.push(unit, skirmish::Damage{.amount = std::numeric_limits<float>::quiet_NaN()});
  CHECK(registry.get<skirmish::Health>(unit).value == 95);
  for (int twice = 0; twice < 2; ++twice) registry.post(unit, skirmish::Damage{.amount = 500});
  registry.flush();
  CHECK_FALSE(registry.alive(unit));
  CHECK_FALSE(registry.alive(weapon));
  CHECK(registry.get<skirmish::Squad>(squad).units == 7);
  CHECK(registry.get<skirmish::Army>(red).lost == 1);
  check_battle(registry);
}

TEST_CASE("a squad without units is lost and comes again by a timer under its old name") {
  Battle battle(200, 1000);
  EntityRegistry& registry = battle.registry;
  const Entity squad = registry.find_path("/blue/squad-2"), blue = registry.parent(squad);
  const std::uint32_t before = squads(registry, blue);
  SECTION("because all its units died") {
    for (Entity unit = registry.first_child(squad); unit; unit = registry.first_child(squad))
      registry.push(unit, skirmish::Damage{.amount = 100});
    CHECK(registry.get<skirmish::Army>(blue).lost == 8);
  }
  SECTION("because somebody destroyed it") {
    registry.destroy(squad);
    CHECK(registry.get<skirmish::Army>(blue).lost == 0);
  }
  CHECK_FALSE(registry.alive(squad));
  CHECK(squads(registry, blue) == before - 1);
  check_battle(registry);
  battle.run(8 * 60 - 1);
  CHECK(squads(registry, blue) == before - 1);
  battle.run(2);
  CHECK(squads(registry, blue) == before);
  const Entity again = registry.find_path("/blue/squad-2");
  REQUIRE(again);
  CHECK(again != squad);
  check_battle(registry);
}

TEST_CASE("without reserves nobody comes") {
  Battle battle(200, 1000);
  EntityRegistry& registry = battle.registry;
  const Entity blue = registry.find_path("/blue");
  skirmish::Army army = registry.get<skirmish::Army>(blue);
  army.reserves = 0;
  registry.set(blue, army);
  registry.destroy(registry.find_path("/blue/squad-2"));
  CHECK(registry.host().timers().empty());
}

TEST_CASE("a tower that is moved shoots at others") {
  Battle battle(200, 1000);
  EntityRegistry& registry = battle.registry;
  const Entity tower = registry.find_path("/red/tower-0");
  battle.run(150);
  CHECK(registry.get<skirmish::Tower>(tower).aim == Entity{});
  const auto beside = [&](const char* path) {
    scene::Vec3 at = registry.get<scene::Transform>(registry.find_path(path)).position;
    at.z -= 1;
    return at;
  };
  SECTION("by a message") { registry.push(tower, skirmish::MoveTower{.to = beside("/blue/squad-0")}); }
  SECTION("by an edit of its Transform") {
    scene::Transform transform = registry.get<scene::Transform>(tower);
    transform.position = beside("/blue/squad-0");
    registry.set(tower, transform);
  }
  battle.run(40);
  CHECK(registry.get<skirmish::Tower>(tower).aim == registry.find_path("/blue/squad-0"));
  CHECK(registry.get<skirmish::Tower>(tower).shots == 1);
  registry.push(tower, skirmish::MoveTower{.to = beside("/blue/squad-1")});
  battle.run(130);
  CHECK(registry.get<skirmish::Tower>(tower).aim == registry.find_path("/blue/squad-1"));
}

TEST_CASE("squads that meet stop and shoot, at the nearest that the grid found") {
  Battle battle(200, 30);
  const EntityRegistry& registry = battle.registry;
  const Entity red = registry.find_path("/red/squad-0");
  CHECK_FALSE(registry.get<skirmish::Squad>(red).contact);
  battle.run(180);  // 30 m apart, both march 4 m a second, and reach 14 m
  const auto& squad = registry.get<skirmish::Squad>(red);
  REQUIRE(squad.contact);
  CHECK(squad.target == squad.contact);
  CHECK(registry.get<skirmish::March>(red).halt);
  const scene::Vec3 at = registry.get<scene::Transform>(red).position;
  const auto distance = [&](Entity e) {
    const scene::Vec3& other = registry.get<scene::Transform>(e).position;
    return std::hypot(other.x - at.x, other.z - at.z);
  };
  CHECK(distance(squad.contact) <= squad.reach);
  registry.each<skirmish::Weapon>([&](Entity weapon, const skirmish::Weapon& held) {
    if (registry.parent(registry.parent(weapon)) == red) CHECK(held.foe == squad.target);
  });
}

TEST_CASE("a unit is drawn with two meshes, and those of the fallen are collected") {
  Battle battle(200, 1000);
  EntityRegistry& registry = battle.registry;
  const Entity unit = registry.find_path("/red/squad-1/unit-3");
  const auto meshes = [&](Entity e) {
    std::string all;
    registry.host().describe(e, [&](std::string_view manager, const Held& held) {
      Text mesh;
      std::memcpy(&mesh, held.bytes.data(), sizeof mesh);
      all += std::string(manager) + ":" + std::string(registry.text(mesh)) + " ";
    });
    return all;
  };
  CHECK(meshes(unit) == "meshes:units/soldier meshes:units/rifle ");
  // The last number of the head that the manager saves, so those of the dead are counted too.
  const auto saved = [&] {
    SavedRows rows;
    registry.save(rows);
    const auto& head = rows.all.at({StateSection::manager_parts, hash64("meshes"), 0});
    std::uint64_t meshes = 0;
    std::memcpy(&meshes, head.data() + head.size() - sizeof meshes, sizeof meshes);
    return static_cast<std::uint32_t>(meshes);
  };
  const std::uint32_t before = saved();
  std::uint32_t units = 0;
  registry.each<skirmish::Unit>([&](const skirmish::Unit&) { ++units; });
  CHECK(before == 2 * units);
  registry.push(unit, skirmish::Damage{.amount = 100});
  CHECK(saved() == before);
  battle.run(before / 32 + 1);
  CHECK(saved() == before - 2);
}

TEST_CASE("without their templates no squads come, and nothing else happens") {
  Battle battle;
  EntityRegistry& registry = battle.registry;
  registry.push(skirmish::Deploy{.entities = 200});
  battle.run(10);
  CHECK(registry.find_path("/red/tower-0"));
  CHECK_FALSE(registry.find_path("/red/squad-0"));
  check_battle(registry);
}

TEST_CASE("an army that is sent elsewhere goes there") {
  Battle battle(200, 1000);
  EntityRegistry& registry = battle.registry;
  const Entity red = registry.find_path("/red"), squad = registry.find_path("/red/squad-0");
  const scene::Vec3 at = registry.get<scene::Transform>(squad).position;
  const scene::Vec3 to{.x = at.x, .y = 0, .z = -400};
  registry.push(red, skirmish::MarchTo{.to = to});
  battle.run(60);
  CHECK(registry.get<scene::Transform>(squad).position.z == Approx(at.z - 4).margin(0.1));
  CHECK(registry.get<skirmish::March>(squad).goal == to);
  CHECK(registry.get<skirmish::Army>(red).goal == to);
}

TEST_CASE("edits that make no sense do not stop a battle") {
  Battle battle(200, 30);
  EntityRegistry& registry = battle.registry;
  const float bad = std::numeric_limits<float>::quiet_NaN();
  scene::Transform nowhere;
  nowhere.position = {.x = bad, .y = bad, .z = 1e30f};
  registry.set(registry.find_path("/red/squad-0"), nowhere);
  registry.set(registry.find_path("/blue/tower-0"), nowhere);
  skirmish::Squad squad = registry.get<skirmish::Squad>(registry.find_path("/red/squad-1"));
  squad.sight = squad.reach = 1e30f;
  squad.foe = squad.target = squad.army;
  squad.number = 0xffffffffu;
  registry.set(registry.find_path("/red/squad-1"), squad);
  skirmish::Army army = registry.get<skirmish::Army>(registry.find_path("/blue"));
  army.front = 0;
  army.reinforce_after = bad;
  registry.set(registry.find_path("/blue"), army);
  registry.destroy(registry.find_path("/blue/squad-1"));
  battle.run(600);
  registry.destroy(registry.find_path("/red"));
  battle.run(600);
  CHECK(registry.find_path("/blue"));
  CHECK_FALSE(registry.find_path("/red"));
}
