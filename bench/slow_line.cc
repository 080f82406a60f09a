// A line that takes less than the world changes: how old what it brings is, and what waits behind that.
//
//   slow_line [BYTES_PER_SECOND [SECONDS]]     2,000,000 and 20 where not said
//
// 100,000 rows of 48 bytes, all written 20 times a second with the time: 5.6 MB a change. One session over TCP, which reads so many bytes a second and
// no more, watches all of them, and one entity by a second watch, and sends a Heartbeat twice a second. Without and with Credit.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/session_frames.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using ::bench::fail;
using ::bench::Stamped;

constexpr std::uint32_t count = 100'000;
constexpr std::uint64_t all_request = 2, one_request = 3;
constexpr std::size_t credit_bytes = 128u << 10;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct Line {
  Line(const std::string& address, const std::string& token, bool gives_credit)
      : decoder(64u << 20, true), with_credit(gives_credit) {
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    // A line holds little of what it has not brought yet.
    const int room = 64 << 10;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::bench::send_all(socket, ::bench::hello_frame(token));
  }
  ~Line() { ::close(socket); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  template <class M>
  void send(const M& message, std::uint64_t request) {
    ::bench::send_all(socket, ::bench::control_frame(message, request));
  }

  void watch(std::vector<Entity> whose, std::uint64_t request) {
    session::Follow what;
    what.world = whose.empty();
    what.entities = std::move(whose);
    what.values = true;
    what.components = {TypeTraits<Stamped>::id};
    what.rate_max = 20;
    send(what, request);
  }

  /// At most so many bytes.
  std::size_t read(std::size_t most) {
    auto room = decoder.room();
    if (room.size() > most) room = room.first(most);
    const ssize_t got = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (got <= 0) return 0;
    decoder.received(static_cast<std::size_t>(got));
    received += static_cast<std::size_t>(got);
    while (true) {
      const auto next = decoder.next();
      if (!next) fail("a frame is none");
      if (!*next) break;
      take(**next);
    }
    if (with_credit && credited < received + credit_bytes / 2)
      send(session::Credit{.through = credited = received + credit_bytes}, 0);
    return static_cast<std::size_t>(got);
  }

  void take(const WireFrame& frame) {
    const BatchView batch(frame.batch);
    const std::uint64_t now = now_ns();
    if (batch.type() == TypeTraits<session::Heartbeat>::id) {
      const auto beat = session::read<session::Heartbeat>(batch);
      beats_ms.push_back(static_cast<double>(now - beat.time_ns) / 1e6);
      return;
    }
    if (frame.header.request == all_request && state_end_ns == 0 && (frame.header.flags & frame_more) == 0)
      state_end_ns = now;
    if (batch.type() != TypeTraits<session::Values>::id) return;
    const auto values = session::read<session::Values>(batch);
    if (frame.header.request == one_request) {
      small_ns.push_back(now);
      return;
    }
    for (std::size_t i = 0; i < values.entities.size(); ++i) {
      Stamped value;
      std::memcpy(&value, &values.values[i * sizeof value], sizeof value);
      // What was shown until now was of `before`, and that until this moment.
      auto& before = shown[values.entities[i].index];
      if (before != 0 && state_end_ns != 0) ages_s.push_back(static_cast<double>(now - before) / 1e9);
      before = value.ns;
    }
  }

  int socket = -1;
  FrameDecoder decoder;
  const bool with_credit;
  std::uint64_t received = 0, credited = 0, state_end_ns = 0;
  std::vector<double> beats_ms, ages_s;
  std::vector<std::uint64_t> small_ns;
  std::unordered_map<std::uint32_t, std::uint64_t> shown;  // when the value that is shown was written
};

double share(std::vector<double>& sorted, double of) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(of * static_cast<double>(sorted.size())))];
}

