// Posts of several types go type by type only where nobody can tell: the same programs with and without, compared.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

std::vector<char> calls;  // what the handlers below were called with, in order of execution

void armor_heals(const Heal&, Armor& armor) {
  armor.factor += 1;
  calls.push_back('h');
}
void health_falls(const Damage& damage, Health& health) {
  health.value -= damage.amount;
  calls.push_back('d');
}
void health_rises(const Heal& heal, Health& health) {
  health.value *= heal.amount;
  calls.push_back('h');
}
void counts(const Ping&, Count& count) {
  ++count.hits;
  calls.push_back('p');
}

/// Looks at inputs and not at receipts.
struct Inputs final : InputSink {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> sequences;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    bytes.insert(bytes.end(), batch.begin(), batch.end());
    sequences.push_back(envelope.sequence);
  }
  bool wants_receipts(InputKind) const noexcept override { return false; }
};

std::vector<char> calls_of(std::initializer_list<void (*)(EntityRegistry&, Handlers&)> handlers) {
  EntityRegistry registry;
  const Entity e = registry.create(Health{}, Armor{}, Count{});
  Handlers kept;
  for (const auto add : handlers) add(registry, kept);
  for (int i = 0; i < 20; ++i) {
    registry.post(e, Damage{.amount = 1});
    registry.post(e, Heal{.amount = 2});
  }
  calls.clear();
  registry.flush();
  return calls;
}

std::vector<char> alternating() {
  std::vector<char> all;
  for (int i = 0; i < 20; ++i) all.insert(all.end(), {'d', 'h'});
  return all;
}

}  // namespace

TEST_CASE("posts of types whose handlers share nothing go type by type") {
  std::vector<char> by_type(20, 'd');
  by_type.insert(by_type.end(), 20, 'h');
  CHECK(calls_of({[](EntityRegistry& r, Handlers& kept) { kept.add(r.subscribe("falls", health_falls)); },
                  [](EntityRegistry& r, Handlers& kept) { kept.add(r.subscribe("heals", armor_heals)); }}) == by_type);
}

TEST_CASE("posts of types whose handlers write the same component go in push order") {
  CHECK(calls_of({[](EntityRegistry& r, Handlers& kept) { kept.add(r.subscribe("falls", health_falls)); },
                  [](EntityRegistry& r, Handlers& kept) { kept.add(r.subscribe("rises", health_rises)); }}) ==
        alternating());
}

TEST_CASE("posts of types whose handlers have state go in push order") {
  CHECK(calls_of({[](EntityRegistry& r, Handlers& kept) {
                    kept.add(
                        r.subscribe("falls", [log = &calls](const Damage&, const Health&) { log->push_back('d'); }));
                  },
                  [](EntityRegistry& r, Handlers& kept) {
                    kept.add(r.subscribe("heals", [log = &calls](const Heal&, const Armor&) { log->push_back('h'); }));
                  }}) == alternating());
}

TEST_CASE("posts of types whose handlers both push go in push order") {
  CHECK(calls_of({[](EntityRegistry& r, Handlers& kept) {
                    kept.add(r.subscribe("falls", [](const Damage&, const Health&, Entity self, Outbox& out) {
                      calls.push_back('d');
                      out.push(self, Ping{});
                    }));
                  },
                  [](EntityRegistry& r, Handlers& kept) {
                    kept.add(r.subscribe("heals", [](const Heal&, const Armor&, Entity self, Outbox& out) {
                      calls.push_back('h');
                      out.push(self, Ping{});
                    }));
                  }}) == alternating());
}

TEST_CASE("who looks at the receipts of posts gets them in push order, and nothing is gathered") {
  struct Receipts final : InputSink {
    std::vector<std::uint64_t> seen;
    void on_input(const Envelope& envelope, std::span<const std::byte>) override { seen.push_back(envelope.sequence); }
    void on_receipt(const Envelope& envelope, const Receipt&) override { seen.push_back(envelope.sequence); }
  } receipts;
  EntityRegistry registry;
  const Entity e = registry.create(Health{}, Armor{});
  const Handlers kept(registry.subscribe("falls", health_falls), registry.subscribe("heals", armor_heals));
  registry.add_sink(receipts);
  calls.clear();
  for (int i = 0; i < 20; ++i) {
    registry.post(e, Damage{.amount = 1});
    registry.post(e, Heal{.amount = 2});
  }
  registry.flush();
  registry.remove_sink(receipts);
  CHECK(calls == alternating());
  REQUIRE(receipts.seen.size() == 81);  // and the flush itself
  for (std::size_t i = 0; i < 80; i += 2) CHECK(receipts.seen[i] == receipts.seen[i + 1]);
}

