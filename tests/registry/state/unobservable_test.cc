// What decides the future and what is saved of it do not depend on where batches end, nor on memory that was used before, nor on
// what is recorded.
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/profile.h"
#include "registry/state/state.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

struct Rows final : StateSink, StateSource {
  std::map<StateKey, std::vector<std::byte>> all;
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    all[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : all)
      if (key.section == section) take(key, bytes);
  }
  bool operator==(const Rows& other) const { return all == other.all; }
};

Rows saved(const EntityRegistry& registry) {
  Rows rows;
  registry.save(rows);
  return rows;
}

/// Each Ping makes two of the next hop, of which every second pushes something else besides.
Handlers storm(EntityRegistry& registry) {
  return Handlers(registry.subscribe("ping",
                                     [](const Ping& ping, const Health&, Entity self, Outbox& out) {
                                       if (ping.hops == 0) return;
                                       out.post(self, Ping{.hops = ping.hops - 1});
                                       if (ping.hops % 2) out.post(Update{.dt = 1});
                                       out.post(self, Ping{.hops = ping.hops - 1});
                                       if (ping.hops % 3 == 0) out.post(self, Heal{.amount = 1});
                                     }),
                  registry.subscribe("heal", [](const Heal& heal, Health& health) { health.value += heal.amount; }));
}

}  // namespace

TEST_CASE("batches end by what is in them, so inputs have the same numbers whatever memory was used before") {
  EntityRegistry original;
  const std::vector<Entity> all = original.create_many(100'000, Health{});
  original.push(std::span<const Entity>(all), Heal{.amount = 1});  // a large segment is used, and kept
  original.post(std::span<const Entity>(all), Heal{.amount = 1});
  original.flush();
  Rows rows = saved(original);
  EntityRegistry loaded;
  loaded.add_type<Health>();
  REQUIRE(loaded.load(rows));
  CHECK(loaded.sequence() == original.sequence());
  for (EntityRegistry* r : {&original, &loaded}) {
    r->post(std::span<const Entity>(all).first(40'000), Heal{.amount = 1});
    for (std::size_t i = 0; i < 30'000; ++i) r->post(all[i], Damage{.amount = 1, .from = all[i]});
    r->flush();
  }
  CHECK(loaded.sequence() == original.sequence());
  CHECK(loaded.hash() == original.hash());
}

TEST_CASE("while a cut cascade waits, hash and saved bytes do not tell causes, loads or batches") {
  for (std::uint64_t bound = 1; bound < 120; bound += 3) {
    CAPTURE(bound);
    const auto make = [&](bool causes, bool shortcuts) {
      auto r = std::make_unique<EntityRegistry>(RegistryOptions{.cascade_messages_max = bound, .shortcuts = shortcuts});
      r->profile().record_causes(causes);
      return r;
    };
    const auto usual = make(false, true), causes = make(true, true), general = make(false, false);
    std::vector<Handlers> handlers;
    for (EntityRegistry* r : {usual.get(), causes.get(), general.get()}) {
      handlers.push_back(storm(*r));
      const Entity e = r->create("e", Health{});
      r->push(e, Ping{.hops = 5});
    }
    auto loaded = make(false, true);
    const Handlers again = storm(*loaded);
    loaded->add_type<Update>();
    Rows rows = saved(*usual);
    REQUIRE(loaded->load(rows));
    for (int step = 0; step < 6; ++step) {
      CAPTURE(step);
      for (const EntityRegistry* other : {causes.get(), general.get(), loaded.get()}) {
        CHECK(other->hash() == usual->hash());
        CHECK(other->sequence() == usual->sequence());
        CHECK((saved(*other).all == saved(*usual).all));
      }
      for (EntityRegistry* r : {usual.get(), causes.get(), general.get(), loaded.get()}) {
        if (step % 2) r->post(r->find_path("e"), Heal{.amount = 2});
        r->flush();
      }
    }
  }
}
