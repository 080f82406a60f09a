// Synctest names hidden differences down to the handler and the component.
#include "registry/moments/synctest.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_map>

#include "messages/batch_builder.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/registry/moments/synced_game.h"

namespace synctest_test {

using namespace muster;
using Catch::Contains;
using synced_game::Game;

TEST_CASE("a game without hidden state has the same result twice, in all its ticks") {
  ThreadPool pool(2);
  for (const bool workers : {false, true}) {
    Game game(workers ? RegistryOptions{.executor = &pool, .pass_serial_below_ns = 0} : RegistryOptions{});
    Synctest synctest(game.r);
    for (int i = 0; i < 20; ++i) {
      REQUIRE(synctest.begin());
      game.tick();
      if (i % 3 == 0) {
        const Entity made = game.r.create("made", game::Health{});
        game.r.set(made, game::Armor{});
        game.r.reparent(made, game.all[1]);
      }
      if (i % 3 == 1) game.r.destroy(game.r.find_child(game.all[1], "made"));
      const std::uint64_t live = game.r.hash();
      const auto found = synctest.end();
      REQUIRE(found);
      CHECK_FALSE(*found);
      CHECK(game.r.hash() == live);
    }
    CHECK(synctest.repeated() > 60);
  }
}

TEST_CASE("a clock is named") {
  Game game;
  const auto bad = game.r.subscribe("game.clock", [](const Update&, game::Position& at) {
    at.at.y = static_cast<float>(std::chrono::steady_clock::now().time_since_epoch().count() % 1'000'003);
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.clock\"");
  CHECK(found.message == "muster.Update");
  CHECK(found.component == "game.Position");
  CHECK(found.field == "at.y");
  CHECK_THAT(found.path, Contains("(/orc"));
  CHECK(found.first != found.second);
  CHECK(found.values > 0);
  CHECK(found.goes_on_with_first);
}

TEST_CASE("a static counter is named") {
  Game game;
  const auto bad = game.r.subscribe("game.static", [](const game::Damage&, game::Count& count) {
    static std::uint32_t calls = 0;
    count.hits += ++calls;
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.static\"");
  CHECK(found.message == "game.Damage");
  CHECK(found.component == "game.Count");
  CHECK(found.field == "hits");
}

TEST_CASE("a captured variable is named, even if another handler passes its value on") {
  Game game;
  float wind = 0;
  const auto bad = game.r.subscribe("game.captured", [&](const Update&, game::Velocity& v) { v.by.z = wind += 1; });
  const auto victim = game.r.subscribe(
      "game.carried", [](const Update&, const game::Velocity& v, game::Position& at) { at.at.z += v.by.z; },
      {.after = {"game.captured"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.captured\"");
  CHECK(found.component == "game.Velocity");
  CHECK(found.field == "by.z");
}

TEST_CASE("random numbers in a message that a handler posts are blamed on the handler that posted it") {
  Game game;
  std::random_device device;
  const auto bad = game.r.subscribe("game.rand", [&](const Update&, const game::Count&, Entity self, Outbox& out) {
    out.post(self, game::Damage{.amount = static_cast<float>(device() % 1000) / 1000});
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.rand\"");
  CHECK(found.message == "muster.Update");
  CHECK(found.component == "game.Health");
  CHECK(found.field == "value");
}

TEST_CASE("padding that is not initialized is named") {
  Game game;
  std::uint8_t garbage = 0;
  const auto bad = game.r.subscribe("game.padding", [&](const Update&, game::Member& member) {
    // As if a struct with members alone had been copied from the stack.
    std::memset(reinterpret_cast<std::byte*>(&member) + 3, ++garbage, 1);
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.padding\"");
  CHECK(found.component == "game.Member");
  CHECK(found.field == "padding at byte 3");
}

TEST_CASE("addresses as keys are named") {
  Game game;
  const auto bad = game.r.subscribe("game.address", [](const Update&, game::Count& count) {
    // The order of addresses of what was just allocated is not the order of allocation.
    static std::vector<std::unique_ptr<int>> kept;
    kept.push_back(std::make_unique<int>(1));
    count.hits ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(kept.back().get()));
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.address\"");
  CHECK(found.component == "game.Count");
}

TEST_CASE("the order of an unordered map that grows is named") {
  Game game;
  std::unordered_map<std::uint64_t, float> last;  // of the ticks before
  std::uint64_t number = 0;
  const auto bad = game.r.subscribe("game.map", [&](const Update&, game::Slots& slots) {
    last[++number * 7919] = static_cast<float>(number);
    slots.counts[2] = static_cast<std::uint16_t>(last.begin()->second);
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.map\"");
  CHECK(found.component == "game.Slots");
  CHECK_THAT(found.field, Contains("counts[2]"));
}

TEST_CASE("a value that depends on the worker is named") {
  /// Runs the jobs of two workers one after another, so that the second worker takes all tasks.
  struct OneByOne final : Executor {
    std::uint32_t workers() const noexcept override { return 2; }
    void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
      for (worker = count; worker > 0; --worker) job(context, worker - 1);
    }
    std::uint32_t worker = 0;  // as a thread_local variable would be
  } executor;
  Game game({.executor = &executor, .pass_serial_below_ns = 0});
  const auto bad = game.r.subscribe(
      "game.thread",
      [&](const Update&, game::Slots& slots) { slots.counts[0] = static_cast<std::uint16_t>(executor.worker); },
      {.external_reads = {"worker"}});
  const auto more = game.r.create_many(4000, game::Slots{});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.thread\"");
  CHECK(found.component == "game.Slots");
}

TEST_CASE("a handler that creates entities at random is named, and what differs is said") {
  Game game;
  int calls = 0;
  const auto bad = game.r.subscribe("game.spawn", [&](const Update&, Spawner& spawner) {
    if (++calls % 2 == 1) spawner.create(game::Armor{});
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.spawn\"");
  CHECK_THAT(found.text(), Contains("game.spawn") && Contains("muster.Update"));
  CHECK_FALSE(found.part.empty());
}

TEST_CASE("a pass that begins or not by chance is named") {
  Game game;
  int calls = 0;
  const auto bad = game.r.subscribe("game.begins", [](const Update&, game::Slots& slots) { ++slots.counts[0]; },
                                    {.on_begin = [&] { return ++calls % 2 == 1; }});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.begins\"");
  CHECK(found.component == "game.Slots");
}

TEST_CASE("nothing outside hears the repeated inputs") {
  Game game;
  struct Heard final : InputSink {
    void on_input(const Envelope& envelope, std::span<const std::byte>) override { last = envelope.sequence, ++inputs; }
    std::uint64_t last = 0, inputs = 0;
  } heard;
  game.r.host().add_sink(heard);
  int sounds = 0, repeats = 0;
  const auto sound = game.r.subscribe("sound", [&](const Update&) { ++sounds; }, {.skip_when_repeated = true});
  Synctest synctest(game.r, {.repeats = [&](bool on) { repeats += on ? 1 : -1; }});
  for (int i = 0; i < 3; ++i) {
    REQUIRE(synctest.begin());
    game.tick();
    CHECK(synctest.end());
  }
  CHECK(sounds == 3);
  CHECK(heard.inputs == synctest.repeated());
  CHECK(heard.last == game.r.sequence());
  CHECK(repeats == 0);
  game.r.host().remove_sink(heard);
}

TEST_CASE("a registry whose options demand it does every tick twice") {
  std::vector<SyncDifference> found;
  std::vector<std::string> warned;
  Game game({.on_sync_difference = [&](const SyncDifference& each) { found.push_back(each); },
             .on_warning = [&](const std::string& sentence) { warned.push_back(sentence); }});
  for (int i = 0; i < 5; ++i) game.tick();
  CHECK(found.empty());
  int calls = 0;
  const auto bad = game.r.subscribe(
      "game.counts", [&](const Update&, game::Slots& slots) { slots.counts[0] = static_cast<std::uint16_t>(++calls); });
  for (int i = 0; i < 3; ++i) game.tick();
  CHECK(found.size() == 2);  // the newest tick has not been compared
  CHECK(found.at(0).handler == "\"game.counts\"");
  CHECK(found.at(0).component == "game.Slots");
  CHECK(warned == std::vector<std::string>{"ticks were not done twice: handlers were added or removed"});
}

TEST_CASE("edits that a log records are not done again, and the log sees each of them once") {
  Game game;
  EditHistory history(game.r, 1 << 20);
  game.r.host().set_edit_log(&history);
  Synctest synctest(game.r);
  REQUIRE(synctest.begin());
  game.tick();
  const auto clean = synctest.end();
  REQUIRE(clean);
  CHECK_FALSE(*clean);
  REQUIRE(synctest.begin());
  BatchBuilder batch;
  batch.append(game.all[0], Destroy{});
  game.r.host().push_batch(batch.bytes(), {.session = 3, .user = 4});
  CHECK_THAT(synctest.end().error(), Contains("sessions made edits"));
  CHECK(history.all().size() == 1);
  CHECK_FALSE(game.r.alive(game.all[0]));
  game.r.host().set_edit_log(nullptr);
}

TEST_CASE("twins that diverge name the handler, also if addresses differ or a session made edits") {
  Game game, twin;
  const auto address = [](const Update&, game::Count& count) {
    count.hits ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&count));
  };
  TwinTest twins(game.r, twin.r);
  twins.begin();
  for (Game* const each : {&game, &twin}) {
    each->tick();
    BatchBuilder batch;
    batch.append(each->all[0], Destroy{});
    each->r.host().push_batch(batch.bytes(), {.session = 3, .user = 4});
  }
  CHECK_FALSE(twins.end());
  CHECK_FALSE(twins.end());  // begin() was not called
  const auto one = game.r.subscribe("game.address", address), other = twin.r.subscribe("game.address", address);
  twins.begin();
  game.tick();
  twin.tick();
  const auto found = twins.end();
  REQUIRE(found);
  INFO(found->text());
  CHECK(found->handler == "\"game.address\"");
  CHECK(found->component == "game.Count");
  CHECK(found->first != found->second);
}

TEST_CASE("names that are new in one of two results are shown as texts") {
  Game game;
  game.own.add(game.r.subscribe(
      "plant", [calls = std::make_shared<int>(0)](const Update&, const game::Count& count, Entity self, Outbox& out) {
        if (count.hits == 1 && ++*calls % 10 == 6) out.rename(self, "stranger" + std::to_string(*calls));
      }));
  const SyncDifference found = game.first_difference();
  CHECK(found.component == "muster.Name");
  CHECK(found.field == "text");
  CHECK_THAT(found.first, Contains("stranger6"));
  CHECK_THAT(found.second, Contains("stranger16"));

  // The same between two registries.
  Game one, other;
  for (Game* const each : {&one, &other})
    each->own.add(
        each->r.subscribe("plant", [each, &one](const game::Heal&, const game::Count&, Entity self, Outbox& out) {
          out.rename(self, each == &one ? "alone" : "apart");
        }));
  TwinTest twins(one.r, other.r);
  twins.begin();
  for (Game* const each : {&one, &other}) each->r.push(each->all[3], game::Heal{});
  const auto apart = twins.end();
  REQUIRE(apart);
  CHECK_THAT(apart->first, Contains("alone"));
  CHECK_THAT(apart->second, Contains("apart"));
}

TEST_CASE("inputs that cannot be done again are not compared, and the reason is said") {
  Game game;
  Synctest synctest(game.r, {.bytes_max = 1'000'000});
  CHECK(synctest.end());  // begin() was not called
  REQUIRE(synctest.begin());
  game.r.post(game.all[0], game::Damage{});
  CHECK_THAT(synctest.end().error(), Contains("posted messages wait"));
  game.r.flush();
  CHECK(synctest.end());
  REQUIRE(synctest.begin());
  game.tick();
  const auto late = game.r.subscribe("late", [](const Update&) {});
  CHECK_THAT(synctest.end().error(), Contains("handlers were added or removed"));
  REQUIRE(synctest.begin());
  const auto many = game.r.create_many(20'000, game::Health{});
  for (int i = 0; i < 40; ++i) game.r.push(std::span<const Entity>(many), game::Damage{.amount = 1});
  CHECK_THAT(synctest.end().error(), Contains("bytes_max"));
  REQUIRE(synctest.begin());
  game.tick();
  CHECK(synctest.end());
}

}  // namespace synctest_test
