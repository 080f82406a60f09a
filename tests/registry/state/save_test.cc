#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

using namespace muster;

TEST_CASE("posts that were saved while open are extended by later posts as if nothing had been saved") {
  EntityRegistry saved;
  const Entity a = saved.create("a", game::Health{});
  saved.post(a, game::Damage{.amount = 1});
  saved.post(a, game::Heal{.amount = 1});
  const naive::StateRows rows = naive::saved_rows(saved);
  EntityRegistry loaded;
  naive::RowsSource source(rows);
  const auto result = loaded.load(source);
  REQUIRE(result);
  CHECK(loaded.hash() == saved.hash());
  for (EntityRegistry* registry : {&saved, &loaded}) registry->post(a, game::Heal{.amount = 2});
  CHECK(loaded.hash() == saved.hash());
  for (EntityRegistry* registry : {&saved, &loaded}) {
    registry->flush();
    registry->post(Update{});
    registry->post(a, Set{});
  }
  CHECK(loaded.sequence() == saved.sequence());
  naive::StateRows again;
  naive::RowsSink to(again);
  saved.save(to);
  EntityRegistry third;
  naive::RowsSource from(again);
  REQUIRE(third.load(from));
  CHECK(third.hash() == saved.hash());
}
