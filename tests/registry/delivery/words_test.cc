#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "registry/explain.h"
#include "tests/registry/game.h"

using namespace muster;
using game::Armor;
using game::Count;
using game::Health;
using game::Position;
using game::Velocity;

namespace {

constexpr TypeId update = TypeTraits<Update>::id;

void think(const Update&, Velocity&, Lookup<const Position>) {}
void move(const Update&, Position&, const Velocity&) {}
void attach(const Update&, Position&, Parent<const Position>) {}
void heal(const Update&, Health&, Outbox&) {}
void shield(const Update&, ParentWith<const Health, Armor>, Armor&) {}
void multiply(const Update&, const Health&, Spawner&) {}

struct Game {
  EntityRegistry registry;
  Handlers handlers;
  int drawn = 0;

  Game() {
    handlers.add(registry.subscribe("think", think));
    handlers.add(registry.subscribe("move", move, {.after = {"think"}}));
    handlers.add(registry.subscribe("attach", attach, {.priority = 2}));
    handlers.add(registry.subscribe("heal", heal));
    handlers.add(registry.subscribe("shield", shield, {.priority = 1}));
    handlers.add(registry.subscribe("draw", [this](const Update&, const Position&) { ++drawn; },
                                    {.priority = 9, .external_writes = {"renderer"}}));
    handlers.add(registry.subscribe("multiply", multiply, {.priority = 9}));
  }
  std::string why(std::string_view a, std::string_view b) const { return muster::why_apart(registry, update, a, b); }
};

}  // namespace

TEST_CASE("why two handlers do not overlap is said in words, with the component and its source") {
  Game game;
  CHECK(game.why("think", "move") ==
        "\"think\" and \"move\" do not overlap:\n"
        "  \"think\" writes game.Velocity, which \"move\" reads\n"
        "  \"move\" writes game.Position, which \"think\" reads from any entity, by id\n"
        "  \"think\" runs first: \"move\" has after = \"think\"\n");
  CHECK(game.why("shield", "heal") ==
        "\"heal\" and \"shield\" do not overlap:\n"
        "  \"heal\" writes game.Health, which \"shield\" reads from its nearest ancestor with game.Armor\n"
        "  \"heal\" runs first: its priority is 0 and the other's is 1\n");
  CHECK(game.why("move", "attach") ==
        "\"move\" and \"attach\" do not overlap:\n"
        "  both write game.Position\n"
        "  \"move\" writes game.Position, which \"attach\" reads from its nearest ancestor\n"
        "  \"move\" runs first: its priority is 0 and the other's is 2\n");
  CHECK(game.why("think", "multiply") ==
        "\"think\" and \"multiply\" do not overlap:\n"
        "  \"multiply\" takes a Spawner, which issues ids, and \"think\" looks up other entities by id\n"
        "  \"think\" runs first: its priority is 0 and the other's is 9\n");
}

TEST_CASE("who gives out ids and who might ask for the living are kept apart, and it is said why") {
  Game game;
  CHECK(game.why("draw", "multiply") ==
        "\"draw\" and \"multiply\" do not overlap:\n"
        "  \"multiply\" takes a Spawner, which issues ids, and \"draw\" has state and may check which entities are "
        "alive\n"
        "  \"draw\" runs first: its name comes first\n");
}

TEST_CASE("handlers that may overlap are said to, and those unknown or disabled too") {
  Game game;
  CHECK(game.why("heal", "move") ==
        "\"heal\" and \"move\" may overlap: neither writes what the other reads or writes\n");
  CHECK(game.why("heal", "nobody") == "no handler of muster.Update is named \"nobody\"\n");
  game.registry.set_handler_enabled("heal", false);
  CHECK(game.why("heal", "move") == "\"heal\" is disabled\n");
  CHECK(why_apart(game.registry, hash32("game.NoSuch"), "a", "b").empty());
}

