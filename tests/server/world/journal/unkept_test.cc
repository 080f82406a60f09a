// Messages that no journal keeps: what is done again is the same without them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>

#include "registry/delivery/thread_pool.h"
#include "registry/host.h"
#include "server/world/journal/journal_format.h"
#include "server/world/journal/recovery.h"
#include "tests/registry/sight.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;
using namespace muster::test;
using sight::Look;
using sight::Shout;

namespace {

/// A game in which somebody looks.
struct Watched : RecordedGame {
  explicit Watched(RegistryOptions options = {}) : RecordedGame(options) {
    registry.add_type<Shout>();
    handlers.push_back(registry.subscribe("look", [this](const Look& look, const game::Health&) { seen += look.at; },
                                          {.external_writes = {"looks"}}));
    handlers.push_back(registry.subscribe("shout", [](const sight::ShoutView&, const game::Health&) {}));
    handlers.push_back(
        registry.subscribe("grow", [](const game::Heal& heal, game::Health& health, Entity self, Outbox& out) {
          health.value += heal.amount;
          if (health.value > 50) out.post(self, game::Ping{.hops = 3});
        }));
  }
  std::uint64_t seen = 0;
};

std::vector<std::byte> look_at(Entity e, std::uint32_t at = 1) {
  BatchBuilder edit;
  edit.append(e, Look{.at = at});
  return {edit.bytes().begin(), edit.bytes().end()};
}

/// The same from the same seed: looks of all ways among what happens otherwise.
void play(Watched& game, std::uint64_t seed, int steps) {
  EntityRegistry& r = game.registry;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const auto lane = r.host().inbox().open_lane(5, 1u << 20, 2);
  std::vector<Entity> made;
  for (int i = 0; i < 8; ++i) made.push_back(r.create(game::Health{.value = 9}));
  std::uint64_t tick = 0;
  for (int step = 0; step < steps; ++step) {
    const Entity e = made[below(made.size())];
    switch (below(16)) {
      case 0: made.push_back(r.create(game::Health{.value = static_cast<float>(below(90))})); break;
      case 1: r.push(e, game::Ping{.hops = static_cast<std::uint32_t>(below(30))}); break;
      case 2: r.post(e, game::Ping{.hops = static_cast<std::uint32_t>(below(9))}); break;
      case 3: r.push(game::Heal{.amount = 1}); break;
      case 4: r.post_at(r.now_ns() + below(100), e, game::Damage{.amount = 1}); break;
      case 5:
        r.advance(below(50));
        game.recorder->made_tick(++tick);
        break;
      case 6: r.flush(); break;
      case 7: r.push(e, game::Spawn{.children = 1}); break;
      case 8: r.push(e, Look{.at = 1}); break;
      case 9: r.push(made, Look{.at = 1}); break;
      case 10: r.push(Look{.at = 1}); break;
      case 11: r.post(e, Look{.at = 1}); break;
      case 12: REQUIRE(lane->put(look_at(e), 7)); break;
      case 13: r.post_at(r.now_ns() + below(100), e, Look{.at = 1}); break;
      case 14: r.host().push_batch(look_at(e), {.session = 5, .user = 2, .request = 8}); break;
      case 15:
        r.post(e, Shout{.text = "here"});
        if (below(8) == 0) r.destroy(e);
        break;
    }
  }
  r.flush();
}

std::uint64_t bytes_of(const std::vector<JournalGroup>& groups) {
  std::uint64_t bytes = 0;
  for (const JournalGroup& group : groups) bytes += group.records.size();
  return bytes;
}

}  // namespace

TEST_CASE(
    "a journal without what it does not keep gives the same world, sequence and counters, on 1 and on 2 workers") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
  CAPTURE(seed);
  ThreadPool two(2);
  RegistryOptions options{.pass_serial_below_ns = 0};
  Watched live(options);
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record(seed % 2 ? 1u << 20 : 512);
  play(live, seed, 900);
  REQUIRE(live.seen > 100);
  for (Executor* workers : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&two)}) {
    options.executor = workers;
    Watched again(options);
    again.load(checkpoint);
    Recovery recovery(again.registry, {.code = RecordedGame::code});
    for (const JournalGroup& group : live.journal()) {
      const auto taken = recovery.take(group);
      if (!taken) FAIL(taken.error());
    }
    REQUIRE(recovery.report().exact());
    CHECK(again.registry.sequence() == live.registry.sequence());
    CHECK(again.registry.hash() == live.registry.hash());
    CHECK((naive::saved_rows(again.registry) == naive::saved_rows(live.registry)));  // its counters too
    CHECK(again.seen < live.seen);                                                   // only those that timers delivered
    again.registry.flush();
    CHECK(again.registry.advance(100).sequence == live.registry.sequence() + 1);
  }
}

