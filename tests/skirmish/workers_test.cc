#include "tests/skirmish/workers.h"
#include "registry/explain.h"

using namespace muster;

TEST_CASE("2,000 ticks of battle come to the same on 1, 2 and 4 workers, and with every compiler") {
  CHECK(fight_on_several_workers(1200, 20, 100) == 0xa5796d7249d34b6f);
}

TEST_CASE("in the demo, handlers of other components overlap, and the rest says why not") {
  Battle battle(200);
  const auto why = [&](const char* a, const char* b) {
    return why_apart(battle.registry, TypeTraits<Update>::id, a, b);
  };
  CHECK(why("skirmish.march", "skirmish.watch_from_tower").find("may overlap") != std::string::npos);
  CHECK(why("skirmish.march", "skirmish.shoot").find("may overlap") != std::string::npos);
  CHECK(why("skirmish.choose_foe", "skirmish.march") ==
        "\"skirmish.choose_foe\" and \"skirmish.march\" do not overlap:\n"
        "  \"skirmish.choose_foe\" writes skirmish.March, which \"skirmish.march\" reads\n"
        "  \"skirmish.march\" writes scene.Transform, which \"skirmish.choose_foe\" reads\n"
        "  \"skirmish.march\" writes scene.Transform, which \"skirmish.choose_foe\" reads from any entity, by id\n"
        "  \"skirmish.choose_foe\" runs first: \"skirmish.march\" has after = \"skirmish.choose_foe\"\n");
  for (const char* split : {"skirmish.choose_foe", "skirmish.march", "skirmish.shoot", "skirmish.watch_from_tower"})
    CHECK(why(split, split).find("is split over its rows") != std::string::npos);
}
