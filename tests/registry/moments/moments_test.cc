#include <bit>
#include <cstring>

#include "registry/delivery/pushed_sink.h"
#include "tests/model/state_rows.h"
#include "tests/registry/death.h"
#include "tests/registry/many.h"
#include "tests/registry/moments/random_world.h"

namespace moments_test {

using namespace muster;
using test::Random, test::Voice, test::World;

namespace {

constexpr std::size_t plenty = std::size_t{1} << 30;

Moment kept(Moments& ring) {
  auto moment = ring.keep();
  REQUIRE(moment);
  return *moment;
}
/// Returns the error of a return, or an empty string.
std::string why_not(Moments& ring, const Moment& moment) {
  const auto returned = ring.return_to(moment);
  return returned ? std::string() : returned.error();
}
std::vector<Entity> all_of(const EntityRegistry& registry) {
  std::vector<Entity> all;
  registry.each<>([&](Entity e) { all.push_back(e); });
  return all;
}

struct Heard final : InputSink, PushedSink {
  void on_input(const Envelope&, std::span<const std::byte>) override { ++inputs; }
  void on_receipt(const Envelope&, const Receipt&) noexcept override { ++receipts; }
  void on_pushed(const BatchView&) noexcept override { ++pushed; }
  int inputs = 0, receipts = 0, pushed = 0;
};

struct Plain final : Manager {};

/// The cost of moments in bytes.
struct Cost {
  std::size_t kept, changed;
  std::uint64_t copied;
};

}  // namespace

TEST_CASE("values, rows, ids, names, the clock and the sequence return, and handlers stay") {
  EntityRegistry r;
  Moments ring(r, plenty);
  int calls = 0;
  const auto hurt = r.subscribe("hurt", [&](const game::Damage& hit, game::Health& health) {
    health.value -= hit.amount;
    ++calls;
  });
  const Entity orc = r.create("orc", game::Health{.value = 10});
  const std::uint64_t hash = r.hash();
  const Moment before = kept(ring);
  const auto change = [&] {
    r.push(orc, game::Damage{.amount = 3});
    r.advance(50);
    r.rename(orc, "elf");
    const Entity made = r.create_under(orc, "child", game::Armor{});
    r.destroy(r.create("other"));
    return std::pair(made, r.hash());
  };
  const auto first = change();
  CHECK(r.hash() != hash);
  const auto late = r.subscribe("late", [&](const game::Damage&, const game::Health&) { calls += 100; });
  REQUIRE(ring.return_to(before));
  CHECK(r.hash() == hash);
  CHECK(r.get<game::Health>(orc).value == 10);
  CHECK(r.find_path("/orc") == orc);
  CHECK_FALSE(r.find_path("/elf"));
  CHECK(r.now_ns() == 0);
  CHECK(r.child_count(orc) == 0);
  CHECK(r.entity_count() == 1);
  CHECK(change() == first);
  CHECK(calls == 102);              // both handlers
  REQUIRE(ring.return_to(before));  // as often as one likes
  CHECK(r.hash() == hash);
}

TEST_CASE("ids that were taken from the queue of free ids and given back to it are there again, in order") {
  EntityRegistry r;
  Moments ring(r, plenty);
  Random random(3);
  const auto churn = [&](Random draws) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 6; ++i) {
      for (const Entity e : r.create_many(draws.small(2500), game::Health{})) sum = sum * 31 + e.bits();
      const std::vector<Entity> all = all_of(r);
      std::vector<Entity> some;
      for (const Entity e : all)
        if (draws.percent(60)) some.push_back(e);
      if (!some.empty()) r.push(std::span<const Entity>(some), Destroy{});
    }
    return std::pair(sum, r.hash());
  };
  churn(Random(1));
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t hash = r.hash(), draw = random.next(), later = random.next();
    const Moment first = kept(ring);
    const auto done = churn(Random(draw));
    const Moment second = kept(ring);
    const auto more = churn(Random(later));
    REQUIRE(ring.return_to(second));
    REQUIRE(r.hash() == done.second);
    REQUIRE(churn(Random(later)) == more);
    REQUIRE(ring.return_to(first));
    REQUIRE(r.hash() == hash);
    REQUIRE(churn(Random(draw)) == done);
    if (round % 4 == 3) ring.clear();
  }
}

