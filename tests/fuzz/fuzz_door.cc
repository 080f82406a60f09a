// What a stranger may send to the port, before and up to its Hello: frames or HTTP, an upgrade, and what follows it. No byte makes
// the door crash, wait for ever or let somebody in without the token, and answers are frames or HTTP, as the first bytes asked.
//
//   input   | pieces: 1 byte, bit 7: a WebSocket was opened already | stream ... |
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/desk/asked_figures.h"
#include "server/door/http_connection.h"
#include "server/door/session_protocol.h"
#include "server/door/session_stream.h"
#include "tests/server/door/test_loop.h"
#include "tests/server/hand_world.h"

namespace {

using namespace muster;
using namespace muster::testing;

constexpr std::string_view token = "the token of this door";

struct Wire {
  std::span<const std::uint8_t> input;
  std::size_t piece = 1;
  std::string written;
  bool closed = false, upgraded = false;
};

class TestStream final : public WireStream {
 public:
  TestStream(TestLoop& loop, Wire& wire) : loop_(loop), wire_(wire) {}
  void read_some(std::span<std::byte> room, ReadDone done) override {
    if (room.empty()) std::abort();
    auto kept = std::make_shared<ReadDone>(std::move(done));
    loop_.post([&wire = wire_, room, kept] {
      if (wire.closed) return (*kept)({0, StreamRead::End::broken});
      const std::size_t bytes = std::min({wire.piece, room.size(), wire.input.size()});
      if (bytes == 0) return (*kept)({0, StreamRead::End::ended});
      std::copy_n(std::as_bytes(wire.input).begin(), bytes, room.begin());
      wire.input = wire.input.subspan(bytes);
      (*kept)({bytes, StreamRead::End::none});
    });
  }
  void write(std::span<const std::span<const std::byte>> all, WriteDone done) override {
    auto kept = std::make_shared<WriteDone>(std::move(done));
    loop_.post([&wire = wire_, parts = std::vector(all.begin(), all.end()), kept] {
      for (const auto part : parts)
        if (!wire.closed) wire.written.append(reinterpret_cast<const char*>(part.data()), part.size());
      (*kept)(!wire.closed);
    });
  }
  void end(Farewell) override {}
  void close() override { wire_.closed = true; }
  std::size_t unsent() override { return 0; }
  bool is_open() const override { return !wire_.closed; }

 private:
  TestLoop& loop_;
  Wire& wire_;
};

/// A world that nobody moves but who pumps it, and its door.
struct World {
  EntityRegistry registry;
  testing::HandWorld world;
  Desk desk{registry, world, {}};
  Door door{
      desk, Users({{std::string(token), session::Role::view}}, ""), {}, Refusals({}, std::chrono::nanoseconds(0))};

  void pump() {
    desk.before_flush();
    registry.flush();
    desk.after_flush(registry);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static World world;
  TestLoop loop;
  Wire wire{{data + 1, size - 1}, 1 + (data[0] & 0x7fu), {}, false, false};
  const Site site{
      {},
      WorldFiles("", ""),
      7717,
      [](std::string_view offered) { return offered == token; },
      asked_figures(world.desk, [&](auto time, auto then) { loop.call_in(time, std::move(then)); }, [] { return 1u; })};
  HttpHost http{world.desk.limits(), world.door.refusals, loop, site.rules(),
                [&](const HttpRequest& request, const RequestSource& source) { return site.reply(request, source); }};
  std::shared_ptr<ServedStream> connection;
  bool known = false, ended = false;
  const auto events = [&] { return ServedStreamEvents{[&] { known = true; }, [&] { ended = true; }}; };
  const auto upgrade = [&](std::unique_ptr<WireStream> stream, const WebHandshake& asked, const std::string&) {
    if (asked.host.empty()) std::abort();
    wire.upgraded = true;
    wire.written.clear();  // what was answered before
    connection = open_session_stream(std::move(stream), world.door, loop, "web", events(), nullptr);
  };
  Divert divert = [&](std::unique_ptr<WireStream> stream, const std::vector<std::byte>& came) {
    if (came.size() < 4) std::abort();
    connection = open_http_connection(std::move(stream), http, "127.0.0.1", came, events(), upgrade);
  };
  if ((data[0] & 0x80) != 0) divert = nullptr;
  connection = open_session_stream(std::make_unique<TestStream>(loop, wire), world.door, loop, "fuzz", events(),
                                   std::move(divert));
  std::size_t steps = 0;
  while (!ended) {
    if (!loop.step()) {  // the world has not answered yet, or the other side is silent
      world.pump();
      if (!loop.step()) connection->check_times(ServedStream::Clock::now() + std::chrono::hours(1));
    }
    if (++steps > 1'000'000) std::abort();
  }
  const bool had_token =
      std::string_view(reinterpret_cast<const char*>(data), size).find(token) != std::string_view::npos;
  if (world.desk.sessions() > 0 && !had_token) std::abort();
  if (wire.upgraded && wire.written.size() % 16 != 0) std::abort();
  connection.reset();
  loop.run();
  for (int i = 0; i < 100 && world.desk.sessions() > 0; ++i) world.pump();
  if (world.desk.sessions() != 0) std::abort();
  return 0;
}
