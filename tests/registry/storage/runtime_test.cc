#include <catch2/catch.hpp>

#include <memory>
#include <random>
#include <string>

#include <muster/registry.h>

#include "registry/host.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/examples/managers/things.h"

using namespace muster;
using namespace things;

namespace {

/// Counts its living values and owns memory, so that a leak, a double destruction or a bytewise copy shows.
struct Voice {
  inline static int alive = 0, made = 0;
  std::unique_ptr<std::string> words = std::make_unique<std::string>("silent");
  const Voice* self = this;
  Voice() { ++alive, ++made; }
  Voice(Voice&& other) noexcept : words(std::move(other.words)) { ++alive; }
  Voice& operator=(Voice&&) = delete;
  ~Voice() {
    if (self != this) std::abort();  // moved as bytes
    --alive;
  }
};
struct alignas(64) Wide {
  char c = 'w';
};

}  // namespace

template <>
struct muster::RuntimeTraits<Voice> {
  static constexpr std::string_view name = "things.Voice";
};
template <>
struct muster::RuntimeTraits<Wide> {
  static constexpr std::string_view name = "things.Wide";
};

TEST_CASE("usagi 4: a runtime component holds a C++ value beside the data, made and ended with its entity") {
  Voice::alive = 0;
  {
    EntityRegistry registry;
    const auto s = registry.subscribe("say", [](const Bump&, Voice& voice) { *voice.words = "loud"; });
    const Entity e = registry.create("bell", Has<Voice>{}, Hits{.count = 3, .sum = 0});
    CHECK(Voice::alive == 1);
    CHECK(*registry.get<Voice>(e).words == "silent");
    registry.push(e, Bump{});
    CHECK(*registry.get<Voice>(e).words == "loud");
    registry.set(e, Armor{});  // the row moves
    CHECK(*registry.get<Voice>(e).words == "loud");
    CHECK(registry.get<Hits>(e).count == 3);
    registry.set(e, Has<Voice>{});  // it is there already: the value stays
    CHECK(*registry.get<Voice>(e).words == "loud");
    registry.remove<Voice>(e);
    CHECK(Voice::alive == 0);
    registry.set(e, Has<Voice>{});
    CHECK(*registry.get<Voice>(e).words == "silent");
    registry.destroy(e);
    CHECK(Voice::alive == 0);
    registry.create(Has<Voice>{});
  }
  CHECK(Voice::alive == 0);
}

TEST_CASE("runtime values survive moves, swaps, reparenting and recycled chunks; none leaks, none dies twice") {
  Voice::alive = 0;
  {
    EntityRegistry registry;
    const auto write = registry.subscribe(
        "write", [](const Bump& bump, Voice& voice, const Hits*) { *voice.words = std::to_string(bump.force); });
    std::mt19937 random(11);
    std::vector<std::pair<Entity, float>> all;  // with the force last pushed
    for (int step = 0; step < 6000; ++step) {
      const std::size_t at = all.empty() ? 0 : random() % all.size();
      switch (all.size() < 20 ? 0 : random() % 9) {
        case 0:
        case 1: {
          const auto force = static_cast<float>(step);
          all.emplace_back(registry.create(Has<Voice>{}, Has<Wide>{}), force);
          registry.push(all.back().first, Bump{.force = force});
          break;
        }
        case 2: registry.set(all[at].first, Armor{}); break;
        case 3: registry.remove<Armor>(all[at].first); break;
        case 4: registry.set(all[at].first, Hits{}); break;
        case 5: registry.remove<Wide>(all[at].first); break;
        case 6: registry.reparent(all[at].first, random() % 3 ? all[random() % all.size()].first : Entity{}); break;
        default: {
          registry.destroy(all[at].first);
          std::erase_if(all, [&](const auto& each) { return !registry.alive(each.first); });
        }
      }
      REQUIRE(static_cast<std::size_t>(Voice::alive) == all.size());
      if (step % 50 == 0)
        for (const auto& [e, force] : all) {
          REQUIRE(*registry.get<Voice>(e).words == std::to_string(force));
          if (const Wide* wide = registry.find<Wide>(e)) {
            REQUIRE(wide->c == 'w');
            REQUIRE(reinterpret_cast<std::uintptr_t>(wide) % 64 == 0);
          }
        }
    }
  }
  CHECK(Voice::alive == 0);
}