TEST_CASE("the oldest moments are dropped when they need too much memory, and that is said") {
  EntityRegistry r;
  Moments ring(r, 700'000);
  const std::vector<Entity> units = r.create_many(3000, game::Health{}, game::Position{});
  const auto change = [&] {
    for (std::size_t i = 0; i < units.size(); i += 10) r.set(units[i], game::Health{.value = 3});
  };
  const Moment first = kept(ring);
  std::vector<Moment> later;
  for (int i = 0; i < 6; ++i) {
    change();
    later.push_back(kept(ring));
  }
  CHECK(ring.dropped() > 0);
  CHECK(ring.size() + ring.dropped() == 7);
  CHECK(ring.bytes() <= 700'000);
  const std::uint64_t hash = r.hash();
  CHECK(why_not(ring, first) ==
        "moment 1 was dropped because moments need more than 700000 bytes; the oldest one left is moment " +
            std::to_string(ring.dropped() + 1));
  CHECK(r.hash() == hash);
  change();
  CHECK(why_not(ring, later.back()) == "");
  CHECK(r.hash() == hash);

  Moments small(r, 1000);
  const Moment none = kept(small);
  change();
  CHECK(small.size() == 0);
  CHECK(why_not(small, none) == "moment 1 was dropped because moments need more than 1000 bytes; no moment is left");
  change();
  CHECK(small.keep());
}

TEST_CASE("a moment that is gone, or of another ring, is refused with the reason, and nothing changes") {
  EntityRegistry r, other;
  Moments ring(r, plenty), others(other, plenty);
  const Entity e = r.create(game::Health{.value = 1});
  const Moment first = kept(ring), foreign = kept(others);
  r.set(e, game::Health{.value = 2});
  const Moment second = kept(ring);
  r.set(e, game::Health{.value = 3});
  const Moment third = kept(ring);
  const std::uint64_t hash = r.hash();
  CHECK(why_not(ring, foreign) == "the moment belongs to another ring, or to none");
  CHECK(why_not(ring, Moment()) == "the moment belongs to another ring, or to none");
  CHECK(r.hash() == hash);
  ring.forget_before(second);
  CHECK(why_not(ring, first) == "moment 1 was forgotten (Moments::forget_before, Moments::clear)");
  CHECK(why_not(ring, second) == "");
  CHECK(r.get<game::Health>(e).value == 2);
  CHECK(why_not(ring, third) == "moment 3 is gone because the registry returned to moment 2, which came before it");
  CHECK(ring.size() == 1);
  const Moment fourth = kept(ring);
  CHECK(fourth.number() == 4);

  SECTION("a load ends all moments") {
    const naive::StateRows rows = naive::saved_rows(r);
    naive::RowsSource source(rows);
    REQUIRE(r.load(source));
  }
  SECTION("a swap of the state ends all moments") {
    RegistryState empty = r.host().make_state();
    REQUIRE(r.host().swap_state(empty));
  }
  SECTION("a return to a moment of another ring ends all moments") {
    Moments another(r, plenty);
    const Moment there = kept(another);
    r.set(e, game::Health{.value = 9});
    REQUIRE(another.return_to(there));
  }
  CHECK(ring.size() == 0);
  CHECK(why_not(ring, fourth) ==
        "moment 4 ended when the state of the registry was loaded, swapped, or returned to a moment of another ring");
  r.create();
  CHECK(why_not(ring, kept(ring)) == "");
}

TEST_CASE("a manager that cannot keep its state prevents moments and is named; so does one that came or went") {
  World world;
  EntityRegistry& r = world.registry;
  Moments ring(r, plenty);
  const Moment before = kept(ring);
  Plain plain;
  r.add_manager("plain", plain);
  const auto refused = ring.keep();
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == "manager \"plain\" cannot keep its state in memory: it does not implement Manager::keep()");
  CHECK(ring.size() == 1);
  CHECK(why_not(ring, before) == "the registry cannot return to moment 1: manager \"plain\" has been added since");
  r.remove_manager(plain);
  CHECK(why_not(ring, before) ==
        "the registry cannot return to moment 1: the saved states of absent managers have been replaced since");
  const Moment later = kept(ring);
  r.remove_manager(world.tally);
  CHECK(why_not(ring, later) == "the registry cannot return to moment 2: manager \"tally\" has been removed since");
  r.add_manager("tally", world.tally);
  CHECK(why_not(ring, later) == "the registry cannot return to moment 2: manager \"tally\" has been removed since");
}

TEST_CASE("values of runtime components stay with entities that stay, and are new for those that come back") {
  Voice::alive = 0;
  std::vector<Entity> restored;
  {
    EntityRegistry r;
    r.add_runtime_type<Voice>([&](Voice& voice, Entity e) {
      *voice.said = 7;
      restored.push_back(e);
    });
    const auto speak = r.subscribe("speak", [](const game::Ping& ping, Voice& voice) { *voice.said = ping.hops; });
    std::vector<Entity> bells;
    for (std::uint32_t i = 0; i < 6; ++i) {
      bells.push_back(r.create(Has<Voice>{}, game::Count{.hits = i}));
      r.push(bells[i], game::Ping{.hops = 10 + i});
    }
    Moments ring(r, plenty);
    const Moment before = kept(ring);
    const std::uint64_t hash = r.hash();
    r.push(bells[0], game::Ping{.hops = 99});  // its value is not part of the state
    r.destroy(bells[4]);
    r.destroy(bells[1]);
    r.set(bells[2], game::Armor{});  // its row moves
    r.remove<Voice>(bells[3]);
    const Entity made = r.create(Has<Voice>{});
    CHECK(Voice::alive == 4);
    REQUIRE(ring.return_to(before));
    CHECK(r.hash() == hash);
    CHECK(Voice::alive == 6);
    CHECK_FALSE(r.alive(made));
    CHECK(restored == std::vector<Entity>{bells[1], bells[3], bells[4]});
    CHECK(*r.get<Voice>(bells[0]).said == 99);
    CHECK(*r.get<Voice>(bells[1]).said == 7);
    CHECK(*r.get<Voice>(bells[2]).said == 12);
    CHECK(*r.get<Voice>(bells[3]).said == 7);
    CHECK(*r.get<Voice>(bells[5]).said == 15);
  }
  CHECK(Voice::alive == 0);
}

TEST_CASE("types that are registered after a moment stay when the registry returns, and their rows go") {
  Voice::alive = 0;
  {
    EntityRegistry r;
    const Entity e = r.create(game::Health{});
    Moments ring(r, plenty);
    const Moment before = kept(ring);
    const std::uint64_t hash = r.hash();
    const std::size_t archetypes = r.host().storage().archetypes().size();
    r.add_runtime_type<Voice>();
    const auto use = [&] {
      r.set(e, game::Armor{.factor = 4}, many::K{.value = 3}, Has<Voice>{});
      r.create(many::L{.value = 1});
      return r.hash();
    };
    const std::uint64_t used = use();
    REQUIRE(ring.return_to(before));
    CHECK(r.hash() == hash);
    CHECK(r.host().storage().archetypes().size() == archetypes);
    CHECK(Voice::alive == 0);
    CHECK_FALSE(r.has<many::K>(e));
    CHECK(r.types().find(TypeTraits<many::K>::id));
    CHECK(use() == used);
    // Rows that get a runtime type only now have other columns than at the moment.
    r.create(Has<Voice>{}, game::Count{.hits = 8});
    const Moment with = kept(ring);
    const std::uint64_t there = r.hash();
    r.host().remove_runtime_type<Voice>();
    r.destroy(e);
    REQUIRE(ring.return_to(with));
    CHECK(r.hash() == there);
    CHECK(Voice::alive == 0);
    r.add_runtime_type<Voice>();
    CHECK(Voice::alive == 2);
  }
  CHECK(Voice::alive == 0);
}

TEST_CASE("archetypes that were dropped are there again, with their numbers, and handlers find their rows") {
  EntityRegistry r;
  r.add_type<many::A>();
  std::uint32_t sum = 0;
  const auto add = r.subscribe("add", [&](const many::Tick& tick, const many::B& b) { sum += b.value * tick.by; });
  const auto shape = [&](Entity e, std::uint32_t bits) {
    const auto flip = [&]<class C>(std::uint32_t bit, C value) {
      if (((bits >> bit) & 1) != static_cast<std::uint32_t>(r.has<C>(e))) {
        if ((bits >> bit) & 1)
          r.set(e, value);
        else
          r.remove<C>(e);
      }
    };
    flip(0, many::B{3}), flip(1, many::C{}), flip(2, many::E{}), flip(3, many::F{}), flip(4, many::H{}),
        flip(5, many::I{}), flip(6, many::K{}), flip(7, many::L{}), flip(8, many::A{}), flip(9, many::D{}),
        flip(10, many::G{}), flip(11, many::J{});
  };
  const Entity e = r.create(), still = r.create(many::B{5});
  const auto storm = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) shape(e, i ^ (i >> 1));
    return r.hash();
  };
  storm(1, 900);
  Moments ring(r, plenty);
  const naive::StateRows rows = naive::saved_rows(r);
  const std::uint64_t hash = r.hash(), drops = r.host().storage().archetype_drops();
  const Moment before = kept(ring);
  storm(900, 2000);
  const Moment between = kept(ring);
  const std::uint64_t then = r.hash();
  const std::uint64_t after = storm(2000, 3000);
  REQUIRE(r.host().storage().archetype_drops() > drops);
  REQUIRE(ring.return_to(between));
  CHECK(r.hash() == then);
  CHECK(storm(2000, 3000) == after);
  REQUIRE(ring.return_to(before));
  CHECK(r.hash() == hash);
  CHECK(naive::saved_rows(r) == rows);
  sum = 0;
  shape(e, 1);
  r.push(many::Tick{.by = 2});
  CHECK(sum == 2 * (3 + 5));
  CHECK(r.alive(still));
}

