// How a session's frames go out where a stream takes writes at once.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "server/door/session_stream.h"
#include "tests/server/door/test_loop.h"
#include "tests/server/hand_world.h"
#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// Takes every write at once, where it is asked to; counts both kinds.
class QuickStream final : public SilentStream {
 public:
  struct Counts {
    int at_once = 0, written = 0;
  };
  QuickStream(TestLoop& loop, std::string input, std::string& written, Counts& counts)
      : SilentStream(loop, std::move(input), written), written_(written), counts_(counts) {}
  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    ++counts_.written;
    SilentStream::write(parts, std::move(done));
  }
  bool write_at_once(std::span<const std::span<const std::byte>> parts) override {
    ++counts_.at_once;
    for (const auto part : parts) written_.append(reinterpret_cast<const char*>(part.data()), part.size());
    return true;
  }

 private:
  std::string& written_;
  Counts& counts_;
};

std::string frame_of(const auto& message, std::uint64_t request) {
  BatchBuilder builder;
  session::append(builder, message);
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), request);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

}  // namespace

TEST_CASE("an answer goes at once; of much that waits one piece does in a turn of the loop, however fast it goes",
          "[door]") {
  EntityRegistry registry;
  registry.create_many(50'000, arena::Health{});
  HandWorld host;
  Desk desk(registry, host, {});
  Door door{desk, Users({{token, session::Role::view}}, ""), {}, Refusals({}, std::chrono::nanoseconds(0))};
  session::Follow all;
  all.world = all.values = true;
  TestLoop loop;
  std::string written;
  QuickStream::Counts counts;
  bool ended = false;
  const auto connection = open_session_stream(
      std::make_unique<QuickStream>(loop, frame_of(hello_with(), 1) + frame_of(all, 2), written, counts), door, loop,
      "here", {[] {}, [&] { ended = true; }}, Divert());
  loop.run();
  CHECK(counts.at_once == 1);  // Welcome
  CHECK(counts.written == 0);
  const std::size_t welcome = written.size();
  for (int flush = 0; flush < 100; ++flush) {
    desk.before_flush();
    registry.flush();
    desk.after_flush(registry);
    for (bool more = true; more;) {
      const int before = counts.at_once;
      more = loop.step();
      CHECK(counts.at_once <= before + 1);
    }
  }
  CHECK(written.size() - welcome > 400'000);
  CHECK(counts.written > 0);
  connection->stop();
  loop.run();
  connection->check_times(ServedStream::Clock::now() + std::chrono::hours(1));
  loop.run();
  CHECK(ended);
}
