// Whom the log is told of when the time for a Hello is over.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "server/door/session_stream.h"
#include "tests/server/door/test_loop.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// Brings `input`, and then nothing until it is closed; keeps what is written.
class TestStream final : public WireStream {
 public:
  TestStream(TestLoop& loop, std::string input, std::string& written)
      : loop_(loop), input_(std::move(input)), written_(written) {}
  void read_some(std::span<std::byte> room, ReadDone done) override {
    pending_ = std::make_shared<ReadDone>(std::move(done));
    if (input_.empty()) return;
    const std::size_t bytes = std::min(room.size(), input_.size());
    std::memcpy(room.data(), input_.data(), bytes);
    input_.erase(0, bytes);
    loop_.post([done = std::exchange(pending_, nullptr), bytes] { (*done)({bytes, StreamRead::End::none}); });
  }
  void write(std::span<const std::byte> bytes, WriteDone done) override {
    written_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    loop_.post([done = std::make_shared<WriteDone>(std::move(done))] { (*done)(true); });
  }
  void end(Farewell) override {}
  void close() override {
    if (!pending_) return;
    loop_.post([done = std::exchange(pending_, nullptr)] { (*done)({0, StreamRead::End::broken}); });
  }
  bool is_open() const override { return true; }
  int release() override { return -1; }

 private:
  TestLoop& loop_;
  std::string input_;
  std::string& written_;
  std::shared_ptr<ReadDone> pending_;
};

/// What the log is told of a connection that says this and then nothing, in time. `http`: HTTP is spoken on that port, too.
std::vector<std::string> told_of(const std::string& said, bool http) {
  EntityRegistry registry;
  DeskHost host;
  host.wake = [] {};
  Desk desk(registry, std::move(host), {});
  std::vector<std::string> lines;
  Door door{
      desk, {}, {}, Refusals([&](const std::string& line) { lines.push_back(line); }, std::chrono::nanoseconds(0))};
  TestLoop loop;
  std::string written;
  bool ended = false;
  const auto connection =
      open_session_stream(std::make_unique<TestStream>(loop, said, written), door, loop, "here",
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