TEST_CASE("rows far below all others go with their chunks on a return, and come back with one") {
  EntityRegistry r;
  Moments ring(r, plenty);
  std::vector<Entity> line;
  for (int i = 0; i < 400; ++i) line.push_back(r.create_under(line.empty() ? Entity{} : line.back(), ""));
  const Entity high = r.create(game::Health{.value = 1});
  const std::uint64_t hash = r.hash();
  const Moment before = kept(ring);
  for (int i = 0; i < 3000; ++i) r.create_under(line.back(), "", game::Health{.value = 2}).or_stop();
  const std::uint64_t hash_after = r.hash();
  const Moment after = kept(ring);
  const std::vector<Entity> children = all_of(r);
  REQUIRE(ring.return_to(before));
  CHECK(r.hash() == hash);
  CHECK(r.get<game::Health>(high).value == 1);
  REQUIRE(why_not(ring, after) != "");  // it came after the moment of the return
  for (int i = 0; i < 3000; ++i) r.create_under(line.back(), "", game::Health{.value = 2}).or_stop();
  CHECK(r.hash() == hash_after);
  const Moment again = kept(ring);
  r.destroy(line[100]);
  CHECK(r.entity_count() == 101);
  REQUIRE(ring.return_to(again));
  CHECK(r.hash() == hash_after);
  CHECK(all_of(r) == children);
}

