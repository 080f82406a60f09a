#include <catch2/catch.hpp>
#include <string>

#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "schema/table.h"
#include "tests/registry/game.h"

namespace tables_test {

using namespace muster;

namespace {

/// A batch of one Say; a nil target is the world.
Receipt say(EntityRegistry& registry, Entity target, const game::Say& message, std::uint64_t parts = 0) {
  BatchBuilder builder;
  builder.append_table(TypeTraits<game::Say>::id, target, encode(message), parts);
  REQUIRE(verify_batch(builder.bytes(), registry.types()));
  return registry.host().push_batch(builder.bytes());
}

}  // namespace

TEST_CASE("a handler reads a table in place") {
  EntityRegistry registry;
  registry.add_type<game::Say>();
  std::string heard;
  const auto s = registry.subscribe("ear", [&](const game::SayView& say, const game::Health&, Entity self) {
    heard += std::string(registry.name(self)) + ":" + std::string(say.text()) + ";";
    CHECK(say.volume() == 1);
  });
  const Entity a = registry.create("a", game::Health{});
  const Entity b = registry.create_under(a, "b", game::Health{});
  const Entity deaf = registry.create("deaf");
  CHECK(say(registry, a, {.text = "hello"}).handled == 1);
  CHECK(say(registry, deaf, {.text = "hello"}).unhandled == 1);
  CHECK(say(registry, Entity{50, 1}, {.text = "hello"}).dead == 1);
  CHECK(say(registry, a, {.text = ""}).handled == 1);
  CHECK(say(registry, a, {.text = "all"}, subtree_self | subtree_descendants).handled == 2);
  CHECK(say(registry, {}, {.text = "world"}).handled == 1);
  CHECK(heard == "a:hello;a:;a:all;b:all;a:world;b:world;");
  CHECK(registry.alive(b));
}

TEST_CASE("several tables of one batch are delivered in order, whatever their lengths") {
  EntityRegistry registry;
  registry.add_type<game::Say>();
  std::string heard;
  const auto s = registry.subscribe("ear", [&](const game::SayView& say, const game::Health&) {
    heard += std::to_string(say.text().size()) + (say.volume() == 2 ? "!" : "") + " ";
  });
  const Entity a = registry.create("a", game::Health{});
  BatchBuilder builder;
  for (const std::size_t length : {0, 1, 15, 16, 17, 1000})
    builder.append_table(TypeTraits<game::Say>::id, a,
                         encode(game::Say{.text = std::string(length, 'x'), .volume = length == 16 ? 2.0f : 1.0f}));
  REQUIRE(builder.batches() == 1);
  CHECK(registry.host().push_batch(builder.bytes()).handled == 6);
  CHECK(heard == "0 1 15 16! 17 1000 ");
  heard.clear();
  registry.host().post_batch(builder.bytes());
  CHECK(heard.empty());
  registry.flush();
  CHECK(heard == "0 1 15 16! 17 1000 ");
}

TEST_CASE("a table goes through a run-time handler as bytes") {
  EntityRegistry registry;
  registry.add_type<game::Say>();
  registry.add_type<game::Health>();
  std::string heard;
  const auto s = registry.subscribe(
      "ear", DynamicShape{.message = TypeTraits<game::Say>::id, .terms = {{.type = TypeTraits<game::Health>::id}}},
      [&](const DynamicCall& call) { heard += game::SayView::from(call.message).text(); });
  const Entity a = registry.create("a", game::Health{});
  CHECK(say(registry, a, {.text = "bytes"}).handled == 1);
  CHECK(heard == "bytes");
}

TEST_CASE("texts are made known by a message and found by their hash") {
  EntityRegistry registry;
  const std::size_t before = registry.host().texts().size();
  const std::uint64_t sequence = registry.sequence();
  const Text hello = registry.intern("hello");
  CHECK(registry.sequence() == sequence + 1);
  CHECK(registry.text(hello) == "hello");
  CHECK(registry.intern("hello") == hello);
  CHECK(registry.sequence() == sequence + 1);  // known already: no message
  CHECK(registry.host().texts().size() == before + 1);
  CHECK(registry.host().texts()[before] == "hello");
  CHECK(registry.intern("") == Text{});
  CHECK(registry.text(Text{1}).empty());
  const std::string zero("a\0b", 3);
  CHECK(registry.text(registry.intern(zero)) == zero);
}

}  // namespace tables_test
