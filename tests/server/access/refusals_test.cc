#include "server/access/refusals.h"

#include <catch2/catch.hpp>
#include <vector>

namespace door_refusals_test {

using namespace muster;
using namespace std::chrono_literals;

namespace {
const Refusals::Clock::time_point start = Refusals::Clock::time_point{} + 1h;
}

TEST_CASE("wrong tokens wait longer and longer, by address, and are forgiven with time", "[door]") {
  Refusals refusals({}, 2s);
  const auto wrong = [&](const char* address, auto after) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(refusals.wrong_token(address, start + after));
  };
  for (int i = 0; i < 3; ++i) CHECK(wrong("127.0.0.1", 0ms) == 0ms);
  CHECK(wrong("127.0.0.1", 1ms) == 100ms);
  CHECK(wrong("127.0.0.1", 2ms) == 200ms);
  CHECK(wrong("127.0.0.2", 3ms) == 0ms);
  CHECK(wrong("127.0.0.1", 4ms) == 400ms);
  CHECK(wrong("127.0.0.1", 5ms) == 800ms);
  CHECK(wrong("127.0.0.1", 6ms) == 1600ms);
  for (int i = 0; i < 1000; ++i) CHECK(wrong("127.0.0.1", 7ms) == 2s);
  CHECK(wrong("127.0.0.1", 10s) == 2s);
  CHECK(wrong("127.0.0.1", 60s) == 0ms);
}

TEST_CASE("one time that passes is forgiven once", "[door]") {
  Refusals refusals({}, 2s);
  for (int i = 0; i < 100; ++i) (void)refusals.wrong_token("127.0.0.1", start);
  for (int i = 0; i < 20; ++i) CHECK(refusals.wrong_token("127.0.0.1", start + 5s) == 2s);
  for (int i = 0; i < 20; ++i) CHECK(refusals.wrong_token("127.0.0.1", start + 10s) == 2s);
}

TEST_CASE("as many addresses as there are do not take memory without end, nor are they answered sooner", "[door]") {
  Refusals refusals({}, 2s);
  for (std::size_t i = 0; i < Refusals::addresses_max; ++i) CHECK(refusals.wrong_token(std::to_string(i), start) == 0s);
  for (std::size_t i = 0; i < 5000; ++i) CHECK(refusals.wrong_token("more " + std::to_string(i), start) == 2s);
  CHECK(refusals.wrong_token("later", start + 5s) == 0s);
}

TEST_CASE("the log is told of refusals once a second, with their number", "[door]") {
  std::vector<std::string> lines;
  Refusals refusals([&](const std::string& line) { lines.push_back(line); }, 2s);
  refusals.tell(start);
  CHECK(lines.empty());
  refusals.note("127.0.0.1", "the token is not valid here", start);
  CHECK(lines == std::vector<std::string>{"refused 127.0.0.1: the token is not valid here"});
  for (int i = 0; i < 10'000; ++i) {
    (void)refusals.wrong_token("127.0.0.1", start + 10ms);
    refusals.note("127.0.0.1", "the token is not valid here", start + 10ms);
  }
  refusals.note("::1", "no Hello arrived in time", start + 20ms);
  CHECK(lines.size() == 1);
  refusals.tell(start + 990ms);
  CHECK(lines.size() == 1);
  refusals.tell(start + 1s);
  REQUIRE(lines.size() == 2);
  CHECK(
      lines[1] ==
      "refused 10001 connections before their Hello was accepted, 10000 for a wrong token; the last was ::1: no Hello "
      "arrived in time");
  refusals.tell(start + 5s);
  CHECK(lines.size() == 2);
}

TEST_CASE("a wrong token is forgiven with each second, not before it is over", "[door]") {
  const auto fourth = [](auto after) {
    Refusals refusals({}, 2s);
    for (int i = 0; i < 3; ++i) (void)refusals.wrong_token("a", start);
    return std::chrono::duration_cast<std::chrono::milliseconds>(refusals.wrong_token("a", start + after));
  };
  CHECK(fourth(999ms) == 100ms);
  CHECK(fourth(1000ms) == 0ms);
  // Of two halves of a second nothing is lost.
  Refusals refusals({}, 2s);
  for (int i = 0; i < 4; ++i) (void)refusals.wrong_token("a", start);
  CHECK(refusals.wrong_token("a", start + 1500ms) == 100ms);
  CHECK(refusals.wrong_token("a", start + 1999ms) == 200ms);
  CHECK(refusals.wrong_token("a", start + 2000ms) == 200ms);
  // After twenty doublings there is no more to forgive than twenty and the three that are free.
  for (int i = 0; i < 100; ++i) (void)refusals.wrong_token("b", start);
  CHECK(refusals.wrong_token("b", start + 20s) == 100ms);
  for (int i = 0; i < 100; ++i) (void)refusals.wrong_token("c", start);
  CHECK(refusals.wrong_token("c", start + 21s) == 0ms);
  // Nobody is forgiven for a clock that goes back.
  for (int i = 0; i < 4; ++i) (void)refusals.wrong_token("d", start);
  CHECK(refusals.wrong_token("d", start - 10s) == 200ms);
}

TEST_CASE("one refusal is told as it is, and what was told is not told again", "[door]") {
  std::vector<std::string> lines;
  Refusals refusals([&](const std::string& line) { lines.push_back(line); }, 2s);
  (void)refusals.wrong_token("a", start);
  refusals.note("a", "first", start);
  refusals.note("b", "second", start + 999ms);
  CHECK(lines.size() == 1);
  refusals.note("c", "third", start + 1000ms);
  refusals.note("d", "fourth", start + 2000ms);
  CHECK(lines == std::vector<std::string>{"refused a: first",
                                          "refused 2 connections before their Hello was accepted, 0 for a wrong token; "
                                          "the last was c: third",
                                          "refused d: fourth"});
}

}  // namespace door_refusals_test