TEST_CASE("texts that were dropped, and those that were added, are as they were") {
  EntityRegistry r;
  Moments ring(r, plenty);
  const Text a = r.intern("a"), b = r.intern("b");
  r.create("named").or_stop();
  const Moment before = kept(ring);
  const std::uint64_t hash = r.hash();
  r.intern("c");
  r.host().drop_texts(std::vector<Text>{a});
  const Moment between = kept(ring);
  r.host().drop_texts(std::vector<Text>{b});
  r.intern("d");
  CHECK(r.text(a).empty());
  REQUIRE(ring.return_to(between));
  CHECK(r.text(b) == "b");
  CHECK(r.text(a).empty());
  REQUIRE(ring.return_to(before));
  CHECK(r.hash() == hash);
  CHECK(r.text(a) == "a");
  CHECK(r.text(text_of("c")).empty());
}

TEST_CASE("a moment is kept outside of handlers only, and not while a handler's request is pending") {
  const auto from_handler = [](bool keeps) {
    return test::last_words([&] {
      EntityRegistry r;
      Moments ring(r, plenty);
      const Entity e = r.create(game::Health{});
      const Moment before = *ring.keep();
      const auto bad = r.subscribe("bad", [&](const game::Damage&, game::Health&) {
        if (keeps)
          (void)ring.keep();
        else
          (void)ring.return_to(before);
      });
      r.push(e, game::Damage{});
    });
  };
  for (const bool keeps : {true, false})
    CHECK(from_handler(keeps).find("the registry was used inside a handler (\"bad\")") != std::string::npos);

  EntityRegistry r({.cascade_messages_max = 10, .on_warning = [](const std::string&) {}});
  Moments ring(r, plenty);
  std::vector<Subscription> late;
  const auto ask = r.subscribe("ask", [&](const game::SayView&, Outbox& out) {
    for (int i = 0; i < 30; ++i) out.post(Entity{1, 1}, game::Heal{.amount = 1});
    late.push_back(out.subscribe("late", [](const game::Blob&) {}));
  });
  r.create(game::Health{});
  const Moment before = kept(ring);
  REQUIRE(r.push(game::Say{.text = "come"}).cut_short);
  constexpr const char* pending =
      "a request to subscribe or end a handler is pending; deliver it first, for example by flush()";
  const auto refused = ring.keep();
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == pending);
  CHECK(why_not(ring, before) == pending);
  for (int i = 0; i < 5; ++i) r.flush();
  CHECK(why_not(ring, before) == "");
}

