// Whom the log is told of when the time for a Hello is over, and who is cut because it takes nothing.
#include <catch2/catch.hpp>
#include <memory>

#include "server/door/session_stream.h"
#include "tests/server/door/test_loop.h"
#include "tests/server/hand_world.h"
#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// What the log is told of a connection that says this and then nothing, in time. `http`: HTTP is spoken on that port, too.
std::vector<std::string> told_of(const std::string& said, bool http) {
  EntityRegistry registry;
  HandWorld host;
  Desk desk(registry, host, {});
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
  connection->check_times(ServedStream::Clock::now() + std::chrono::hours(1));
  loop.run();
  CHECK(written.find("no Hello arrived in time") != std::string::npos);
  connection->check_times(ServedStream::Clock::now() + std::chrono::hours(1));
  loop.run();
  CHECK(ended);
  return lines;
}

/// Its writes take as long as it is there: of what was written the client has not taken `left`.
class SlowStream final : public SilentStream {
 public:
  SlowStream(TestLoop& loop, std::string input, std::string& written, const std::size_t& left)
      : SilentStream(loop, std::move(input), written), loop_(loop), written_(written), left_(left) {}
  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    for (const auto part : parts) written_.append(reinterpret_cast<const char*>(part.data()), part.size());
    writing_ = std::make_shared<WriteDone>(std::move(done));
  }
  std::size_t unsent() override { return left_; }
  void close() override {
    SilentStream::close();
    if (writing_) loop_.post([done = std::exchange(writing_, nullptr)] { (*done)(false); });
  }

 private:
  TestLoop& loop_;
  std::string& written_;
  const std::size_t& left_;
  std::shared_ptr<WriteDone> writing_;
};

}  // namespace

TEST_CASE("a connection that a browser opened and did not need is no news, one that begins and does not go on is",
          "[door]") {
  CHECK(told_of("", true).empty());
  CHECK(told_of("", false).size() == 1);
  CHECK(told_of("GE", true).size() == 1);
  CHECK(told_of(std::string("\x30\0\0\0\0", 5), true).size() == 1);
}

TEST_CASE("who takes something now and then is not cut, however long a piece takes; who takes nothing for too long is",
          "[door]") {
  EntityRegistry registry;
  HandWorld host;
  ServerLimits limits;
  limits.silence_max = std::chrono::nanoseconds(0);
  Desk desk(registry, host, limits);
  std::vector<std::string> lines;
  Door door{desk, Users({{token, session::Role::view}}, ""), [&](const std::string& line) { lines.push_back(line); },
            Refusals({}, std::chrono::nanoseconds(0))};
  BatchBuilder builder;
  session::append(builder, hello_with());
  std::vector<std::byte> hello;
  append_frame(hello, builder.bytes(), 1);
  TestLoop loop;
  std::string written;
  std::size_t left = 1'000'000;
  bool ended = false;
  const auto connection = open_session_stream(
      std::make_unique<SlowStream>(loop, std::string(reinterpret_cast<const char*>(hello.data()), hello.size()),
                                   written, left),
      door, loop, "here", {[] {}, [&] { ended = true; }}, Divert());
  loop.run();
  REQUIRE_FALSE(written.empty());  // the Welcome
  REQUIRE(lines.size() == 1);
  auto now = ServedStream::Clock::now();
  for (int i = 0; i < 50; ++i) {
    left -= 1;
    now += limits.stall_max * 9 / 10;
    connection->check_times(now);
    loop.run();
    REQUIRE_FALSE(ended);
  }
  connection->check_times(now += limits.stall_max);
  loop.run();
  CHECK_FALSE(ended);
  CHECK(lines.size() == 1);
  connection->check_times(now += std::chrono::nanoseconds(1));
  loop.run();
  CHECK(ended);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].find("the client has accepted no data for 30 s") != std::string::npos);
}
