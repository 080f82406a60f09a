// Synctest and TwinTest name the handler that is at fault, even if it writes no component.
#include <catch2/catch.hpp>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "registry/apply/manager.h"
#include "registry/entity_registry.h"
#include "registry/moments/synctest.h"
#include "tests/registry/game.h"
#include "tests/registry/moments/synced_game.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define OWN_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_ALLOCATOR 1
#endif
#endif

namespace naming_test {

using namespace muster;
using Catch::Contains;
using synced_game::Game;

namespace {

std::uint32_t drawn() {
  static std::random_device device;
  return device();
}

/// A manager of one number, which it saves, and of another, which it forgets to save.
struct Wind final : Manager {
  explicit Wind(bool can_keep = true) : keeps(can_keep) {}
  void save(std::vector<std::byte>& out) const override {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&force);
    out.insert(out.end(), bytes, bytes + sizeof force);
  }
  std::expected<void, std::string> load(std::uint32_t, std::span<const std::byte> bytes) override {
    if (bytes.size() == sizeof force) std::memcpy(&force, bytes.data(), sizeof force);
    return {};
  }
  struct Kept final : ManagerMoment {
    std::uint32_t force = 0;
  };
  std::shared_ptr<const ManagerMoment> keep() override {
    if (!keeps) return nullptr;
    auto kept = std::make_shared<Kept>();
    kept->force = force;
    return kept;
  }
  void return_to(const ManagerMoment& moment) override { force = dynamic_cast<const Kept&>(moment).force; }
  std::uint32_t force = 1, forgotten = 0;
  const bool keeps;
};

/// Puts a manager and a handler that reads it into a game.
struct WindyGame : Game {
  explicit WindyGame(bool can_keep = true, RegistryOptions options = {}) : Game(std::move(options)), wind(can_keep) {
    r.add_manager("wind", wind);
    own.add(r.subscribe(
        "z.drift",
        [this](const Update&, game::Velocity& v) { v.by.y = static_cast<float>((wind.force + wind.forgotten) % 1024); },
        {.external_reads = {"wind"}}));
  }
  ~WindyGame() { r.remove_manager(wind); }
  WindyGame(const WindyGame&) = delete;
  WindyGame& operator=(const WindyGame&) = delete;
  Wind wind;
};

}  // namespace

