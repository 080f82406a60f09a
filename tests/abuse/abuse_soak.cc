// As long as tools/soak says.
#include <catch2/catch.hpp>

#include "tests/abuse/checks.h"
#include "tests/support/seeds.h"

using namespace muster::abuse;

TEST_CASE("a server that is abused for long keeps its bounds, of time too") {
  const std::uint64_t minutes = muster::test::number_in("MUSTER_SOAK_MINUTES", 1);
  const AbuseReport report = abused_for(std::chrono::minutes(minutes), muster::test::number_in("MUSTER_ABUSE_SEED", 7));
  check_that_it_lives(report);
  check_memory(report);
  check_times(report);
  for (std::uint64_t seed = 100; seed < 103; ++seed)
    check_reopened(abused_and_reopened(std::chrono::seconds(10), seed));
}

TEST_CASE(
    "the owner is answered within a second while one user abuses the server and the log is not read, and what the user "
    "used is given back") {
  const std::uint64_t minutes = muster::test::number_in("MUSTER_SOAK_MINUTES", 1);
  for (const OneUserReport& report : abused_by_one_user(std::chrono::seconds(20 * minutes), true))
    check_shares_strictly(report);
}

TEST_CASE("while stderr is not read, nobody waits longer than before, and the lines that are lost are counted") {
  const std::uint64_t minutes = muster::test::number_in("MUSTER_SOAK_MINUTES", 1);
  check_stopped_log(abused_with_stopped_log(std::chrono::seconds(20 * minutes)));
}
