// ListHandlers: who acts on what. WhyApart: why two handlers do not overlap.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/server/live_world.h"

namespace handlers_test {

using namespace muster;
using namespace muster::testing;

namespace {

constexpr TypeId health = TypeTraits<arena::Health>::id, position = TypeTraits<arena::Position>::id,
                 target = TypeTraits<arena::Target>::id, damage = TypeTraits<arena::Damage>::id,
                 update = TypeTraits<Update>::id;

session::HandlerList ask(Client& client, const session::HandlerList& after = {}, std::uint32_t limit = 0) {
  auto list =
      client.ask(session::ListHandlers{.after = after.handlers.empty() ? 0 : after.handlers.back(), .limit = limit});
  REQUIRE(list.has_value());
  return std::move(*list);
}

struct HandlerRow {
  std::string name;
  TypeId message = 0;
  int change = 0;
  bool enabled = true;
  std::vector<TypeId> writes, reads;
  friend bool operator==(const HandlerRow&, const HandlerRow&) = default;
};
std::vector<HandlerRow> rows(const session::HandlerList& list) {
  std::vector<HandlerRow> made;
  std::size_t writes = 0, reads = 0;
  for (std::size_t i = 0; i < list.handlers.size(); ++i) {
    HandlerRow row{list.names[i], list.messages[i], list.changes[i], list.enabled[i] == 1, {}, {}};
    for (std::uint32_t n = 0; n < list.write_counts[i]; ++n) row.writes.push_back(list.writes[writes++]);
    for (std::uint32_t n = 0; n < list.read_counts[i]; ++n) row.reads.push_back(list.reads[reads++]);
    made.push_back(std::move(row));
  }
  CHECK(writes == list.writes.size());
  CHECK(reads == list.reads.size());
  return made;
}
std::vector<TypeId> sorted(std::vector<TypeId> types) {
  std::ranges::sort(types);
  return types;
}

/// Subscriptions that end on the thread of their registry.
struct Subscribed {
  explicit Subscribed(LiveWorld& live) : world(live) {}
  ~Subscribed() {
    world.run([&](EntityRegistry&) {
      handlers.clear();
      return 0;
    });
  }
  template <class F>
  void add(F subscribe) {
    world.run([&](EntityRegistry& registry) {
      handlers.push_back(subscribe(registry));
      return 0;
    });
  }
  LiveWorld& world;
  std::vector<Subscription> handlers;
};

}  // namespace

TEST_CASE("of each handler its name, its message and the components that it writes and reads are told") {
  LiveWorld world;
  Subscribed held(world);
  held.add([](EntityRegistry& registry) {
    return registry.subscribe("move", [](const Update&, arena::Position& at, const arena::Health&,
                                         const arena::Target* aim, Lookup<const arena::Health>) {
      if (aim) at.x += 1;
    });
  });
  held.add([](EntityRegistry& registry) {
    return registry.subscribe("", [](const Update&, With<arena::Hidden>, Without<arena::Score>, Entity) {});
  });
  held.add([](EntityRegistry& registry) {
    return registry.subscribe("born", [](const Added<arena::Health>&, arena::Position&) {});
  });
  held.add([](EntityRegistry& registry) {
    return registry.subscribe("gone", [](const Removed<arena::Health>&, Entity) {});
  });
  held.add([](EntityRegistry& registry) {
    return registry.subscribe("hurt", [](const Changed<arena::Health>&, const arena::Health&) {});
  });
  Client client = world.client(viewer_token);
  const session::HandlerList list = ask(client);
  CHECK(list.total == 6);
  CHECK_FALSE(list.more);
  CHECK(list.sequence == world.run([](EntityRegistry& r) { return r.sequence(); }));
  CHECK(rows(list) == std::vector<HandlerRow>{{"arena.damage", damage, 0, true, {health}, {}},
                                              {"move", update, 0, true, {position}, sorted({health, target})},
                                              {"", update, 0, true, {}, {}},
                                              {"born", health, 1, true, {position}, {}},
                                              {"gone", health, 2, true, {}, {}},
                                              {"hurt", health, 3, true, {}, {health}}});
}

TEST_CASE("handlers that are switched off or have ended are told so") {
  LiveWorld world;
  Client client = world.client();
  {
    Subscribed held(world);
    held.add(
        [](EntityRegistry& registry) { return registry.subscribe("move", [](const Update&, arena::Position&) {}); });
    CHECK(ask(client).total == 2);
    world.run([](EntityRegistry& r) { return r.set_handler_enabled("arena.damage", false); });
    CHECK(rows(ask(client)) == std::vector<HandlerRow>{{"arena.damage", damage, 0, false, {health}, {}},
                                                       {"move", update, 0, true, {position}, {}}});
  }
  CHECK(rows(ask(client)) == std::vector<HandlerRow>{{"arena.damage", damage, 0, false, {health}, {}}});
}

TEST_CASE("many handlers come in pages, each once, whoever comes or goes meanwhile") {
  LiveWorldOptions options;
  options.limits.slice_steps = 100;  // a page takes many slices
  LiveWorld world(options);
  Subscribed held(world);
  for (int i = 0; i < 300; ++i)
    held.add([i](EntityRegistry& registry) {
      return registry.subscribe("handler " + std::to_string(i), [](const Update&, arena::Position&) {});
    });
  Client client = world.client();
  std::vector<std::string> names;
  session::HandlerList page;
  for (bool more = true; more;) {
    page = ask(client, page, 7);
    REQUIRE_FALSE(page.handlers.empty());
    REQUIRE(page.handlers.size() <= 7);
    names.insert(names.end(), page.names.begin(), page.names.end());
    more = page.more;
    if (names.size() == 70)
      world.run([&](EntityRegistry&) {
        held.handlers.erase(held.handlers.begin(), held.handlers.begin() + 10);  // told of already
        held.handlers.pop_back();
        return 0;
      });
  }
  REQUIRE(names.size() == 300);  // the one of the arena, and all but the last
  for (int i = 0; i < 299; ++i) CHECK(names[static_cast<std::size_t>(i) + 1] == "handler " + std::to_string(i));
  CHECK(ask(client, page).handlers.empty());
  CHECK(ask(client).handlers.size() == 290);
}

TEST_CASE("a page of as many handlers as are looked for at once says that there are more") {
  LiveWorld world;
  Subscribed held(world);
  for (int i = 0; i < 130; ++i)
    held.add([i](EntityRegistry& registry) {
      return registry.subscribe("handler " + std::to_string(i), [](const Update&, arena::Position&) {});
    });
  Client client = world.client();
  std::size_t told = 0, pages = 0;
  session::HandlerList page;
  do {
    page = ask(client, page, 64);
    told += page.handlers.size();
    ++pages;
  } while (page.more);
  CHECK(told == 131);  // and the one of the arena
  CHECK(pages == 3);
}

TEST_CASE("why two handlers do not overlap is explained for each message that has both") {
  LiveWorld world;
  Subscribed held(world);
  held.add([](EntityRegistry& registry) { return registry.subscribe("heal", [](const Update&, arena::Health&) {}); });
  for (const char* name : {"heal", "look"})
    held.add([name](EntityRegistry& registry) {
      return registry.subscribe(name, [](const arena::Blast&, const arena::Health&) {});
    });
  held.add(
      [](EntityRegistry& registry) { return registry.subscribe("look", [](const Update&, const arena::Health&) {}); });
  Client client = world.client(viewer_token);
  const auto why = [&](std::string first, std::string second) {
    return client.ask(session::WhyApart{.first = std::move(first), .second = std::move(second)});
  };
  const auto told = why("look", "heal");
  REQUIRE(told.has_value());
  const std::string apart =
      "\"heal\" and \"look\" do not overlap:\n"
      "  \"heal\" writes arena.Health, which \"look\" reads\n"
      "  \"heal\" runs first: its name comes first\n";
  const std::string together = "\"heal\" and \"look\" may overlap: neither writes what the other reads or writes\n";
  const bool update_first = update < TypeTraits<arena::Blast>::id;
  CHECK(told->text == (update_first ? apart + together : together + apart));
  CHECK(told->sequence == world.run([](EntityRegistry& r) { return r.sequence(); }));
  CHECK(why("arena.damage", "arena.damage")->text.starts_with("\"arena.damage\" is "));
  const auto refused = [&](const std::string& first, const std::string& second) {
    const session::Fault fault = why(first, second).error().fault;
    CHECK(fault.reason == "unknown_handler");
    return fault.field + ": " + fault.text;
  };
  CHECK(refused("none", "look") == "first: no handler is named \"none\"");
  CHECK(refused("look", "") == "second: no handler is named \"\"");
  CHECK(refused("look", "arena.damage") ==
        "second: \"look\" and \"arena.damage\" have no message in common, and handlers of different messages never "
        "overlap");
}

}  // namespace handlers_test
