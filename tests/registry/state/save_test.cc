#include <catch2/catch.hpp>
#include <string>

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

TEST_CASE("tables that were delivered before a cascade was cut are not saved as waiting") {
  const auto talks = [](EntityRegistry& registry, std::string& log) {
    Handlers handlers;
    handlers.add(registry.subscribe("talks", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
      for (const char* text : {"one", "fourteen", "", "two", "three"}) {
        game::Say say;
        say.text = text;
        out.push(self, say);
      }
    }));
    handlers.add(registry.subscribe(
        "ear", [&log](const game::SayView& say, const game::Health&) { log += std::string(say.text()) + ";"; }));
    return handlers;
  };
  for (const bool causes : {false, true}) {
    EntityRegistry saved({.cascade_messages_max = 2});
    saved.record_causes(causes);
    std::string log, log_after;
    const Handlers handlers = talks(saved, log);
    const Entity orc = saved.create("orc", game::Health{});
    REQUIRE(saved.push(orc, game::Heal{}).cut_short);
    CHECK(log == "one;fourteen;");
    const naive::StateRows rows = naive::saved_rows(saved);
    EntityRegistry loaded;
    const Handlers again = talks(loaded, log_after);
    naive::RowsSource source(rows);
    REQUIRE(loaded.load(source));
    for (int i = 0; i < 4; ++i) loaded.flush();
    CHECK(log_after == ";two;three;");
  }
}
