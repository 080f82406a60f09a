// Messages to one entity have short ways where nobody looks at single ones: the same programs with somebody who looks, who
// makes them go the long way, come to the same state, receipts, counts and bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

namespace shortcuts_test {

using namespace muster;
using namespace game;

namespace {

void health_falls(const Damage& damage, Health& health) { health.value = health.value / 2 - damage.amount; }
void answers(const Damage& damage, const Armor& armor, Entity self, Outbox& out) {
  if (damage.amount > 2) out.post(self, Heal{.amount = armor.factor});
}
void heals(const Heal& heal, Health* health, const Armor* armor) {
  if (health) health->value += heal.amount * (armor ? armor->factor : 1);
}
void moves(const Ping& ping, Position& position, const Velocity& velocity, Entity self) {
  position.at.x = position.at.x / 2 + velocity.by.x + static_cast<float>(ping.hops);
  position.at.y = static_cast<float>(self.index % 1000);
}
void splits(const game::Spawn& spawn, const Count& count, Spawner& spawner, Entity self) {
  if (spawn.children > 2 && count.hits < 2) spawner.create_under(self, "", Count{.hits = count.hits + 1});
}

enum class Look { nobody, receipts, several, observer, causes };

struct Inputs final : InputSink {
  explicit Inputs(bool wants) : wants_them(wants) {}
  bool wants_them;
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::uint64_t, InputKind>> envelopes;
  Receipt told;  // sums
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    bytes.insert(bytes.end(), batch.begin(), batch.end());
    envelopes.emplace_back(envelope.sequence, envelope.kind);
  }
  void on_receipt(const Envelope&, const Receipt& receipt) noexcept override {
    told.handled += receipt.handled;
    told.unhandled += receipt.unhandled;
    told.dead += receipt.dead;
    told.refused += receipt.refused;
  }
  bool wants_receipts(InputKind) const noexcept override { return wants_them; }
};

struct Side {
  Side(Look look, bool shortcuts) : registry({.shortcuts = shortcuts}), inputs(look == Look::receipts) {
    registry.host().add_sink(inputs);
    if (look == Look::several) registry.host().add_sink(other);
    if (look == Look::observer) registry.profile().observe(true);
    if (look == Look::causes) registry.profile().record_causes(true);
  }
  ~Side() {
    registry.host().remove_sink(inputs);
    registry.host().remove_sink(other);
  }
  void note(const Receipt& receipt) {
    for (const std::uint64_t number :
         {receipt.sequence, std::uint64_t{receipt.handled}, std::uint64_t{receipt.unhandled},
          std::uint64_t{receipt.dead}, std::uint64_t{receipt.refused}})
      receipts.push_back(number);
  }
  EntityRegistry registry;
  Inputs inputs, other{false};
  Handlers handlers;
  std::vector<std::uint64_t> receipts;
};

/// Targets in line, in line but for a few, jumping, few, and such as there are not.
std::vector<Entity> targets_of(std::mt19937& random, const std::vector<Entity>& entities) {
  const std::size_t first = random() % entities.size();
  const std::size_t count =
      random() % 4 == 0 ? 1 + random() % 6 : 1 + random() % std::min<std::size_t>(1500, entities.size());
  std::vector<Entity> targets;
  for (std::size_t i = 0; i < count; ++i) targets.push_back(entities[(first + i) % entities.size()]);
  switch (random() % 5) {
    case 0: std::shuffle(targets.begin(), targets.end(), random); break;
    case 1: std::reverse(targets.begin(), targets.end()); break;
    case 2:
      for (std::size_t i = random() % 50; i < targets.size(); i += 1 + random() % 200) {
        Entity& one = targets[i];
        switch (random() % 4) {
          case 0: one = Entity{}; break;
          case 1: one.index += 1'000'000; break;
          case 2: ++one.generation; break;
          default: one = entities[random() % entities.size()];
        }
      }
      break;
    default: break;
  }
  return targets;
}

void play(Side& side, std::uint32_t seed) {
  std::mt19937 random(seed);
  EntityRegistry& r = side.registry;
  const auto maybe = [&] { return random() % 3 != 0; };
  const auto subscribe = [&] {
    Handlers made;
    if (maybe()) made.add(r.subscribe<health_falls>("falls"));
    if (maybe()) made.add(r.subscribe("answers", answers));
    if (maybe()) made.add(r.subscribe<heals>("heals"));
    if (maybe()) made.add(r.subscribe<moves>("moves"));
    if (maybe()) made.add(r.subscribe("splits", splits));
    if (maybe())
      made.add(r.subscribe("counts", [calls = std::make_shared<std::uint32_t>()](const Ping&, Count& count) {
        count.hits = count.hits * 3 + ++*calls;
      }));
    if (maybe())
      made.add(r.subscribe("changes", [](Damage& damage, const Velocity& velocity) { damage.amount += velocity.by.x; },
                           {.before = {"falls"}}));
    return made;
  };
  side.handlers = subscribe();
  std::vector<Entity> entities = r.create_many(1500, Health{}, Armor{.factor = 2});
  for (const auto& more : {r.create_many(1300, Health{}, Position{}, Velocity{.by = {1, 2, 3}}),
                           r.create_many(700, Count{}), r.create_many(40, Position{}, Velocity{}, Count{}, Armor{})})
    entities.insert(entities.end(), more.begin(), more.end());
  for (int round = 0; round < 8; ++round) {
    for (std::uint32_t i = 0; i < 60; ++i) r.destroy(entities[random() % entities.size()]);
    r.host().begin_version();
    if (round == 4) {
      side.handlers = Handlers();
      side.handlers = subscribe();
    }
    for (int run = 0; run < 6; ++run) {
      const auto amount = static_cast<float>(random() % 4);
      const auto kind = static_cast<std::uint32_t>(random() % 8);
      for (const Entity e : targets_of(random, entities)) switch (kind) {
          case 0: r.post(e, Heal{.amount = amount}); break;
          case 1: r.post(e, Ping{.hops = kind + static_cast<std::uint32_t>(round)}); break;
          case 2: r.post(e, game::Spawn{.children = static_cast<std::uint32_t>(random() % 4)}); break;
          case 3:  // types in turn
            if (random() % 2 == 0) {
              r.post(e, Heal{.amount = amount});
              break;
            }
            [[fallthrough]];
          case 4:
          case 5: r.post(e, Damage{.amount = amount, .from = e}); break;
          case 6: side.note(r.push(e, Damage{.amount = amount})); break;
          default: side.note(r.push(e, Ping{.hops = 1})); break;
        }
      if (random() % 3 == 0) r.post(entities[random() % entities.size()], Destroy{});
      if (random() % 2 == 0) side.note(r.flush());
    }
    side.note(r.flush());
  }
}

}  // namespace

