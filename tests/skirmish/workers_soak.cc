#include "tests/skirmish/workers.h"

TEST_CASE("60,000 ticks of battle come to the same on 1, 2 and 4 workers, and with every compiler") {
  CHECK(fight_on_several_workers(2000, 120, 500) == 0xe78fa90e885763cf);
}
