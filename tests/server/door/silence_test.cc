// Whom the log is told of when the time for a Hello is over.
#include <catch2/catch.hpp>
#include <memory>

#include "server/door/session_stream.h"
#include "tests/server/door/test_loop.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// What the log is told of a connection that says this and then nothing, in time. `http`: HTTP is spoken on that port, too.
std::vector<std::string> told_of(const std::string& said, bool http) {
  EntityRegistry registry;
  DeskHost host;
  host.wake = [] {};
  Desk desk(registry, std::move(host), {});
  std::vector<std::string> lines;
  Door door{desk,
            Users({}, ""),
            {},
            Refusals([&](const std::string& line) { lines.push_back(line); }, std::chrono::nanoseconds(0))};
  TestLoop loop;
  std::string written;
  bool ended = false;
  const auto connection =
      open_session_stream(std::make_unique<SilentStream>(loop, said, written), door, loop, "here",
                          {[] {}, [&] { ended = true; }}, http ? Divert([](auto&&...) {}) : Divert());
  loop.run();
  connection->check_times(Connection::Clock::now() + std::chrono::hours(1));
  loop.run();
  CHECK(written.find("no Hello came in time") != std::string::npos);
  connection->check_times(Connection::Clock::now() + std::chrono::hours(1));
  loop.run();
  CHECK(ended);
  return lines;
}

}  // namespace

TEST_CASE("a connection that a browser opened and did not need is no news, one that begins and does not go on is",
          "[door]") {
  CHECK(told_of("", true).empty());
  CHECK(told_of("", false).size() == 1);
  CHECK(told_of("GE", true).size() == 1);
  CHECK(told_of(std::string("\x30\0\0\0\0", 5), true).size() == 1);
}