TEST_CASE("a registry that gathers and one that does not come to the same state, counts and bytes") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    struct Side {
      explicit Side(bool gather) : registry({.gather = gather}) { registry.add_sink(inputs); }
      ~Side() { registry.remove_sink(inputs); }
      Inputs inputs;
      EntityRegistry registry;
      Handlers handlers;
      std::vector<Entity> entities;
    } sides[2] = {Side(true), Side(false)};
    for (Side& side : sides) {
      std::mt19937 random(seed);
      EntityRegistry& r = side.registry;
      const auto maybe = [&] { return random() % 2 == 0; };
      // Of each type none, one or several; some conflict with those of another type.
      if (maybe()) side.handlers.add(r.subscribe("falls", health_falls));
      if (maybe()) side.handlers.add(r.subscribe("rises", health_rises));
      if (maybe()) side.handlers.add(r.subscribe("heals", armor_heals));
      if (maybe()) side.handlers.add(r.subscribe("counts", counts));
      if (maybe())
        side.handlers.add(r.subscribe("reads", [](const Ping&, const Health& health, Position& position) {
          position.at.x = position.at.x * 2 + health.value;
        }));
      if (maybe())
        side.handlers.add(r.subscribe("answers", [](const Ping& ping, Entity self, Outbox& out) {
          if (ping.hops > 0) out.push(self, Damage{.amount = static_cast<float>(ping.hops)});
        }));
      if (maybe())
        side.handlers.add(r.subscribe(
            "changes", [](Heal& heal, const Count& count) { heal.amount += static_cast<float>(count.hits); }));
      if (maybe())
        side.handlers.add(
            r.subscribe("looks", [](const game::Spawn&, Lookup<const Health> health, Velocity& velocity, Entity self) {
              if (const Health* found = health.find(self)) velocity.by.x = velocity.by.x * 2 + found->value;
            }));
      for (int i = 0; i < 40; ++i)
        side.entities.push_back(i % 3 == 0   ? r.create(Health{}, Armor{}, Count{})
                                : i % 3 == 1 ? r.create(Health{}, Position{}, Velocity{})
                                             : r.create(Count{}, Velocity{}));
      for (int round = 0; round < 6; ++round) {
        for (int i = 0; i < 150; ++i) {
          const Entity e = side.entities[random() % side.entities.size()];
          const auto amount = static_cast<float>(random() % 4);
          switch (random() % 12) {
            case 0: r.post(e, Damage{.amount = amount}); [[fallthrough]];
            case 1:
            case 2: r.post(e, Damage{.amount = amount}); break;
            case 3:
            case 4:
            case 5: r.post(e, Heal{.amount = amount}); break;
            case 6:
            case 7: r.post(e, Ping{.hops = static_cast<std::uint32_t>(amount)}); break;
            case 8:
            case 9: r.post(e, game::Spawn{}); break;
            case 10:
              if (random() % 8 == 0) r.post(e, Destroy{});
              break;
            default:
              if (random() % 8 == 0) r.push(e, Ping{.hops = 1});  // delivers what was posted first
              break;
          }
        }
        r.flush();
      }
    }
    CHECK(sides[0].registry.hash() == sides[1].registry.hash());
    CHECK(sides[0].inputs.bytes == sides[1].inputs.bytes);
    CHECK(sides[0].inputs.sequences == sides[1].inputs.sequences);
    const RegistryCounters& a = sides[0].registry.counters();
    const RegistryCounters& b = sides[1].registry.counters();
    CHECK(a.messages == b.messages);
    CHECK(a.unhandled == b.unhandled);
    CHECK(a.dead == b.dead);
    CHECK(a.refused == b.refused);
  }
}

TEST_CASE("long messages are gathered whole, few or many in a batch") {
  EntityRegistry registry;
  const Entity e = registry.create(Health{.value = 0}, Count{});
  const Handlers kept(registry.subscribe("counts", counts),
                      registry.subscribe("sums", [](const Blob& blob, Health& health) {
                        for (const std::uint64_t word : blob.words) health.value += static_cast<float>(word);
                      }));
  Blob blob;
  for (std::uint64_t& word : blob.words) word = 1;
  // As many as the memory of a bucket takes that was made for the first, then a batch that is longer than it.
  for (int i = 0; i < 13; ++i) {
    registry.post(e, blob);
    registry.post(e, Ping{});
  }
  for (int i = 0; i < 16; ++i) registry.post(e, blob);
  for (int i = 0; i < 3; ++i) {
    registry.post(e, Ping{});
    registry.post(e, blob);
  }
  calls.clear();
  CHECK(registry.flush().handled == 48);
  CHECK(calls.size() == 16);
  CHECK(registry.get<Health>(e).value == 32 * 40);
}
