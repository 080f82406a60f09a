// Who watches is told of components that come and go without their rows moving as of any other.
#include "tests/registry/enableable.h"
#include "tests/server/watches/follower.h"
#include "tests/support/id_or_nil.h"
#include "tests/support/random.h"

namespace enableable_test {

using namespace muster;
using namespace ward;
using muster::test::Random;
using muster::testing::Follower;

namespace {

constexpr TypeId life = TypeTraits<Life>::id, shield = TypeTraits<Shield>::id, stunned = TypeTraits<Stunned>::id,
                 aura = TypeTraits<Aura>::id;

struct Watched {
  EntityRegistry registry;
  Watches watches{registry};
  Watched() {
    registry.add_type<Life>();
    registry.add_type<Set>();
  }
};

void change(EntityRegistry& r, std::vector<Entity>& all, Random& random) {
  const auto someone = [&] { return all[random.below(all.size())]; };
  switch (random.below(14)) {
    case 0:
      all.push_back(muster::test::id_or_nil(r.create_under(someone(), "", Life{}, Shield{.strength = 1})));
      return;
    case 1: all.push_back(muster::test::id_or_nil(r.create_under(someone(), "", Life{}, Stunned{}, Aura{}))); return;
    case 2:
      if (all.size() > 40) {
        const std::size_t at = 1 + random.below(all.size() - 1);
        r.destroy(all[at]);
        std::erase_if(all, [&](Entity e) { return !r.alive(e); });
      }
      return;
    case 3: r.reparent(someone(), someone()); return;
    case 4:
    case 5: r.set(someone(), Shield{.strength = static_cast<int>(random.below(3)), .by = someone()}); return;
    case 6:
    case 7: r.remove<Shield>(someone()); return;
    case 8: r.set(someone(), Stunned{}); return;
    case 9: r.remove<Stunned>(someone()); return;
    case 10: r.set(someone(), Aura{.range = static_cast<float>(random.below(3))}); return;
    case 11: r.remove<Aura>(someone()); return;
    case 12: r.set(someone(), Life{.value = static_cast<int>(random.below(9))}); return;
    default: r.remove<Life>(someone()); return;
  }
}

}  // namespace

TEST_CASE("a watch tells that an enableable component came, changed and went", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const std::vector<Entity> many = r.create_many(1500, Life{}, Shield{.strength = 2}, Stunned{});
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = what.values = true;
  what.components = {shield, stunned};
  follower.open(what);
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.values.size() == many.size());
  r.remove<Shield>(many[3]);
  r.remove<Stunned>(many[3]);
  r.remove<Stunned>(many[4]);
  follower.read_all();
  follower.check();
  REQUIRE_FALSE(follower.known.values.contains(many[3]));
  r.set(many[3], Shield{.strength = 2});
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.values.contains(many[3]));
  r.remove<Shield>(many[3]);
  r.set(many[3], Shield{.strength = 2});
  const std::uint64_t before = follower.messages;
  follower.read_all();
  follower.check();
  CHECK(follower.messages == before);  // between two looks nothing came of it
}

TEST_CASE("entities with and without an enableable component come to a watch and leave it", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity a = r.create("a", Life{}, Shield{}), b = r.create("b", Life{}, Shield{});
  r.remove<Shield>(b);
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = what.structure = what.values = true;
  what.with = {shield};
  what.without = {stunned};
  what.open = {Entity{}};
  follower.open(what);
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.structure.size() == 1);
  r.remove<Shield>(a);
  r.set(b, Shield{});
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.structure.contains(b));
  r.set(b, Stunned{});
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.structure.empty());
}

TEST_CASE("watches know what the registry knows, however enableable components come and go", "[follow]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Watched world;
    EntityRegistry& r = world.registry;
    Random random(seed);
    std::vector<Entity> all{r.create("top", Life{})};
    for (int i = 0; i < 60; ++i) change(r, all, random);
    std::vector<std::unique_ptr<Follower>> followers;
    for (int round = 0; round < 60; ++round) {
      if (followers.size() < 5) {
        followers.push_back(std::make_unique<Follower>(r, world.watches));
        session::Follow what;
        what.world = random.percent(60);
        if (!what.world) what.entities = {all[random.below(all.size())]};
        if (!what.world) what.subtree = true;
        what.structure = random.percent(50);
        what.values = random.percent(80);
        for (const TypeId type : {life, shield, stunned, aura}) {
          if (random.percent(60)) what.components.push_back(type);
          if (random.percent(20))
            what.with.push_back(type);
          else if (random.percent(20))
            what.without.push_back(type);
        }
        if (random.percent(50)) what.open = {all[0]};
        followers.back()->open(what);
      }
      for (std::uint64_t i = random.below(12); i > 0; --i) change(r, all, random);
      world.watches.after_flush(0);
      for (const auto& follower : followers)
        if (random.percent(50)) follower->read();
      if (round % 10 == 9)
        for (const auto& follower : followers) {
          follower->read_all();
          follower->check();
        }
    }
  }
}

}  // namespace enableable_test
