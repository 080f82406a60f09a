#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

namespace unknown_names_test {

using namespace muster;
using game::Damage, game::Heal, game::Health;

namespace {

/// A registry that keeps what it warns of.
struct Warned {
  std::vector<std::string> said;
  EntityRegistry registry{{.on_warning = [this](const std::string& sentence) { said.push_back(sentence); }}};
  Handlers handlers;
  template <class F>
  void subscribe(const char* name, F f, HandlerOptions options = {}) {
    handlers.add(registry.subscribe(name, f, std::move(options)));
  }
};
constexpr auto hit = [](const Damage&, Health&) {};
constexpr auto cure = [](const Heal&, Health&) {};

}  // namespace

TEST_CASE("A name in before or after that no handler of the message has is said once, at the first flush",
          "[unknown]") {
  Warned w;
  w.subscribe("gather", hit);
  w.subscribe("aim", hit, {.before = {"gahter"}, .after = {"wind"}});
  CHECK(w.said.empty());
  w.registry.flush();
  CHECK(w.said ==
        std::vector<std::string>{
            "handler \"aim\" of game.Damage names \"gahter\" in `before`, but that message has no such "
            "handler; did you mean \"gather\"?",
            "handler \"aim\" of game.Damage names \"wind\" in `after`, but that message has no such handler"});
  w.registry.flush();
  w.subscribe("other", hit);
  w.registry.advance(1);
  CHECK(w.said.size() == 2);
}

TEST_CASE("A name that comes before the first flush, in whatever order, is not said", "[unknown]") {
  Warned w;
  w.subscribe("aim", hit, {.before = {"gather"}, .after = {"wind"}});
  w.subscribe("gather", hit);
  w.subscribe("wind", hit);
  w.registry.flush();
  CHECK(w.said.empty());
}

TEST_CASE("Two letters that change places are one change of the two that a name may have", "[unknown]") {
  Warned w;
  w.subscribe("gather", hit);
  w.subscribe("aim", hit, {.before = {"agthre"}, .after = {"agthres"}});
  w.registry.flush();
  REQUIRE(w.said.size() == 2);
  CHECK(w.said[0].ends_with("has no such handler; did you mean \"gather\"?"));
  CHECK(w.said[1].ends_with("has no such handler"));
}

TEST_CASE("A hint may name a handler whose name lacks a prefix in the option, or has another one", "[unknown]") {
  Warned w;
  w.subscribe("game.armor", hit);
  w.subscribe("game.ai", hit);
  w.subscribe("aim", hit, {.after = {"armour", "ai", "gmae.armour", "old.armor", "is", "hull"}});
  w.registry.flush();
  REQUIRE(w.said.size() == 6);
  for (const std::size_t i : {0u, 2u, 3u}) CHECK(w.said[i].ends_with("; did you mean \"game.armor\"?"));
  CHECK(w.said[1].ends_with("; did you mean \"game.ai\"?"));
  for (const std::size_t i : {4u, 5u}) CHECK(w.said[i].ends_with("has no such handler"));
}

TEST_CASE("Of a name that handles another message it is said which", "[unknown]") {
  Warned w;
  w.subscribe("cure", cure);
  w.subscribe("aim", hit, {.before = {"cure"}});
  w.registry.advance(1);
  CHECK(w.said ==
        std::vector<std::string>{"handler \"aim\" of game.Damage names \"cure\" in `before`, but that message "
                                 "has no such handler; \"cure\" handles game.Heal"});
}

TEST_CASE("A resource that is read and looks like one that is written is said; others are not", "[unknown]") {
  Warned w;
  w.subscribe("sort", hit, {.external_writes = {"the grid"}});
  w.subscribe("aim", hit, {.external_reads = {"the gird", "clock"}});
  w.subscribe("look", hit, {.external_reads = {"the grid"}});
  w.registry.flush();
  CHECK(w.said == std::vector<std::string>{
                      "handler \"aim\" reads \"the gird\", which no handler writes; did you mean \"the grid\"?"});
}

TEST_CASE("A handler that comes again with the same unknown name is not said again", "[unknown]") {
  Warned w;
  for (int i = 0; i < 2; ++i) {
    const Subscription aim = w.registry.subscribe("aim", hit, {.before = {"wind"}});
    w.registry.flush();
  }
  CHECK(w.said.size() == 1);
}

TEST_CASE("Of very many unknown names a few are said, and the others counted", "[unknown]") {
  Warned w;
  for (int i = 0; i < 100; ++i) w.subscribe("", hit, {.before = {"name " + std::to_string(i)}});
  w.registry.flush();
  REQUIRE(w.said.size() == 17);
  CHECK(w.said.back() == "84 more names in handler options match nothing");
}

TEST_CASE("Without an on_warning an unknown name is said on standard error", "[unknown]") {
  const std::string said = test::last_words([] {
    EntityRegistry registry;
    const Subscription aim = registry.subscribe("aim", hit, {.before = {"wind"}});
    registry.flush();
    std::abort();
  });
  CHECK(said ==
        "muster: handler \"aim\" of game.Damage names \"wind\" in `before`, but that message has no such handler\n");
}

}  // namespace unknown_names_test