TEST_CASE("handlers kept apart by a third one are told about it") {
  EntityRegistry registry;
  const auto a = registry.subscribe("a", [](const Update&, Health&) {});
  const auto b = registry.subscribe("b", [](const Update&, const Health&, Armor&) {});
  const auto c = registry.subscribe("c", [](const Update&, const Armor&, Count&) {});
  CHECK(muster::why_apart(registry, update, "c", "a") ==
        "\"a\" and \"c\" do not overlap:\n"
        "  \"b\" waits for \"a\":\n"
        "    \"a\" writes game.Health, which \"b\" reads\n"
        "    \"a\" runs first: its name comes first\n"
        "  \"c\" waits for \"b\":\n"
        "    \"b\" writes game.Armor, which \"c\" reads\n"
        "    \"b\" runs first: its name comes first\n");
}

TEST_CASE("why two handlers are kept apart by what is outside of components") {
  EntityRegistry registry;
  int n = 0;
  const auto a = registry.subscribe("a", [](const Update&, const Health&) {}, {.external_writes = {"octree"}});
  const auto b = registry.subscribe("b", [](const Update&, const Health&) {}, {.external_reads = {"octree"}});
  const auto c = registry.subscribe("c", [&n](const Update&, const Health&) { ++n; });
  const auto d = registry.subscribe("d", [&n](const Update&, const Health&) { ++n; });
  CHECK(muster::why_apart(registry, update, "a", "b") ==
        "\"a\" and \"b\" do not overlap:\n"
        "  \"a\" writes the external resource \"octree\", which \"b\" reads\n"
        "  \"a\" runs first: its name comes first\n");
  CHECK(muster::why_apart(registry, update, "c", "d") ==
        "\"c\" and \"d\" do not overlap:\n"
        "  both have private state (captures, an object, on_begin) and declare no external reads or writes\n"
        "  \"c\" runs first: its name comes first\n");
}

TEST_CASE("usagi 30: the groups of handlers which may overlap, and which of them may be split over children") {
  Game game;
  CHECK(pass_groups(game.registry, update) ==
        "muster.Update: 7 handlers in 5 groups\n"
        "group 1, may overlap:\n"
        "  \"heal\" is split over its rows\n"
        "  \"think\" is split over its rows\n"
        "group 2, may overlap:\n"
        "  \"move\" is split over its rows\n"
        "  \"shield\" is split over its rows\n"
        "group 3:\n"
        "  \"attach\" is split over branches, parents before children: it writes game.Position and reads "
        "it from its nearest ancestor\n"
        "group 4:\n"
        "  \"draw\" is not split: it writes the external resource \"renderer\"\n"
        "group 5:\n"
        "  \"multiply\" is not split: it takes a Spawner, which issues ids in sequence\n");
  CHECK(game.why("attach", "attach") ==
        "\"attach\" is split over branches, parents before children: it writes game.Position and reads "
        "it from its nearest ancestor\n");
}

TEST_CASE("the graph of a pass is drawn by Graphviz") {
  EntityRegistry registry;
  Handlers handlers;
  handlers.add(registry.subscribe("think", think));
  handlers.add(registry.subscribe("move", move, {.after = {"think"}}));
  handlers.add(registry.subscribe("attach", attach, {.priority = 2}));
  handlers.add(registry.subscribe("heal \"all\"", heal, {.external_reads = {"clock"}}));
  handlers.add(registry.subscribe("multiply", multiply, {.priority = 9}));
  CHECK(muster::pass_dot(registry, update) == R"(digraph "muster.Update" {
  node [shape=box];
  h0 [label="heal \"all\"\nwrites game.Health\nreads external clock\nsplit over rows\n"];
  h1 [label="think\nwrites game.Velocity\nreads game.Position from any entity, by id\nsplit over rows\n"];
  h2 [label="move\nwrites game.Position\nreads game.Velocity\nsplit over rows\n"];
  h3 [label="attach\nwrites game.Position\nreads game.Position from its nearest ancestor\nsplit over branches\n"];
  h4 [label="multiply\nreads game.Health\nissues ids\nnot split\n"];
  h1 -> h2 [label="\"think\" writes game.Velocity, which \"move\" reads"];
  h2 -> h3 [label="both write game.Position"];
  h0 -> h4 [label="\"heal \"all\"\" writes game.Health, which \"multiply\" reads"];
  h3 -> h4 [label="\"multiply\" takes a Spawner, which issues ids, and \"attach\" looks up other entities by id"];
}
)");
}