TEST_CASE("where a cascade is cut short, inputs that are not kept go on with it as they did") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  const RegistryOptions options{.cascade_messages_max = 6};
  Watched live(options);
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  play(live, seed, 600);
  Watched again(options);
  again.load(checkpoint);
  Recovery recovery(again.registry, {.code = RecordedGame::code});
  for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
  CHECK(live.registry.host().counters().carried > 20);
  CHECK(again.registry.hash() == live.registry.hash());
  CHECK((naive::saved_rows(again.registry) == naive::saved_rows(live.registry)));
}

TEST_CASE("a checkpoint that holds posts which are not kept is gone on from") {
  Watched live;
  const Entity e = live.registry.create(game::Health{});
  live.record();
  live.registry.post(e, Look{.at = 3});
  live.registry.post(e, game::Damage{.amount = 2});
  live.registry.post(e, Look{.at = 4});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.registry.flush();
  CHECK(live.seen == 7);
  for (const char* code : {RecordedGame::code, "game 2"}) {
    Watched again;
    again.load(checkpoint);
    Recovery recovery(again.registry, {.code = code});
    for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
    CHECK(again.registry.get<game::Health>(e).value == live.registry.get<game::Health>(e).value);
    CHECK(again.registry.sequence() == live.registry.sequence());
    CHECK((again.registry.hash() == live.registry.hash()));
  }
}

