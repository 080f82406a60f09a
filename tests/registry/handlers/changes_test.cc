#include <catch2/catch.hpp>

#include <string>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// What followers saw, in order: "+Health 30", "-Health", "~Health 23".
struct Seen {
  std::vector<std::string> lines;
  Handlers handlers;
  explicit Seen(EntityRegistry& registry) {
    handlers.add(registry.subscribe("added", [this](const Added<game::Health>&, const game::Health& h, Entity e) {
      lines.push_back("+" + std::to_string(e.index) + " " + std::to_string(static_cast<int>(h.value)));
    }));
    handlers.add(registry.subscribe("removed", [this](const Removed<game::Health>&, const game::Health& h, Entity e) {
      lines.push_back("-" + std::to_string(e.index) + " " + std::to_string(static_cast<int>(h.value)));
    }));
    handlers.add(registry.subscribe("changed", [this](const Changed<game::Health>&, const game::Health& h, Entity e) {
      lines.push_back("~" + std::to_string(e.index) + " " + std::to_string(static_cast<int>(h.value)));
    }));
  }
};
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("Added follows Create and Set, Changed follows Set and SetField, Removed comes before the row goes") {
  EntityRegistry registry;
  Seen log(registry);
  const Entity a = registry.create(game::Health{.value = 30});
  const Entity b = registry.create(game::Armor{});
  CHECK(log.lines == Lines{"+1 30"});
  registry.set(b, game::Health{.value = 5}, game::Armor{});
  registry.set(b, game::Health{.value = 5});
  registry.set(b, game::Health{.value = 6});
  CHECK(log.lines == Lines{"+1 30", "+2 5", "~2 6"});
  registry.remove<game::Health>(b);
  registry.destroy(b);
  registry.destroy(a);
  CHECK(log.lines == Lines{"+1 30", "+2 5", "~2 6", "-2 6", "-1 30"});
}

TEST_CASE("Changed follows SetField and SetFieldIf where the value becomes another one") {
  EntityRegistry registry;
  Seen log(registry);
  const Entity e = registry.create(game::Health{.value = 30});
  log.lines.clear();
  const auto to = [](float value) {
    SetField set{.component = TypeTraits<game::Health>::id, .field = hash32("value"), .bytes = sizeof value};
    std::memcpy(&set.value, &value, sizeof value);
    return set;
  };
  const auto to_from = [&](float value, float expected) {
    SetFieldIf set{.set = to(value)};
    std::memcpy(&set.expected, &expected, sizeof expected);
    return set;
  };
  CHECK(registry.push(e, to(20)).handled == 1);
  CHECK(registry.push(e, to(20)).handled == 1);
  CHECK(registry.push(e, to_from(10, 20)).handled == 1);
  CHECK(registry.push(e, to_from(10, 10)).handled == 1);
  CHECK(registry.push(e, to_from(5, 20)).refused == 1);
  CHECK(log.lines == Lines{"~1 20", "~1 10"});
}

TEST_CASE("destroying a subtree removes children before their parents") {
  EntityRegistry registry;
  Seen log(registry);
  const Entity top = registry.create(game::Health{.value = 1});
  const Entity child = registry.create_under(top, "", game::Health{.value = 2});
  registry.create_under(child, "", game::Health{.value = 3}).or_stop();
  log.lines.clear();
  registry.destroy(top);
  CHECK(log.lines == Lines{"-3 3", "-2 2", "-1 1"});
}

TEST_CASE("a writing handler's changes follow what it pushed for the row") {
  EntityRegistry registry;
  Lines lines;
  const auto hurt =
      registry.subscribe("hurt", [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
        health.value -= hit.amount;
        out.post(self, game::Heal{});
      });
  const auto heal =
      registry.subscribe("heal", [&](const game::Heal&, const game::Health&) { lines.push_back("heal"); });
  Seen log(registry);
  const auto changed = registry.subscribe(
      "changed2", [&](const Changed<game::Health>&, const game::Health&) { lines.push_back("changed"); });
  const Entity a = registry.create(game::Health{.value = 30});
  const Entity b = registry.create(game::Health{.value = 40});
  registry.push(a, game::Damage{.amount = 7});
  CHECK(lines == Lines{"heal", "changed"});
  lines.clear();
  registry.post(a, game::Damage{.amount = 0});
  registry.post(b, game::Damage{.amount = 1});
  registry.flush();
  CHECK(lines == Lines{"heal", "heal", "changed"});
}

TEST_CASE("changes can be followed by run-time ids") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  int calls = 0;
  const auto s = registry.subscribe(
      "dynamic",
      DynamicShape{.message = registry.host().change_message(ChangeKind::added, TypeTraits<game::Health>::id),
                   .terms = {}},
      [&](const DynamicCall& call) {
        ++calls;
        CHECK(call.message.empty());  // a change says nothing but that it was
      });
  registry.create(game::Health{});
  registry.create(game::Armor{});
  CHECK(calls == 1);
}

TEST_CASE("a name is Added when it comes, Changed when it becomes another, Removed when it goes") {
  EntityRegistry registry;
  Lines lines;
  const auto log = [&](const char* what) {
    return [&lines, &registry, what](const auto&, const Name& name, Entity) {
      lines.push_back(what + std::string(registry.text(name.text)));
    };
  };
  Handlers handlers;
  handlers.add(
      registry.subscribe("added", [log = log("+")](const Added<Name>& m, const Name& n, Entity e) { log(m, n, e); }));
  handlers.add(registry.subscribe("changed",
                                  [log = log("~")](const Changed<Name>& m, const Name& n, Entity e) { log(m, n, e); }));
  handlers.add(registry.subscribe("removed",
                                  [log = log("-")](const Removed<Name>& m, const Name& n, Entity e) { log(m, n, e); }));
  const Entity orc = registry.create("orc");
  registry.rename(orc, "ork");
  registry.rename(orc, "ork");
  registry.rename(orc, "");
  const Entity troll = registry.create();
  registry.rename(troll, "troll");
  registry.rename(troll, "ogre");
  registry.destroy(troll);
  CHECK(lines == Lines{"+orc", "~ork", "-ork", "+troll", "~ogre", "-ogre"});
}

TEST_CASE("Removed of a name runs while the name is still there, however it goes") {
  EntityRegistry registry;
  std::vector<std::string> seen;
  const auto s = registry.subscribe("removed", [&](const Removed<Name>&, const Name& name, Entity) {
    seen.push_back(std::to_string(name.text.hash == text_of("orc").hash));
  });
  const Entity orc = registry.create("orc");
  registry.rename(orc, "");
  CHECK(seen.size() == 1);
  registry.rename(orc, "orc");
  registry.remove<Name>(orc);
  CHECK(seen.size() == 2);
  registry.rename(orc, "orc");
  registry.destroy(orc);
  CHECK(seen == std::vector<std::string>{"1", "1", "1"});
}