TEST_CASE("while inputs are quiet, no sink hears anything, and afterwards all do") {
  World world;
  EntityRegistry& r = world.registry;
  Heard heard, later;
  r.host().add_sink(heard);
  r.host().set_pushed_sink(&heard);
  const Entity e = r.create(game::Count{});
  Moments ring(r, plenty);
  const Moment before = kept(ring);
  const auto tick = [&] {
    r.push(e, game::Ping{.hops = 2});
    r.post(e, game::Ping{});
    r.flush();
    r.advance(10);
    r.create(game::Health{});
    return r.hash();
  };
  const std::uint64_t hash = tick();
  const int inputs = heard.inputs, receipts = heard.receipts, pushed = heard.pushed;
  REQUIRE(inputs > 4);
  REQUIRE(receipts > 2);
  REQUIRE(pushed > 0);
  REQUIRE(ring.return_to(before));
  {
    const QuietInputs quiet(r);
    CHECK(tick() == hash);
    const QuietInputs also(r);
    r.host().add_sink(later);
    r.host().set_pushed_sink(&later);
    tick();
  }
  CHECK(heard.inputs == inputs);
  CHECK(heard.receipts == receipts);
  CHECK(heard.pushed == pushed);
  CHECK(later.inputs + later.receipts + later.pushed == 0);
  tick();
  CHECK(heard.inputs > inputs);
  CHECK(later.inputs == heard.inputs - inputs);
  CHECK(later.pushed > 0);
  CHECK(heard.pushed == pushed);
  {
    const QuietInputs quiet(r);
    r.host().remove_sink(heard);
  }
  const int last = heard.inputs;
  tick();
  CHECK(heard.inputs == last);
  r.host().set_pushed_sink(nullptr);
}

TEST_CASE("what a moment costs depends on what changes, not on the number of entities") {
  const auto cost = [](std::uint32_t count) {
    EntityRegistry r;
    // The rows that change are the first ones, whose chunks are full.
    std::vector<Entity> units = r.create_many(count, game::Health{}, game::Position{}, game::Velocity{});
    const std::vector<Entity> tree = r.create_many(count, game::Armor{});
    for (std::size_t i = 0; i < 2000; ++i) r.reparent(tree[i + 1], tree[i % 7 == 0 ? i : 0]);
    Moments ring(r, plenty);
    kept(ring);
    const std::size_t empty = ring.bytes();
    const Moment before = kept(ring);
    const std::size_t two = ring.bytes();
    for (std::size_t i = 0; i < 50; ++i) r.set(units[i], game::Health{.value = 1});
    r.reparent(tree[20], tree[3]);
    const std::size_t changed = ring.bytes();
    REQUIRE(ring.return_to(before));
    CHECK(ring.bytes() == two);
    return Cost{two - empty, changed - two, ring.copied()};
  };
  const Cost small = cost(5'000), large = cost(200'000);
  CHECK(small.kept == large.kept);
  CHECK(small.kept < 2000);
  CHECK(small.copied == large.copied);
  CHECK(small.changed == large.changed);
  CHECK(small.copied < 100'000);
}

TEST_CASE("a registry without moments has no preserver, also after its moments were dropped") {
  EntityRegistry r;
  const Entity e = r.create(game::Health{});
  {
    Moments ring(r, plenty);
    kept(ring);
    ring.clear();
    r.set(e, game::Health{.value = 2});
    CHECK(ring.bytes() == 0);
    CHECK(ring.id_bytes() == 0);
    const Moment again = kept(ring);
    r.set(e, game::Health{.value = 3});
    REQUIRE(ring.return_to(again));
    CHECK(r.get<game::Health>(e).value == 2);
  }
  r.set(e, game::Health{.value = 4});  // nothing of the ring is called any more
  CHECK(r.get<game::Health>(e).value == 4);
}

}  // namespace moments_test
