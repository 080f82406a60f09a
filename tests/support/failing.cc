// Run by tally_check.py only: one test case that passes, one that fails, one that takes the program down, one that hangs.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

TEST_CASE("passes") { CHECK(true); }
TEST_CASE("fails") { CHECK(false); }
TEST_CASE("crashes") { std::abort(); }
TEST_CASE("hangs, and is ended") {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}
