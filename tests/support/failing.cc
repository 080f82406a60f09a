// Run by tally_check.py only: one test case that passes, one that fails, one that takes the program down.
#include <catch2/catch.hpp>
#include <cstdlib>

TEST_CASE("passes") { CHECK(true); }
TEST_CASE("fails") { CHECK(false); }
TEST_CASE("crashes") { std::abort(); }