TEST_CASE("whoever looks at single messages, all comes out the same") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::unique_ptr<Side> usual;
    for (const Look look : {Look::nobody, Look::receipts, Look::several, Look::observer, Look::causes}) {
      CAPTURE(static_cast<int>(look));
      auto side = std::make_unique<Side>(look, seed % 2 == 0);
      play(*side, seed);
      if (!usual) {
        usual = std::move(side);
        continue;
      }
      CHECK(side->registry.hash() == usual->registry.hash());
      CHECK((side->inputs.bytes == usual->inputs.bytes));
      CHECK((side->inputs.envelopes == usual->inputs.envelopes));
      CHECK((side->receipts == usual->receipts));
      if (look == Look::several) CHECK((side->other.bytes == usual->inputs.bytes));
      const RegistryCounters &a = side->registry.host().counters(), &b = usual->registry.host().counters();
      CHECK(a.messages == b.messages);
      CHECK(a.unhandled == b.unhandled);
      CHECK(a.dead == b.dead);
      CHECK(a.refused == b.refused);
    }
  }
}

TEST_CASE("targets all over a world that is larger than the cache are found as those one by one are") {
  std::vector<std::unique_ptr<Side>> sides;
  for (const Look look : {Look::nobody, Look::causes}) {
    Side& side = *sides.emplace_back(std::make_unique<Side>(look, true));
    EntityRegistry& r = side.registry;
    side.handlers = Handlers(r.subscribe<heals>("heals"), r.subscribe<moves>("moves"), r.subscribe("answers", answers));
    std::vector<Entity> entities = r.create_many(40'000, Health{}, Armor{.factor = 2});
    for (const auto& more : {r.create_many(20'000, Health{}, Position{}, Velocity{}), r.create_many(3'000, Count{})})
      entities.insert(entities.end(), more.begin(), more.end());
    std::mt19937 random(3);
    std::shuffle(entities.begin(), entities.end(), random);
    for (std::size_t i = 0; i < entities.size(); i += 100) r.destroy(entities[i]);
    for (std::size_t i = 50; i < entities.size(); i += 700) entities[i].index += 1'000'000;
    for (std::uint32_t round = 0; round < 2; ++round) {
      r.host().begin_version();
      for (const Entity e : entities) r.post(e, Heal{.amount = 1.5f});
      for (const Entity e : entities) r.post(e, Ping{.hops = round});
      for (const Entity e : entities) r.post(e, Damage{.amount = 3});
      side.note(r.flush());
    }
  }
  CHECK(sides[0]->registry.hash() == sides[1]->registry.hash());
  CHECK((sides[0]->receipts == sides[1]->receipts));
  CHECK((sides[0]->inputs.bytes == sides[1]->inputs.bytes));
}

TEST_CASE("short batches of types at random call whom single messages call") {
  for (const bool shortcuts : {false, true}) {
    std::vector<std::unique_ptr<Side>> sides;
    for (const Look look : {Look::nobody, Look::receipts, Look::several, Look::observer, Look::causes}) {
      Side& side = *sides.emplace_back(std::make_unique<Side>(look, shortcuts));
      EntityRegistry& r = side.registry;
      side.handlers = Handlers(r.subscribe<health_falls>("falls"), r.subscribe<heals>("heals"),
                               r.subscribe("moves", moves), r.subscribe("splits", splits));
      std::vector<Entity> entities = r.create_many(1100, Health{}, Armor{.factor = 2});
      for (const auto& more : {r.create_many(400, Position{}, Velocity{}, Health{}), r.create_many(300, Count{})})
        entities.insert(entities.end(), more.begin(), more.end());
      std::mt19937 random(5);
      for (int i = 0; i < 50; ++i) r.destroy(entities[random() % entities.size()]);
      for (int i = 0; i < 20; ++i) entities[random() % entities.size()].index += 1'000'000;
      for (int round = 0; round < 5; ++round) {
        // The first write of a version is another way; a filter by an archetype that comes meanwhile as well.
        r.host().begin_version();
        if (round == 2) entities.push_back(r.create(Count{}, Health{}, Velocity{}, Position{}));
        if (round == 3) {
          const Subscription more = r.subscribe("more", [](const Heal&, Count& count) { ++count.hits; });
          r.post(entities.back(), Heal{.amount = 1});
          side.note(r.flush());
        }
        BatchBuilder builder;
        const std::size_t before = side.inputs.bytes.size();
        for (int i = 0; i < 1000; ++i) {
          const Entity e = entities[random() % entities.size()];
          const auto post = [&](const auto& message) {
            r.post(e, message);
            builder.append(e, message);
          };
          const auto amount = static_cast<float>(random() % 4);
          switch (random() % 5) {
            case 0: post(Damage{.amount = amount, .from = e}); break;
            case 1: post(Heal{.amount = amount}); break;
            case 2: post(Ping{.hops = static_cast<std::uint32_t>(i)}); break;
            case 3: post(game::Spawn{.children = static_cast<std::uint32_t>(random() % 4)}); break;
            default: post(Blob{.words = {static_cast<std::uint64_t>(i)}}); break;  // nobody takes it
          }
        }
        side.note(r.flush());
        const auto made = builder.bytes();
        REQUIRE(side.inputs.bytes.size() >= before + made.size());
        CHECK(std::equal(made.begin(), made.end(), side.inputs.bytes.begin() + static_cast<std::ptrdiff_t>(before)));
      }
    }
    for (const auto& side : sides) {
      CHECK(side->registry.hash() == sides[0]->registry.hash());
      CHECK((side->receipts == sides[0]->receipts));
      CHECK((side->inputs.bytes == sides[0]->inputs.bytes));
      CHECK(side->registry.host().counters().dead == sides[0]->registry.host().counters().dead);
      CHECK(side->registry.host().counters().unhandled == sides[0]->registry.host().counters().unhandled);
    }
  }
}

TEST_CASE("a few messages of a session come to what they come to where somebody looks at single ones") {
  for (const bool shortcuts : {false, true}) {
    std::vector<std::unique_ptr<Side>> sides;
    for (const Look look : {Look::nobody, Look::receipts, Look::several, Look::observer, Look::causes}) {
      Side& side = *sides.emplace_back(std::make_unique<Side>(look, shortcuts));
      EntityRegistry& r = side.registry;
      side.handlers = Handlers(r.subscribe<health_falls>("falls"), r.subscribe("answers", answers),
                               r.subscribe<heals>("heals"), r.subscribe("splits", splits));
      std::vector<Entity> entities = r.create_many(600, Health{}, Armor{.factor = 2});
      for (const auto& more : {r.create_many(300, Position{}, Velocity{}, Health{}), r.create_many(300, Count{})})
        entities.insert(entities.end(), more.begin(), more.end());
      std::mt19937 random(9);
      for (int i = 0; i < 30; ++i) r.destroy(entities[random() % entities.size()]);
      for (int i = 0; i < 2'000; ++i) {
        if (i % 400 == 0) r.host().begin_version();
        BatchBuilder builder;
        const auto amount = static_cast<float>(random() % 4);
        const auto kind = random() % 5;
        const auto count = 1 + random() % 6;
        for (auto left = random() % 3 == 0 ? count : 1; left > 0; --left) {
          const Entity e = entities[random() % entities.size()];
          switch (kind) {
            case 0: builder.append(e, Damage{.amount = amount, .from = e}); break;
            case 1: builder.append(e, Heal{.amount = amount}); break;
            case 2: builder.append(e, game::Spawn{.children = static_cast<std::uint32_t>(random() % 4)}); break;
            case 3: builder.append(e, Blob{.words = {random()}}); break;  // nobody takes it
            default: builder.append(e, Ping{.hops = 1}); break;
          }
        }
        // What waits is delivered before.
        if (random() % 20 == 0) r.post(entities[random() % entities.size()], Heal{.amount = 2});
        side.note(
            r.host().push_batch(builder.bytes(), {.session = 1 + random() % 3, .user = 5, .request = random() % 2}));
      }
    }
    for (const auto& side : sides) {
      CHECK(side->registry.hash() == sides[0]->registry.hash());
      CHECK((side->receipts == sides[0]->receipts));
      CHECK((side->inputs.bytes == sides[0]->inputs.bytes));
      CHECK((side->inputs.envelopes == sides[0]->inputs.envelopes));
      CHECK(side->registry.host().counters().dead == sides[0]->registry.host().counters().dead);
      CHECK(side->registry.host().counters().unhandled == sides[0]->registry.host().counters().unhandled);
      CHECK(side->registry.host().counters().messages == sides[0]->registry.host().counters().messages);
    }
    CHECK(sides[0]->registry.host().counters().dead > 0);
    CHECK(sides[0]->registry.host().counters().unhandled > 0);
  }
}

TEST_CASE("a sink that looks at receipts is told what became of a few messages of a session, as of many") {
  for (const int count : {1, 3, 40}) {
    EntityRegistry registry;
    const Entity e = registry.create(Health{}), bare = registry.create(Count{}), gone = registry.create(Health{});
    registry.destroy(gone);
    const Handlers kept(registry.subscribe<health_falls>("falls"));
    Inputs inputs(true);
    registry.host().add_sink(inputs);
    BatchBuilder builder;
    for (int i = 0; i < count; ++i) builder.append(i % 3 == 0 ? e : i % 3 == 1 ? bare : gone, Damage{.amount = 1});
    const Receipt one = registry.host().push_batch(builder.bytes(), {.session = 7});
    CHECK(one.handled + one.unhandled + one.dead == static_cast<std::uint32_t>(count));
    CHECK(inputs.told.handled == one.handled);
    CHECK(inputs.told.unhandled == one.unhandled);
    CHECK(inputs.told.dead == one.dead);
    registry.host().remove_sink(inputs);
  }
}

TEST_CASE(
    "what the one handler of a session's message pushes is delivered when the push returns, as far as bounds allow") {
  for (const std::uint64_t most : {1000, 3}) {
    EntityRegistry registry({.cascade_messages_max = most, .on_warning = [](const std::string&) {}});
    const Entity e = registry.create(Health{.value = 0});
    const Handlers kept(registry.subscribe("starts",
                                           [](const Damage&, Health&, Outbox& out, Entity self) {
                                             for (int i = 0; i < 5; ++i) out.post(self, Heal{.amount = 1});
                                           }),
                        registry.subscribe<heals>("heals"));
    BatchBuilder builder;
    builder.append(e, Damage{});
    const Receipt receipt = registry.host().push_batch(builder.bytes(), {.session = 7});
    CHECK(receipt.handled == 1);
    CHECK(receipt.cut_short == (most < 5));
    CHECK(registry.get<Health>(e).value == static_cast<float>(std::min<std::uint64_t>(most, 5)));
  }
}

TEST_CASE("where a sink throws at a session's message, nothing of it happens, and the next has its number") {
  struct Throwing final : InputSink {
    bool throws = false;
    std::uint64_t last = 0;
    void on_input(const Envelope& envelope, std::span<const std::byte>) override {
      if (throws) throw 1;
      last = envelope.sequence;
    }
    bool wants_receipts(InputKind) const noexcept override { return false; }
  } throwing;
  EntityRegistry registry;
  const Entity e = registry.create(Health{.value = 0});
  const Handlers kept(
      registry.subscribe("adds", [](const Heal& heal, Health& health) { health.value += heal.amount; }));
  registry.host().add_sink(throwing);
  BatchBuilder builder;
  builder.append(e, Heal{.amount = 1});
  CHECK(registry.host().push_batch(builder.bytes(), {.session = 7}).handled == 1);
  const std::uint64_t before = registry.sequence();
  throwing.throws = true;
  CHECK_THROWS(registry.host().push_batch(builder.bytes(), {.session = 7}));
  throwing.throws = false;
  CHECK(registry.sequence() == before);
  const Receipt next = registry.host().push_batch(builder.bytes(), {.session = 7});
  CHECK(next.sequence == before + 1);
  CHECK(throwing.last == before + 1);
  CHECK(registry.get<Health>(e).value == 2);
  registry.host().remove_sink(throwing);
}

TEST_CASE("a push seals the bytes that a builder makes of it, time after time") {
  Side side(Look::nobody, true);
  const Entity e = side.registry.create(Health{});
  side.registry.push(e, Damage{});
  side.registry.push(e, Ping{});
  side.inputs.bytes.clear();
  std::vector<std::byte> expected;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto add = [&](const auto& message) {
      BatchBuilder builder;
      builder.append(e, message);
      const auto bytes = builder.bytes();
      expected.insert(expected.end(), bytes.begin(), bytes.end());
      side.registry.push(e, message);
    };
    add(Damage{.amount = static_cast<float>(i), .from = {i, 1}});
    add(Ping{.hops = i});
  }
  CHECK((side.inputs.bytes == expected));
}

