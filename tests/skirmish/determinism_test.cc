#include <catch2/catch.hpp>

#include "tests/skirmish/battle.h"

TEST_CASE("two registries with the same inputs have the same hash after 2,000 ticks of battle") {
  Battle a(2000), b(2000);
  REQUIRE(a.registry.hash() == b.registry.hash());
  const std::uint64_t begin = a.registry.hash();
  for (int part = 0; part < 4; ++part) {
    a.run(500);
    b.run(500);
    REQUIRE(a.registry.hash() == b.registry.hash());
  }
  CHECK(a.registry.hash() != begin);
  std::uint32_t lost = 0;
  a.registry.each<skirmish::Army>([&](const skirmish::Army& army) { lost += army.lost; });
  CHECK(lost > 100);  // there was a battle to agree on
}

TEST_CASE("one message more is seen in the hash") {
  Battle a(200), b(200);
  a.registry.push(a.registry.find_path("/red/squad-0/unit-0"), skirmish::Damage{.amount = 1});
  CHECK(a.registry.hash() != b.registry.hash());
}

TEST_CASE("a battle saved at a tick and loaded elsewhere goes on with the same hashes") {
  Battle a(2000, 30);
  a.run(500);
  SavedRows rows;
  a.registry.save(rows);
  const std::uint64_t at_save = a.registry.hash();
  a.run(1000);

  Battle b;
  const auto loaded = b.registry.load(rows);
  INFO((loaded ? "" : loaded.error().text()));
  REQUIRE(loaded);
  REQUIRE(b.registry.hash() == at_save);
  b.run(1000);
  CHECK(b.registry.hash() == a.registry.hash());
}