TEST_CASE("a handler that changes a manager is named before those that read it") {
  WindyGame game;
  const auto bad =
      game.r.subscribe("game.blow", [&](const Update&) { game.wind.force = drawn(); }, {.external_writes = {"wind"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.blow\"");
  CHECK(found.message == "muster.Update");
}

TEST_CASE("a manager whose state differs is named, with the handler that changed it") {
  Game game;
  Wind wind;
  game.r.add_manager("wind", wind);
  const auto bad =
      game.r.subscribe("game.blow", [&](const game::Damage&) { wind.force += drawn(); }, {.external_writes = {"wind"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.blow\"");
  CHECK(found.message == "game.Damage");
  CHECK_THAT(found.text(), Contains("manager \"wind\""));
  CHECK_FALSE(found.goes_on_with_first);
  game.r.remove_manager(wind);
}

TEST_CASE("those that write what the named handler reads outside the registry are named beside it") {
  WindyGame game;
  const auto bad = game.r.subscribe("game.blow", [&](const Update&) { game.wind.forgotten = drawn(); },
                                    {.external_writes = {"wind"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"z.drift\"");
  CHECK(found.component == "game.Velocity");
  CHECK(found.beside == std::vector<std::string>{"\"game.blow\""});
  CHECK_THAT(found.text(), Contains("it reads what \"game.blow\" may have changed outside the registry"));
}

TEST_CASE("twins name the handler that changes a manager, even if the manager cannot keep its state") {
  WindyGame game(false), twin(false);
  const auto blow = [](WindyGame& of) {
    return of.r.subscribe("game.blow", [&of](const Update&) { of.wind.force = drawn(); },
                          {.external_writes = {"wind"}});
  };
  const auto one = blow(game), other = blow(twin);
  TwinTest twins(game.r, twin.r);
  twins.begin();
  game.tick();
  twin.tick();
  const auto found = twins.end();
  REQUIRE(found);
  INFO(found->text());
  CHECK(found->handler == "\"game.blow\"");
}

TEST_CASE("a handler that only changes its message is named before those that read the message") {
  for (const bool by_value : {false, true}) {
    Game game;
    std::vector<Subscription> bad;
    if (by_value)
      bad.push_back(game.r.subscribe("a.change",
                                     [](game::Damage& hit) { hit.amount = static_cast<float>(drawn() % 9); },
                                     {.before = {"game.hurt"}}));
    else
      bad.push_back(game.r.subscribe(
          "a.change", [](game::Damage& hit, const game::Count&) { hit.amount = static_cast<float>(drawn() % 65'536); },
          {.before = {"game.hurt"}}));
    const SyncDifference found = game.first_difference();
    CHECK(found.handler == "\"a.change\"");
    CHECK(found.message == "game.Damage");
    CHECK(found.component == "game.Health");
  }
}

TEST_CASE("a handler that only changes the message of a pass is named") {
  Game game;
  const auto bad = game.r.subscribe("a.hurry", [](Update& now) { now.dt = static_cast<float>(drawn() % 65'536); },
                                    {.before = {"game.move"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"a.hurry\"");
  CHECK(found.component == "game.Position");
}

TEST_CASE("what a handler does once is named, also if only others pass the value on") {
  Game game;
  bool done = false;
  const auto bad = game.r.subscribe("game.once", [&](const Update&, game::Velocity& v) {
    if (!std::exchange(done, true)) v.by.z = 9;
  });
  const auto victim = game.r.subscribe(
      "a.carried", [](const Update&, const game::Velocity& v, game::Position& at) { at.at.z += v.by.z; },
      {.after = {"game.once"}});
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.once\"");
  CHECK(found.component == "game.Velocity");
  CHECK(found.first == "9");
  CHECK(found.second == "0");
  CHECK(found.goes_on_with_first);
}

TEST_CASE("sounds that are not played again do not hide what differs") {
  Game game;
  int sounds = 0;
  const auto sound = game.r.subscribe("a.sound", [&](const Update&) { ++sounds; }, {.skip_when_repeated = true});
  bool done = false;
  const auto bad = game.r.subscribe("game.once", [&](const Update&, game::Slots& slots) {
    if (!std::exchange(done, true)) slots.counts[1] = 9;
  });
  CHECK(game.first_difference().handler == "\"game.once\"");
}

TEST_CASE("a value that is changed without being declared is blamed on no handler that declares to write it") {
  Game game;
  // Writes what it declares to read.
  const auto bad = game.r.subscribe(
      "game.cast", [](const Update&, const game::Count& count) { const_cast<game::Count&>(count).hits = drawn(); });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler.empty());
  CHECK(found.component == "game.Count");
  CHECK(found.finder == "\"game.cast\"");
  CHECK_THAT(found.text(), Contains("Something changed this that does not declare it"));
}

// --- floating point ---

namespace {

/// Returns the difference of a game with a handler that calls `change`.
SyncDifference changed_mode(const std::function<void()>& change, bool writes = true) {
  Game game;
  const auto bad = game.r.subscribe("game.mode", [&](const Update&, game::Slots& slots) {
    if (writes) ++slots.counts[3];
    change();
  });
  const SyncDifference found = game.first_difference();
  CHECK(std::fegetround() == FE_TONEAREST);
  return found;
}

}  // namespace

TEST_CASE("a handler that leaves another rounding is named, and the rounding is put back") {
  const SyncDifference found = changed_mode([] { std::fesetround(FE_UPWARD); });
  CHECK(found.handler == "\"game.mode\"");
  CHECK(found.message == "muster.Update");
  CHECK_THAT(found.text(), Contains("rounds upward"));
  CHECK(found.goes_on_with_first);
}

TEST_CASE("a handler that changes the rounding once is named") {
  bool done = false;
  const SyncDifference found = changed_mode([&] {
    if (!std::exchange(done, true)) std::fesetround(FE_TOWARDZERO);
  });
  CHECK(found.handler == "\"game.mode\"");
  CHECK_THAT(found.text(), Contains("rounds toward zero"));
}

TEST_CASE("a handler that changes the rounding for itself alone is not at fault") {
  Game game;
  const auto good = game.r.subscribe("game.own", [](const Update&, game::Position& at) {
    std::fesetround(FE_UPWARD);
    volatile float third = 1.f;
    third = third / 3.f;
    at.at.y += third;
    std::fesetround(FE_TONEAREST);
  });
  Synctest synctest(game.r);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(synctest.begin());
    game.tick();
    const auto found = synctest.end();
    REQUIRE(found);
    CHECK_FALSE(*found);
  }
}

#if defined(__SSE__)
TEST_CASE("a handler that makes the processor flush to zero, or trap, is named") {
  const unsigned before = _mm_getcsr();
  CHECK_THAT(changed_mode([] { _mm_setcsr(_mm_getcsr() | 0x8000); }).text(), Contains("flushes"));
  CHECK_THAT(changed_mode([] { _mm_setcsr(_mm_getcsr() | 0x0040); }).text(), Contains("flushes"));
  CHECK_THAT(changed_mode([] { _mm_setcsr(_mm_getcsr() & ~0x0200u); }).text(), Contains("traps"));
  CHECK((_mm_getcsr() & ~0x3fu) == (before & ~0x3fu));
}
#endif

TEST_CASE("twins name a handler that leaves another rounding") {
  Game game, twin;
  const auto handler = [](const Update&, game::Slots&) { std::fesetround(FE_UPWARD); };
  const auto one = game.r.subscribe("game.mode", handler), other = twin.r.subscribe("game.mode", handler);
  TwinTest twins(game.r, twin.r);
  twins.begin();
  game.tick();
  twin.tick();
  const auto found = twins.end();
  REQUIRE(found);
  CHECK(found->handler == "\"game.mode\"");
  CHECK(std::fegetround() == FE_TONEAREST);
}

// --- memory that is not initialized ---

#if !defined(OWN_ALLOCATOR)
namespace {

[[gnu::noinline]] std::uint64_t fresh_heap(std::size_t bytes) {
  auto* at = static_cast<volatile unsigned char*>(std::malloc(bytes));
  asm volatile("" : "+r"(at));  // the compiler does not know that the bytes were never set
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum = sum * 31 + at[i];
  std::free(const_cast<unsigned char*>(at));
  return sum;
}
[[gnu::noinline]] std::uint64_t fresh_stack() {
  volatile unsigned char bytes[64];
  asm volatile("" : : "r"(&bytes) : "memory");
  std::uint64_t sum = 0;
  for (const volatile unsigned char& byte : bytes) sum = sum * 31 + byte;
  return sum;
}

}  // namespace

TEST_CASE("a value from the heap that was never set is named") {
  for (const std::size_t bytes : {8, 24, 100, 600, 3000}) {
    Game game;
    const auto bad = game.r.subscribe("game.heap", [=](const Update&, game::Count& count) {
      count.hits += static_cast<std::uint32_t>(fresh_heap(bytes));
    });
    INFO(bytes);
    const SyncDifference found = game.first_difference();
    CHECK(found.handler == "\"game.heap\"");
    CHECK(found.component == "game.Count");
  }
}

TEST_CASE("a value from the stack that was never set is named") {
  Game game;
  const auto bad = game.r.subscribe("game.stack", [](const game::Damage&, game::Count& count) {
    count.hits += static_cast<std::uint32_t>(fresh_stack());
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.stack\"");
  CHECK(found.component == "game.Count");
}

TEST_CASE("the order of addresses that are given back is named") {
  Game game;
  const auto bad = game.r.subscribe("game.order", [](const Update&, game::Slots& slots) {
    const auto one = std::make_unique<int>(1), other = std::make_unique<int>(2);
    slots.counts[0] = std::less<>()(one.get(), other.get()) ? 1 : 2;
  });
  const SyncDifference found = game.first_difference();
  CHECK(found.handler == "\"game.order\"");
  CHECK(found.component == "game.Slots");
}
#endif

}  // namespace naming_test
