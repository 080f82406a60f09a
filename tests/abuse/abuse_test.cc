// A minute of abuse. Counters and memory are looked at, never times: the machine does other things too.
#include <catch2/catch.hpp>

#include "tests/abuse/checks.h"

using namespace muster::abuse;

TEST_CASE("a server that is abused for a minute answers the honest, keeps its bounds and stops when it is asked to") {
  const AbuseReport report = abused_for(std::chrono::seconds(40), 1);
  check_that_it_lives(report);
  check_memory(report);
}

TEST_CASE("a world that was abused is the same when it is opened again, on the same state as before") {
  const Reopened reopened = abused_and_reopened(std::chrono::seconds(8), 2);
  check_reopened(reopened);
}

TEST_CASE(
    "one user, whatever the right, does not keep the owner from asking and saving, and leaves nothing that cannot be "
    "removed") {
  for (const OneUserReport& report : abused_by_one_user(std::chrono::seconds(4), false)) check_shares(report);
}