void run(const Server& server, Entity one, double bytes_a_second, double seconds, bool with_credit) {
  Line line(server.address(), server.token(), with_credit);
  const std::uint64_t begun = now_ns();
  line.watch({}, all_request);
  line.watch({one}, one_request);
  std::uint64_t last_beat = begun, beats = 0;
  double allowed = 0;
  std::uint64_t before = begun;
  while (now_ns() - begun < static_cast<std::uint64_t>(seconds * 1e9)) {
    const std::uint64_t now = now_ns();
    allowed = std::min(allowed + bytes_a_second * static_cast<double>(now - before) / 1e9, bytes_a_second / 50);
    before = now;
    while (allowed >= 1) {
      const std::size_t got = line.read(static_cast<std::size_t>(allowed));
      if (got == 0) break;
      allowed -= static_cast<double>(got);
    }
    if (now - last_beat > 500'000'000) {
      last_beat = now;
      line.send(session::Heartbeat{.number = ++beats, .time_ns = now}, 9);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const double world_s = count * (sizeof(Entity) + sizeof(Stamped)) / bytes_a_second;
  std::ranges::sort(line.ages_s);
  std::ranges::sort(line.beats_ms);
  // What was never told again is as old now.
  double oldest = line.ages_s.empty() ? 0 : line.ages_s.back();
  for (const auto& [index, ns] : line.shown) oldest = std::max(oldest, static_cast<double>(now_ns() - ns) / 1e9);
  double gap = 0;
  for (std::size_t i = 1; i < line.small_ns.size(); ++i)
    gap = std::max(gap, static_cast<double>(line.small_ns[i] - line.small_ns[i - 1]) / 1e6);
  std::printf(
      "  %s credit: the state ends after %.2f of the time that the world needs on the line (%.2f s); of %zu rows %zu "
      "were told\n",
      with_credit ? "with   " : "without",
      line.state_end_ns ? static_cast<double>(line.state_end_ns - begun) / 1e9 / world_s : -1.0, world_s,
      static_cast<std::size_t>(count), line.shown.size());
  std::printf("    a value shown: half at most %.2f of that time old, 99 %% %.2f, the oldest %.2f\n",
              share(line.ages_s, 0.5) / world_s, share(line.ages_s, 0.99) / world_s, oldest / world_s);
  std::printf(
      "    one entity's watch: %.1f times a second, the longest gap %.0f ms; a Heartbeat: half %.0f ms, the longest "
      "%.0f ms of %zu\n",
      static_cast<double>(line.small_ns.size()) / seconds, gap, share(line.beats_ms, 0.5),
      line.beats_ms.empty() ? -1.0 : line.beats_ms.back(), line.beats_ms.size());
}

void remove_files() {
  for (const char* part : {"", "-wal", "-shm", "-lock", "-work"})
    std::filesystem::remove(std::string("slow_line.muster") + part);
}

}  // namespace

int main(int arguments, char** texts) {
  const double bytes_a_second = arguments > 1 ? std::atof(texts[1]) : 2e6;
  const double seconds = arguments > 2 ? std::atof(texts[2]) : 20;
  remove_files();
  {
    World world("slow_line.muster",
                [](EntityRegistry& registry) {
                  Handlers all;
                  registry.add_type<Stamped>();
                  all.add(registry.subscribe("stamp",
                                             [](const ::bench::Stamp& stamp, Stamped& value) { value.ns = stamp.ns; }));
                  return all;
                },
                {.hz = 20, .durability = Durability::checkpoint, .autosave = {}});
    const std::vector<Entity> entities = world.registry().create_many(count, Stamped{});
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.page_folder = "none";
    Server server(world, options);
    std::atomic<bool> ends = false;
    std::thread client([&] {
      std::printf("%u rows of %zu bytes, all written 20 times a second, on a line of %.1f MB/s\n", count,
                  sizeof(Stamped), bytes_a_second / 1e6);
      for (const bool with_credit : {false, true})
        run(server, entities[count / 2], bytes_a_second, seconds, with_credit);
      ends = true;
    });
    while (!ends) {
      world.next_frame();
      world.registry().push(::bench::Stamp{.ns = now_ns()});
    }
    client.join();
  }
  remove_files();
  return 0;
}