TEST_CASE("ten thousand looks take as much of a journal as a few") {
  Watched live;
  const Entity e = live.registry.create(game::Health{});
  live.record();
  for (std::uint32_t i = 0; i < 10'000; ++i) live.registry.push(e, Look{.at = i});
  CHECK(bytes_of(live.journal()) == 3 * sizeof(journal_format::UnkeptRecord) + sizeof(journal_format::CountersRecord));
  // What waits for a time is state, so that is kept: it is in the journal whole.
  live.registry.post_at(1000, e, Look{.at = 1});
  live.registry.flush();
  const std::vector<JournalGroup>& groups = live.journal();
  REQUIRE(groups.size() == 2);
  CHECK(groups[1].first == groups[0].last + 1);
  CHECK(groups[1].records.size() > 2 * sizeof(journal_format::InputRecord));
}

TEST_CASE("one that another sink refuses was none") {
  struct Full final : InputSink {
    void on_input(const Envelope&, std::span<const std::byte>) override {
      if (full) throw 1;
    }
    bool full = false;
  } sink;
  Watched live;
  const Entity e = live.registry.create(game::Health{});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  live.registry.host().add_sink(sink);
  const auto refused = [&] {
    sink.full = true;
    CHECK_THROWS(live.registry.push(e, Look{}));
    sink.full = false;
  };
  refused();
  live.registry.push(e, Look{});
  live.registry.push(e, Look{});
  refused();
  live.registry.push(e, game::Damage{});
  refused();
  live.registry.push(e, Look{});
  Watched again;
  again.load(checkpoint);
  Recovery recovery(again.registry, {.code = RecordedGame::code});
  for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
  CHECK(again.registry.sequence() == live.registry.sequence());
  CHECK((naive::saved_rows(again.registry) == naive::saved_rows(live.registry)));
  live.registry.host().remove_sink(sink);
}

TEST_CASE("where the edits alone are applied, what is not kept keeps its numbers and is not missed") {
  Watched live;
  const Entity e = live.registry.create(game::Health{.value = 9});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  const auto damage = [&] {
    BatchBuilder edit;
    edit.append(e, game::Damage{.amount = 2});
    live.registry.host().push_batch(edit.bytes(), {.session = 5, .request = 1});
  };
  damage();
  for (int i = 0; i < 5; ++i) live.registry.host().push_batch(look_at(e), {.session = 5, .request = 2});
  damage();
  Watched again;
  again.load(checkpoint);
  Recovery recovery(again.registry, {.code = "game 2"});
  for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
  CHECK(recovery.report().edits == 2);
  CHECK(recovery.report().left_out == 0);
  CHECK(recovery.report().failed == 0);
  CHECK(again.registry.get<game::Health>(e).value == 5);
  CHECK(again.registry.sequence() == live.registry.sequence());
}

TEST_CASE("an input that is not kept can be stopped before, and left out, like any other") {
  Watched live;
  const Entity e = live.registry.create(game::Health{.value = 9});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  const std::uint64_t first = live.registry.sequence() + 1;
  for (int i = 0; i < 5; ++i) live.registry.push(e, Look{});
  const std::string it = "input " + std::to_string(first + 2) + " (whose message no journal keeps)";
  Watched stops;
  stops.load(checkpoint);
  Recovery stopped(stops.registry, {.code = RecordedGame::code, .stop_before = first + 2});
  for (const JournalGroup& group : live.journal()) REQUIRE(stopped.take(group));
  CHECK(stopped.has_stopped());
  CHECK(stopped.report().stopped == it);
  CHECK(stops.registry.sequence() == first + 1);
  Watched skips;
  skips.load(checkpoint);
  Recovery skipped(skips.registry, {.code = RecordedGame::code, .skip = {first + 2}});
  for (const JournalGroup& group : live.journal()) REQUIRE(skipped.take(group));
  CHECK(skipped.report().skipped == std::vector<std::string>{it});
  CHECK(skips.registry.sequence() == live.registry.sequence());
}

TEST_CASE("records of what is not kept that are none are refused, naming the byte") {
  using namespace journal_format;
  Watched live;
  const Entity e = live.registry.create(game::Health{});
  live.record();
  for (int i = 0; i < 3; ++i) live.registry.push(e, Look{});
  const JournalGroup group = live.journal().at(0);
  REQUIRE(group.records.size() == sizeof(UnkeptRecord) + sizeof(CountersRecord));
  const auto read_all = [&](const std::vector<std::byte>& records) {
    RecordReader reader(records, group.first);
    for (;;) {
      const auto read = reader.next(live.registry.types());
      if (!read) return read.error().text;
      if (!*read) return std::string();
    }
  };
  CHECK(read_all(group.records).empty());
  const auto with = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> wrong = group.records;
    wrong[at] = std::byte{value};
    return read_all(wrong);
  };
  const std::size_t counters = sizeof(UnkeptRecord);
  CHECK(with(offsetof(UnkeptRecord, input), 3) == "byte 6: inputs of kind 3 that were not kept");
  CHECK(with(offsetof(UnkeptRecord, count), 0) ==
        "byte 24: 0 inputs that were not kept, where 1 to 4096 are in a record");
  CHECK(with(offsetof(UnkeptRecord, count) + 2, 1) ==
        "byte 24: 65539 inputs that were not kept, where 1 to 4096 are in a record");
  CHECK(with(offsetof(UnkeptRecord, sequence), 9) ==
        "byte 16: sequence 9, where " + std::to_string(group.first) + " comes next");
  CHECK(with(offsetof(UnkeptRecord, next_timer), 1) == "byte 48: a number of a timer, where none was posted");
  for (const std::size_t zero : {5u, 7u, 12u, 32u, 47u, 56u, 63u})
    CHECK(with(zero, 1) == "byte " + std::to_string(zero) + ": a byte that must be zero");
  CHECK(with(counters + offsetof(CountersRecord, sequence), 99) ==
        "byte " + std::to_string(counters + 16) + ": counters behind another input than the last");
  for (const std::size_t zero : {5u, 15u})
    CHECK(with(counters + zero, 1) == "byte " + std::to_string(counters + zero) + ": a byte that must be zero");
  // Every other kind and length.
  CHECK(with(4, 21) == "byte 4: unknown kind of record 21");
  CHECK(with(counters, 64).starts_with("byte " + std::to_string(counters)));
  CHECK(with(0, 80).starts_with("byte 0: inputs that were not kept, of 80 bytes"));
}
