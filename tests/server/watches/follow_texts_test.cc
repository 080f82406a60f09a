// Texts go before the values that mention them, whatever way values are watched.
#include <catch2/catch.hpp>

#include "tests/server/arena.h"
#include "tests/server/watches/follower.h"

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
  r.create("b", arena::Label{.title = r.intern("third")});
  knows({"first", "second", "third"});
}
