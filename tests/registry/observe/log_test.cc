// The game's own log: handlers write lines, each once, and as many as somebody can read.
#include "registry/observe/log.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "registry/delivery/input_sink.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "registry/moments/rollback.h"
#include "tests/registry/game.h"

namespace log_test {

using namespace muster;
using Catch::Contains;

namespace {

std::vector<std::string> texts(const EntityRegistry& r, std::uint64_t after = 0) {
  std::vector<std::string> found;
  for (const LogLine& line : r.host().log().after(after)) found.push_back(line.text);
  return found;
}

/// A registry whose log counts seconds by the test's clock.
struct Logged {
  explicit Logged(RegistryOptions options = {}) : r(std::move(options)) {
    log().set_clock([this] { return now_ns; });
  }
  GameLog& log() { return const_cast<GameLog&>(r.host().log()); }

  std::uint64_t now_ns = 5;
  EntityRegistry r;
  Handlers own;
};

struct Recorder final : InputSink {
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  struct Input {
    Envelope envelope;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
};

}  // namespace

TEST_CASE("a line has a level, a text, the handler's name, the entity, the input and the clock") {
  Logged game;
  EntityRegistry& r = game.r;
  const Entity orc = r.create("orc", game::Health{});
  game.own.add(r.subscribe("game.hurt", [](const game::Damage& hit, game::Health& health, Entity self, Log& log) {
    if (hit.amount < 0) return log.warning("negative damage", self);
    health.value -= hit.amount;
    if (health.value <= 0) log.error("below zero", self);
  }));
  game.own.add(r.subscribe("", [](const game::Ping&, Log& log) { log.info("ping"); }));
  CHECK(r.host().log().last() == 0);
  CHECK(texts(r).empty());
  r.advance(1'000);
  r.push(orc, game::Damage{.amount = -1});
  const std::uint64_t sequence = r.sequence();
  r.push(orc, game::Damage{.amount = 1});
  r.post(orc, game::Damage{.amount = 500});
  r.flush();
  r.push(game::Ping{});
  const std::vector<LogLine> lines = r.host().log().after(0);
  REQUIRE(lines.size() == 3);
  CHECK((lines[0].number == 1 && lines[0].level == LogLevel::warning && lines[0].text == "negative damage"));
  CHECK((lines[0].handler == "game.hurt" && lines[0].about == orc && lines[0].lost_before == 0));
  CHECK((lines[0].sequence == sequence && lines[0].clock_ns == 1'000));
  CHECK((lines[1].level == LogLevel::error && lines[1].handler == "game.hurt" && lines[1].text == "below zero"));
  CHECK((lines[2].level == LogLevel::info && lines[2].handler.empty() && !lines[2].about && lines[2].number == 3));
  CHECK(lines[2].sequence == r.sequence());
  CHECK(texts(r, 1) == std::vector<std::string>{"below zero", "ping"});
  CHECK(texts(r, 3).empty());
  CHECK(r.host().log().after(0, 1).front().number == 1);
}

TEST_CASE("lines are in the order of the calls, also where several handlers write and posts are one run") {
  for (const bool shortcuts : {true, false}) {
    Logged game({.shortcuts = shortcuts});
    const auto orcs = game.r.create_many(20, game::Health{});
    const auto say = [&](const char* name) {
      game.own.add(game.r.subscribe(name, [](const game::Damage& hit, const game::Health&, Log& log) {
        log.info(std::to_string(static_cast<int>(hit.amount)));
      }));
    };
    say("a");
    say("b");
    for (int i = 0; i < 20; ++i)
      game.r.post(orcs[static_cast<std::size_t>(i)], game::Damage{.amount = static_cast<float>(i)});
    game.r.flush();
    std::vector<std::string> expected, found;
    for (int i = 0; i < 20; ++i)
      for (const char* name : {"a", "b"}) expected.push_back(name + std::to_string(i));
    for (const LogLine& line : game.r.host().log().after(0)) found.push_back(line.handler + line.text);
    CHECK(found == expected);
  }
}

TEST_CASE("handlers of passes, of spans, of run-time ids and of subsystems write lines, on any number of workers") {
  struct Subsystem {
    void hear(const game::Ping&, const game::Health&, Log& log) { log.info("subsystem"); }
  } subsystem;
  for (const std::uint32_t workers : {1u, 3u}) {
    ThreadPool pool(workers);
    Logged game({.executor = &pool, .pass_serial_below_ns = 0});
    EntityRegistry& r = game.r;
    const auto orcs = r.create_many(30, game::Health{});
    game.own.add(r.subscribe(
        "pass", [](const game::Ping&, const game::Health&, Entity self, Log& log) { log.info("pass", self); }));
    game.own.add(r.subscribe("span", [](const game::Heal&, std::span<const game::Health> all, Log& log) {
      log.info(std::to_string(all.size()));
    }));
    game.own.add(r.subscribe("subsystem", subsystem, &Subsystem::hear));
    game.own.add(r.subscribe("dynamic", DynamicShape{.message = TypeTraits<game::Spawn>::id, .logs = true},
                             [](const DynamicCall& call) { call.log.error("dynamic", call.self); }));
    r.push(game::Ping{});
    std::size_t passes = 0, subsystems = 0;
    for (const LogLine& line : r.host().log().after(0)) {
      CHECK(line.handler == line.text);
      (line.text == "pass" ? passes : subsystems) += 1;
    }
    CHECK((passes == 30 && subsystems == 30));
    const std::uint64_t last = r.host().log().last();
    r.push(game::Heal{});
    std::size_t seen = 0;
    for (const std::string& text : texts(r, last)) seen += std::stoul(text);
    CHECK(seen == 30);
    r.push(orcs[4], game::Spawn{});
    const LogLine line = r.host().log().after(0).back();
    CHECK((line.handler == "dynamic" && line.about == orcs[4] && line.level == LogLevel::error));
  }
}

TEST_CASE("lines change neither the hash nor the counters nor what is recorded") {
  const auto run = [](bool logs) {
    Logged game;
    Recorder recorder;
    game.r.host().add_sink(recorder);
    const Entity orc = game.r.create("orc", game::Health{});
    if (logs)
      game.own.add(game.r.subscribe("hurt", [](const game::Damage&, game::Health& h, Log& log) {
        h.value -= 1;
        log.info("hurt");
      }));
    else
      game.own.add(game.r.subscribe("hurt", [](const game::Damage&, game::Health& h) { h.value -= 1; }));
    for (int i = 0; i < 5; ++i) game.r.push(orc, game::Damage{});
    game.r.host().remove_sink(recorder);
    std::vector<std::vector<std::byte>> bytes;
    for (const Recorder::Input& input : recorder.inputs) bytes.push_back(input.bytes);
    return std::tuple(game.r.hash(), game.r.host().counters().messages, bytes);
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("a line appears once, however often its tick is done again") {
  const auto hurts = [](Logged& game) {
    game.own.add(game.r.subscribe("hurt", [](const game::Damage& hit, game::Health& health, Log& log) {
      health.value -= hit.amount;
      log.info(std::to_string(static_cast<int>(hit.amount)));
    }));
  };
  const std::vector<std::string> one_to_six = {"1", "2", "3", "4", "5", "6"};

  SECTION("with every tick done twice") {
    int differences = 0;
    Logged game({.on_sync_difference = [&](const SyncDifference&) { ++differences; }});
    hurts(game);
    const Entity orc = game.r.create(game::Health{});
    for (int i = 1; i <= 6; ++i) {
      game.r.advance(1'000);
      game.r.push(orc, game::Damage{.amount = static_cast<float>(i)});
    }
    game.r.advance(1'000);
    CHECK(texts(game.r) == one_to_six);
    CHECK(differences == 0);
  }
  SECTION("in a rollback") {
    Logged game;
    hurts(game);
    const Entity orc = game.r.create(game::Health{});
    Rollback rollback(game.r,
                      [&](std::uint64_t tick) { game.r.push(orc, game::Damage{.amount = static_cast<float>(tick)}); });
    for (int i = 0; i < 4; ++i) REQUIRE(rollback.advance());
    rollback.changed(2);
    for (int i = 0; i < 2; ++i) REQUIRE(rollback.advance());
    CHECK(rollback.redone() > 0);
    CHECK(texts(game.r) == one_to_six);
  }
  SECTION("in a replay by another registry") {
    Recorder recorder;
    Logged game, again;
    hurts(game);
    hurts(again);
    game.r.host().add_sink(recorder);
    const Entity orc = game.r.create(game::Health{});
    for (int i = 1; i <= 6; ++i) game.r.push(orc, game::Damage{.amount = static_cast<float>(i)});
    game.r.host().remove_sink(recorder);
    for (const Recorder::Input& input : recorder.inputs) again.r.host().replay(input.envelope, input.bytes);
    CHECK(again.r.hash() == game.r.hash());
    CHECK(texts(game.r) == one_to_six);
    CHECK(texts(again.r).empty());
    CHECK(again.r.host().log().lost() == 0);
    again.r.push(orc, game::Damage{.amount = 7});
    CHECK(texts(again.r) == std::vector<std::string>{"7"});
  }
  SECTION("while inputs are quiet") {
    Logged game;
    hurts(game);
    const Entity orc = game.r.create(game::Health{});
    {
      const QuietInputs quiet(game.r), nested(game.r);
      game.r.push(orc, game::Damage{.amount = 9});
    }
    CHECK(texts(game.r).empty());
    game.r.push(orc, game::Damage{.amount = 8});
    CHECK(texts(game.r) == std::vector<std::string>{"8"});
  }
}

TEST_CASE("a handler that writes too much loses lines, which are counted, and takes none from others") {
  Logged game;
  EntityRegistry& r = game.r;
  const auto orcs = r.create_many(1000, game::Health{});
  game.own.add(r.subscribe("noisy", [](const game::Ping&, const game::Health&, Log& log) { log.info("noise"); }));
  game.own.add(r.subscribe("quiet", [](const game::Damage&, const game::Health&, Log& log) { log.info("quiet"); }));
  r.push(game::Ping{});
  r.push(orcs[0], game::Damage{});
  CHECK(r.host().log().last() == GameLog::lines_per_second + 1);
  CHECK(r.host().log().after(0).back().text == "quiet");
  CHECK(r.host().log().lost() == 1000 - GameLog::lines_per_second);
  r.push(game::Ping{});
  CHECK(r.host().log().lost() == 2000 - GameLog::lines_per_second);
  game.now_ns += 999'999'999;
  r.push(game::Ping{});
  CHECK(r.host().log().lost() == 3000 - GameLog::lines_per_second);
  game.now_ns += 1;
  r.push(orcs[0], game::Ping{});
  const LogLine line = r.host().log().after(0).back();
  CHECK((line.handler == "noisy" && line.lost_before == 3000 - GameLog::lines_per_second));
  r.push(orcs[0], game::Ping{});
  CHECK(r.host().log().after(0).back().lost_before == 0);
  CHECK(r.host().log().lost() == 3000 - GameLog::lines_per_second);
}

TEST_CASE("the log keeps the newest lines, and as many limits as handlers that anybody has") {
  Logged game;
  EntityRegistry& r = game.r;
  const Entity orc = r.create(game::Health{});
  int number = 0;
  game.own.add(r.subscribe(
      "count", [&](const game::Damage&, const game::Health&, Log& log) { log.info(std::to_string(++number)); }));
  for (std::size_t i = 0; i < GameLog::lines_max + 10; ++i) {
    game.now_ns += 20'000'000;
    r.push(orc, game::Damage{});
  }
  CHECK(r.host().log().lost() == 0);
  const std::vector<LogLine> lines = r.host().log().after(0);
  REQUIRE(lines.size() == GameLog::lines_max);
  CHECK((lines.front().number == 11 && lines.front().text == "11"));
  CHECK((lines.back().number == GameLog::lines_max + 10 && lines.back().text == std::to_string(number)));
  CHECK(r.host().log().after(12, 2).front().number == 13);

  Logged many;
  const Entity elf = many.r.create(game::Health{});
  const std::size_t handlers = GameLog::writers_max + 2 * GameLog::lines_per_second;
  for (std::size_t i = 0; i < handlers; ++i)
    many.own.add(many.r.subscribe("h" + std::to_string(i),
                                  [](const game::Damage&, const game::Health&, Log& log) { log.info("line"); }));
  many.r.push(elf, game::Damage{});
  CHECK(many.r.host().log().last() == GameLog::writers_max + GameLog::lines_per_second);
  CHECK(many.r.host().log().lost() == GameLog::lines_per_second);
}

TEST_CASE("a text is one line of valid text, and a long one is cut between characters") {
  Logged game;
  std::string text;
  game.own.add(game.r.subscribe(std::string(300, 'n'), [&](const game::Ping&, Log& log) { log.info(text); }));
  const auto written = [&](std::string what) {
    text = std::move(what);
    game.r.push(game::Ping{});
    return game.r.host().log().after(0).back().text;
  };
  CHECK(written("two\nlines\x1b[0m") == "two lines [0m");
  CHECK(written("bad \xff byte") == "bad \xef\xbf\xbd byte");
  CHECK(written("").empty());
  CHECK(written(std::string(512, 'x')) == std::string(512, 'x'));
  CHECK(written(std::string(513, 'x')) == std::string(512, 'x') + "…");
  // Two bytes of the character fit, which are none.
  CHECK(written(std::string(510, 'x') + "€ and more") == std::string(510, 'x') + "…");
  CHECK(written(std::string(509, 'x') + "€ and more") == std::string(509, 'x') + "€…");
  CHECK(written(std::string(600, '\x80')).size() <= 3 * 513);
  CHECK(game.r.host().log().after(0).back().handler == std::string(255, 'n'));
}

TEST_CASE("another thread may read the log while handlers write") {
  EntityRegistry r;
  const Entity orc = r.create(game::Health{});
  const auto writes =
      r.subscribe("write", [](const game::Damage&, const game::Health&, Log& log) { log.info("line"); });
  std::atomic<bool> over = false;
  std::uint64_t read = 0;
  std::thread reader([&] {
    while (!over || read < r.host().log().last())
      for (const LogLine& line : r.host().log().after(read)) read = line.number;
  });
  for (int i = 0; i < 2000; ++i) r.push(orc, game::Damage{});
  over = true;
  reader.join();
  CHECK(read == r.host().log().last());
  CHECK(read + r.host().log().lost() == 2000);
}

TEST_CASE("a handler that only writes lines may be skipped when ticks are done again, and called once for a pass") {
  Logged game;
  game.r.create_many(5, game::Health{});
  game.own.add(
      game.r.subscribe("once", [](const game::Ping&, Log& log) { log.info("once"); }, {.skip_when_repeated = true}));
  game.r.push(game::Ping{});
  CHECK(texts(game.r) == std::vector<std::string>{"once"});
}

}  // namespace log_test
