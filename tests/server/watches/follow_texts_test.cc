// Texts go before the values that mention them, whatever way values are watched.
#include <catch2/catch.hpp>

#include "tests/server/arena.h"
#include "tests/server/watches/follower.h"

namespace follow_texts_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("who follows values knows every text that they mention, those that come later too", "[follow]") {
  EntityRegistry r;
  Watches watches(r);
  r.add_type<Set>();
  const Entity a = r.create("a", arena::Label{.title = r.intern("first")});
  Follower follower(r, watches);
  session::Follow what;
  what.world = what.values = true;
  follower.open(what);
  const auto knows = [&](std::vector<std::string> titles) {
    follower.read_all();
    follower.check();
    for (const std::string& title : titles) {
      CAPTURE(title);
      const auto known = follower.texts.find(text_of(title).hash);
      REQUIRE(known != follower.texts.end());
      CHECK(known->second == title);
    }
  };
  knows({"first"});
  r.set(a, arena::Label{.title = r.intern("second")});
  knows({"first", "second"});
  r.create("b", arena::Label{.title = r.intern("third")}).or_stop();
  knows({"first", "second", "third"});
}

TEST_CASE("who follows inputs knows the text of each of the entities that one input sets", "[follow]") {
  EntityRegistry r;
  Watches watches(r);
  r.add_type<Set>();
  const Entity a = r.create("a", arena::Label{}), b = r.create("b", arena::Label{});
  const Text first = r.intern("first"), second = r.intern("second");
  Follower follower(r, watches);
  session::Follow what;
  what.world = what.inputs = true;
  follower.open(what);
  follower.read_all();
  BatchBuilder edit;
  edit.append_rows(a, Set{}, arena::Label{.title = first});
  edit.append_rows(b, Set{}, arena::Label{.title = second});
  REQUIRE(edit.batches() == 1);
  watches.on_input({.sequence = 1}, edit.bytes(), 0);
  follower.read_all();
  REQUIRE(follower.events.size() == 1);
  CHECK(follower.texts[first.hash] == "first");
  CHECK(follower.texts[second.hash] == "second");
}

TEST_CASE("of two who follow the same values each knows the texts that they mention", "[follow]") {
  EntityRegistry r;
  Watches watches(r);
  r.add_type<Set>();
  const Entity a = r.create("a", arena::Label{.title = r.intern("first")});
  session::Follow what;
  what.world = what.values = true;
  Follower one(r, watches), other(r, watches);
  for (Follower* follower : {&one, &other}) {
    follower->open(what);
    follower->read_all();
  }
  r.set(a, arena::Label{.title = r.intern("second")});
  for (Follower* follower : {&one, &other}) {
    follower->read_all();
    follower->check();
    for (const char* title : {"first", "second"}) CHECK(follower->texts.contains(text_of(title).hash));
  }
}

}  // namespace follow_texts_test