TEST_CASE("a runtime component's presence is saved, its value is not: loading makes a fresh one and calls the hook") {
  Voice::alive = 0;
  EntityRegistry registry;
  const Entity top = registry.create(Has<Voice>{}, Hits{.count = 2, .sum = 0});
  const Entity below = registry.create_under(top, "below", Has<Voice>{});
  const std::uint64_t before = registry.hash();
  const auto s = registry.subscribe("write", [](const Bump&, Voice& voice) { *voice.words = "loud"; });
  registry.push(top, Bump{});
  KeptRows rows;
  registry.save(rows);
  for (const auto& [key, bytes] : rows.kept)
    if (key.section == StateSection::columns) CHECK(key.column != TypeTraits<Voice>::id);

  SECTION("a program that knows the type") {
    EntityRegistry loaded;
    std::vector<Entity> restored;
    loaded.add_runtime_type<Voice>([&](Voice& voice, Entity e) {
      *voice.words = "restored " + std::to_string(loaded.find<Hits>(e) ? loaded.get<Hits>(e).count : 0);
      restored.push_back(e);
    });
    REQUIRE(loaded.load(rows));
    CHECK(restored == std::vector{top, below});
    CHECK(*loaded.get<Voice>(top).words == "restored 2");
    CHECK(loaded.hash() == registry.hash());
  }
  SECTION("a program that does not know it keeps the presence, and values come when it is known") {
    EntityRegistry loaded;
    REQUIRE(loaded.load(rows));
    CHECK(loaded.hash() == registry.hash());
    CHECK(loaded.host().components(top).size() == 2);
    KeptRows again;
    loaded.save(again);
    CHECK(again.kept == rows.kept);
    int restored = 0;
    loaded.add_runtime_type<Voice>([&](Voice&, Entity) { ++restored; });
    CHECK(restored == 2);
    CHECK(*loaded.get<Voice>(below).words == "silent");
    CHECK(loaded.get<Hits>(top).count == 2);
    CHECK(loaded.hash() == registry.hash());
    loaded.set(top, Armor{});
    CHECK(*loaded.get<Voice>(top).words == "silent");
  }
  CHECK(before != registry.hash());  // the push is counted; but see the next test
}

TEST_CASE("the value of a runtime component decides no hash") {
  EntityRegistry one, two;
  for (EntityRegistry* registry : {&one, &two}) {
    const auto s = registry->subscribe("write", [&](const Bump&, Voice& voice) {
      if (registry == &two) *voice.words = "loud";
    });
    registry->push(registry->create(Has<Voice>{}), Bump{});
  }
  CHECK(one.hash() == two.hash());
}

TEST_CASE("a plugin takes its runtime type away and brings it back; handlers in between are refused") {
  Voice::alive = 0;
  EntityRegistry registry;
  const Entity e = registry.create(Has<Voice>{}, Hits{.count = 7, .sum = 0}, Has<Wide>{});
  {
    const auto s = registry.subscribe("write", [](const Bump&, Voice&) {});
    CHECK_THROWS_AS(registry.host().remove_runtime_type<Voice>(), SetupError);
  }
  const auto hits = registry.subscribe("hits", [](const Bump&, Hits& h, const Wide& w) { h.count += w.c == 'w'; });
  registry.host().remove_runtime_type<Voice>();
  CHECK(Voice::alive == 0);
  CHECK(registry.host().components(e).size() == 3);
  registry.push(e, Bump{});
  CHECK(registry.get<Hits>(e).count == 8);
  const auto s = registry.subscribe("write", [](const Bump&, Voice& voice) { *voice.words = "again"; });
  CHECK(Voice::alive == 1);
  registry.push(e, Bump{});
  CHECK(*registry.get<Voice>(e).words == "again");
  CHECK(registry.get<Hits>(e).count == 9);
  registry.destroy(e);
  CHECK(Voice::alive == 0);
}

TEST_CASE("Added and Removed follow a runtime component; its value is there in both") {
  EntityRegistry registry;
  std::string log;
  const auto a = registry.subscribe("a", [&](const Added<Voice>&, Voice& voice) { *voice.words = "hello"; });
  const auto r = registry.subscribe("r", [&](const Removed<Voice>&, const Voice& voice) { log += *voice.words + " "; });
  const Entity e = registry.create(Has<Voice>{}), f = registry.create();
  registry.set(f, Has<Voice>{});
  registry.remove<Voice>(e);
  registry.destroy(f);
  CHECK(log == "hello hello ");
}

TEST_CASE("fields of a runtime component cannot be set") {
  EntityRegistry registry;
  const Entity e = registry.create(Has<Voice>{});
  SetField set{.component = TypeTraits<Voice>::id, .field = hash32("reserved"), .bytes = 1};
  set.value[0] = 1;
  CHECK(registry.push(e, set).refused == 1);
  CHECK(*registry.get<Voice>(e).words == "silent");
}

TEST_CASE("a push finds its row where the columns were laid out anew since the push before it") {
  EntityRegistry registry;
  registry.add_runtime_type<Voice>();
  const auto hit = registry.subscribe("hit", [](const Bump&, Hits& hits) { ++hits.count; });
  const Entity e = registry.create(Has<Voice>{}, Hits{.count = 0, .sum = 0});
  registry.push(e, Bump{});
  registry.host().remove_runtime_type<Voice>();
  registry.push(e, Bump{});
  CHECK(registry.get<Hits>(e).count == 2);
  registry.add_runtime_type<Voice>();
  registry.push(e, Bump{});
  CHECK(registry.get<Hits>(e).count == 3);
}
