// Who says that a handler does not return, and when that is over.
#include "server/world/time/watchdog.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "include/muster/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

/// What a watchdog tells, to be waited for.
class Told {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
    came_.notify_all();
  }
  /// The first that begins so.
  std::string wait(const std::string& beginning) {
    std::unique_lock lock(mutex_);
    for (;;) {
      for (const std::string& text : texts_)
        if (text.starts_with(beginning)) return text;
      came_.wait(lock);
    }
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> texts_;
};

}  // namespace

TEST_CASE("a sentence says which handler is being called, of which message, for whom") {
  const Entity e{12, 1};
  CHECK(hang_text({.sequence = 1020, .handler = "game.hit", .message = "game.Damage", .entity = e}, 5s) ==
        "input 1020 has been in work for 5 s: in handler \"game.hit\" of game.Damage, for #12:1");
  CHECK(
      hang_text({.sequence = 7, .message = "game.Ping", .entity = e, .entities = 3}, 1500ms) ==
      "input 7 has been in work for 1.5 s: in a handler without a name of game.Ping, for #12:1 or one of the 2 behind "
      "it");
  CHECK(hang_text({.sequence = 7, .handler = "a", .message = "b"}, 60s) ==
        "input 7 has been in work for 60 s: in handler \"a\" of b");
  CHECK(hang_text({.sequence = 7}, 1s) == "input 7 has been in work for 1 s: in no handler");
}

TEST_CASE("an input that is in work for long hangs until another one is, or none is") {
  std::mutex mutex;
  std::optional<AtWork> at_work;
  std::vector<bool> hung;
  const auto set = [&](std::optional<AtWork> to) {
    const std::lock_guard lock(mutex);
    at_work = std::move(to);
  };
  Told told;
  std::optional<Watchdog> watchdog;
  watchdog.emplace(10ms, Watchdog::Host{.at_work =
                                            [&] {
                                              const std::lock_guard lock(mutex);
                                              return at_work;
                                            },
                                        .hangs = [&](bool on) { hung.push_back(on); },
                                        .told = [&](const std::string& text) { told.add(text); }});
  CHECK(watchdog->text().empty());
  set(AtWork{.sequence = 3, .handler = "a", .message = "b"});
  CHECK(told.wait("input 3 has been in work for ").ends_with(" s: in handler \"a\" of b"));
  set(AtWork{.sequence = 4, .handler = "a", .message = "b"});
  (void)told.wait("input 3 was in work for ");
  (void)told.wait("input 4 has been in work for ");
  while (!watchdog->text().starts_with("input 4 has been in work for ")) std::this_thread::yield();
  set(std::nullopt);
  CHECK(told.wait("input 4 was in work for ").ends_with(", and goes on"));
  CHECK(watchdog->text().empty());
  CHECK(told.all().size() == 4);
  watchdog.reset();
  CHECK(hung == std::vector{true, false, true, false});
}

TEST_CASE("a world says which of its handlers does not return while that one still runs, whatever calls it") {
  const test::Directory directory;
  Told told;
  std::string beginning, said;  // of what is to be said of the input, and what the world says
  World* running = nullptr;
  const auto hang = [&] {
    (void)told.wait(beginning);
    while (!said.starts_with(beginning)) said = running->hang();
  };
  World world(directory / "w.muster",
              [&](EntityRegistry& registry) -> Handlers {
                registry.add_type<game::Health>();
                return {registry.subscribe("slow", [&](const game::Damage&, game::Health&) { hang(); }),
                        registry.subscribe("slow pass", [&](const game::Ping&, game::Health& health) {
                          if (health.value == 3) hang();
                        })};
              },
              {.watchdog = 50ms, .on_hang = [&](const std::string& text) { told.add(text); }});
  running = &world;
  EntityRegistry& registry = world.registry();
  const Entity first = registry.create("e", game::Health{}), e = registry.create("f", game::Health{.value = 3});
  const auto id = [](Entity of) { return "#" + std::to_string(of.index) + ":" + std::to_string(of.generation); };
  const auto hangs = [&](const std::string& whom, const std::function<void()>& push) {
    CAPTURE(whom);
    const std::string input = "input " + std::to_string(registry.sequence() + 1);
    beginning = input + " has been in work for ";
    push();
    CHECK(told.wait(beginning).ends_with(" s: in handler " + whom));
    CHECK(said.ends_with(" s: in handler " + whom));
    CHECK(told.wait(input + " was in work for ").ends_with(", and goes on"));
    CHECK(world.hang().empty());
  };
  CHECK(world.hang().empty());
  for (int push = 0; push < 3; ++push)
    hangs("\"slow\" of game.Damage, for " + id(e), [&] { registry.push(e, game::Damage{}); });
  hangs("\"slow pass\" of game.Ping, for " + id(first) + " or one of the 1 behind it",
        [&] { registry.push(game::Ping{}); });
}
