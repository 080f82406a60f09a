// The same lives as in failing_disk_test.cc with the writer on its own thread, and syncs that take as long as some turns of the world: what
// is recorded piles up behind them, and faults come meanwhile. When the thread gets its turn is not the seed's to say.
#include <catch2/catch.hpp>

#include "tests/end_to_end/disk_lives.h"

using namespace muster;

TEST_CASE("while a disk is slow the world goes on, and what was durable is there whatever else the disk does") {
  test::live_seeds(test::Seeds("MUSTER_DISK_SEEDS", "MUSTER_DISK_SEED", 100, 20'000), true);
}
