#include <catch2/catch.hpp>
#include <string>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
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

TEST_CASE("a batch of any kind that a cut cascade carries over reaches the same when it was saved and read back") {
  const auto listen = [](EntityRegistry& registry, std::string& log) {
    Handlers handlers;
    handlers.add(registry.subscribe("hit", [&log](const game::Damage& damage, const game::Health&, Entity self) {
      log += std::to_string(self.index) + ":" + std::to_string(static_cast<int>(damage.amount)) + " ";
    }));
    handlers.add(registry.subscribe("ear", [&log](const game::SayView& say, const game::Health&, Entity self) {
      log += std::to_string(self.index) + ":" + std::string(say.text()) + " ";
    }));
    return handlers;
  };
  const auto listened = [](EntityRegistry& registry, std::string& log) {
    log.clear();
    for (int i = 0; i < 20; ++i) registry.advance(1);
    return log;
  };
  game::Say text;
  text.text = "psst";
  const std::vector<std::byte> say = encode(text);
  for (const bool causes : {false, true}) {
    EntityRegistry saved({.cascade_messages_max = 1}), loaded({.cascade_messages_max = 1});
    saved.profile().record_causes(causes);
    std::string log;
    const Handlers handlers = listen(saved, log);
    const Entity orc = saved.create("orc", game::Health{}), arm = saved.create_under(orc, "arm", game::Health{});
    saved.create_under(arm, "hand", game::Health{}).or_stop();
    const std::vector<Entity> both{orc, arm};
    std::vector<BatchBuilder> kinds(10);
    kinds[0].append(orc, game::Damage{.amount = 0});  // delivered before the cascade is cut
    kinds[1].append(orc, game::Damage{.amount = 1});
    kinds[2].append_shared(std::span<const Entity>(both), game::Damage{.amount = 2});
    kinds[3].append_subtree(arm, subtree_self | subtree_descendants, game::Damage{.amount = 3});
    kinds[4].append_subtree(arm, subtree_ancestors, game::Damage{.amount = 4});
    kinds[5].append_world(game::Damage{.amount = 5});
    kinds[6].append_table(TypeTraits<game::Say>::id, arm, say);
    kinds[7].append_table(TypeTraits<game::Say>::id, {}, say);
    kinds[8].append_table(TypeTraits<game::Say>::id, arm, say, subtree_self | subtree_descendants);
    kinds[9].append_table(TypeTraits<game::Say>::id, arm, say, subtree_ancestors);
    for (BatchBuilder& kind : kinds) {
      BatchBuilder timed;
      timed.append_timed(5, 0, kind.front());
      REQUIRE(saved.host().push_batch(timed.bytes()).handled == 1);
    }
    REQUIRE(saved.advance(5).cut_short);
    const naive::StateRows rows = naive::saved_rows(saved);
    const std::string heard = listened(saved, log);
    CHECK(heard == "1:1 1:2 2:2 2:3 3:3 1:4 1:5 2:5 3:5 2:psst 1:psst 2:psst 3:psst 2:psst 3:psst 1:psst ");
    std::string log_after;
    const Handlers again = listen(loaded, log_after);
    naive::RowsSource source(rows);
    REQUIRE(loaded.load(source));
    CHECK(listened(loaded, log_after) == heard);
  }
}

TEST_CASE("tables that were delivered before a cascade was cut are not saved as waiting") {
  const auto talks = [](EntityRegistry& registry, std::string& log) {
    Handlers handlers;
    handlers.add(registry.subscribe("talks", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
      for (const char* text : {"one", "fourteen", "", "two", "three"}) {
        game::Say say;
        say.text = text;
        out.post(self, say);
      }
    }));
    handlers.add(registry.subscribe(
        "ear", [&log](const game::SayView& say, const game::Health&) { log += std::string(say.text()) + ";"; }));
    return handlers;
  };
  for (const bool causes : {false, true}) {
    EntityRegistry saved({.cascade_messages_max = 2});
    saved.profile().record_causes(causes);
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