TEST_CASE("a sink that throws leaves what was not delivered for the next flush, and counts what was") {
  struct Throwing final : InputSink {
    int left = 3;
    void on_input(const Envelope&, std::span<const std::byte>) override {
      if (left-- == 0) throw 1;
    }
    bool wants_receipts(InputKind) const noexcept override { return false; }
  } throwing;
  EntityRegistry registry;
  const Entity e = registry.create(Health{.value = 0}, Count{});
  const Handlers kept(registry.subscribe("adds", [](const Heal& heal, Health& health) { health.value += heal.amount; }),
                      registry.subscribe("counts", [](const Ping&, Count& count) { ++count.hits; }));
  const std::uint64_t before = registry.host().counters().messages;
  for (int i = 0; i < 4; ++i) {
    registry.post(e, Heal{.amount = 1});
    registry.post(e, Ping{});
  }
  registry.host().add_sink(throwing);
  CHECK_THROWS(registry.flush());
  CHECK(registry.host().counters().messages == before + 3);
  CHECK(registry.flush().handled == 5);
  registry.host().remove_sink(throwing);
  CHECK(registry.get<Health>(e).value == 4);
  CHECK(registry.get<Count>(e).hits == 4);
  CHECK(registry.host().counters().messages == before + 8);
}

}  // namespace shortcuts_test
