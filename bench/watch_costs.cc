// What it costs the world thread that tools look on, and how many bytes go to them.
//
//   watch_costs rows [ROUNDS]     100,000 rows of 32 bytes, then of 4, all written 60 times a second: nobody watches; one watch of the whole world at 20 Hz;
//                                 200 watches of 1,000 entities each. Beside a memcpy of the watched columns
//   watch_costs battle [ROUNDS]   the demo of 20,000 entities: one watch of the whole world after every tick, the same beside 49 plain lines on which a
//                                 loop sends as much as 49 more watches would, 50 watches, and 50 that do not read
//
// Of watches at 20 Hz also how long the longest of them was told nothing, and of those that do not read how much waits for each.
//
// Processor time of the world thread; phases follow one another in rounds, every other round backwards, because the world goes on and
// its ticks do not stay alike. The medians of the rounds are printed, and of two phases the median of what each round says of them. Clients
// are read by a thread of this program; in the battle it throws away what came, because clients are mostly on other machines, and
// what they do with it would cost this one its caches.
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/session_frames.h"
#include "examples/skirmish/skirmish.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "schema/skirmish.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using ::bench::fail;
using Clock = std::chrono::steady_clock;

constexpr double due_hz = 20, hz = 60;

double cpu_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Of what each round says of two phases.
double middle_ratio(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
  return middle(std::move(ratios));
}

/// A connection that watches.
struct Viewer {
  Viewer(const std::string& path, const std::string& token) : decoder(64u << 20, true) {
    socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
    ::bench::send_all(socket, ::bench::hello_frame(token));
  }
  ~Viewer() { ::close(socket); }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  template <class M>
  void send(const M& message, std::uint64_t request) {
    ::bench::send_all(socket, ::bench::control_frame(message, request));
  }
  /// What has come is counted and thrown away.
  void throw_away(std::span<char> into) {
    const ssize_t got = ::recv(socket, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) received += static_cast<std::uint64_t>(got);
  }
  /// What has come. Rows of values are counted, and the bytes of frames with such.
  void read() {
    const auto room = decoder.room();
    const ssize_t got = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    decoder.received(static_cast<std::size_t>(got));
    received += static_cast<std::uint64_t>(got);
    while (true) {
      const auto next = decoder.next();
      if (!next) fail("a frame is none");
      if (!*next) return;
      const BatchView batch((*next)->batch);
      if (batch.type() == TypeTraits<session::Sessions>::id) {
        const auto sessions = session::read<session::Sessions>(batch);
        for (std::size_t i = 0; i < sessions.sessions.size(); ++i)
          waiting_bytes = std::max(waiting_bytes, sessions.answer_bytes[i] + sessions.watch_bytes[i]);
        asked = false;
      }
      if (batch.type() != TypeTraits<session::Values>::id) continue;
      tell((*next)->header.request);
      const auto values = session::read<session::Values>(batch);
      rows += values.entities.size();
      bytes += frame_overhead_max + (*next)->batch.size();
    }
  }

  void tell(std::uint64_t watch) {
    const auto now = Clock::now();
    if (const auto [at, is_first] = told.emplace(watch, now); !is_first) {
      if (now - at->second > std::chrono::milliseconds(5))  // else it is the rest of one look
        gaps_ms.push_back(std::chrono::duration<double, std::milli>(now - at->second).count());
      at->second = now;
    }
  }

  int socket = -1;
  FrameDecoder decoder;
  std::uint64_t rows = 0, bytes = 0, waiting_bytes = 0;
  std::atomic<std::uint64_t> received = 0;
  bool asked = false;
  std::unordered_map<std::uint64_t, Clock::time_point> told;  // by watch: when it was told last
  std::vector<double> gaps_ms;
};

/// Connections and a thread that reads them.
class Viewers {
 public:
  ~Viewers() { stop(); }
  Viewer& add(const Server& server) {
    return *all_.emplace_back(std::make_unique<Viewer>(server.unix_path(), server.token()));
  }
  void read(bool looks) {
    thread_ = std::thread([this, looks] {
      std::vector<char> thrown_away(64u << 10);
      std::vector<pollfd> polled;
      for (const auto& viewer : all_) polled.push_back({viewer->socket, POLLIN, 0});
      while (!ends_) {
        if (::poll(polled.data(), polled.size(), 50) <= 0) continue;
        for (std::size_t i = 0; i < polled.size(); ++i)
          if (polled[i].revents != 0) looks ? all_[i]->read() : all_[i]->throw_away(thrown_away);
      }
    });
  }
  /// Reads no more.
  void stop() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::vector<double> gaps_ms() const {
    std::vector<double> all;
    for (const auto& viewer : all_) all.insert(all.end(), viewer->gaps_ms.begin(), viewer->gaps_ms.end());
    return all;
  }
  std::size_t count() const { return all_.size(); }
  std::uint64_t rows() const { return sum(&Viewer::rows); }
  std::uint64_t bytes() const { return sum(&Viewer::bytes); }
  std::uint64_t received() const {
    std::uint64_t all = 0;
    for (const auto& viewer : all_) all += viewer->received;
    return all;
  }

 private:
  std::uint64_t sum(std::uint64_t Viewer::* of) const {
    std::uint64_t all = 0;
    for (const auto& viewer : all_) all += (*viewer).*of;
    return all;
  }
  std::atomic<bool> ends_ = false;
  std::vector<std::unique_ptr<Viewer>> all_;
  std::thread thread_;
};

/// What any program pays where so many bytes go over this machine's sockets: each line's are written into a buffer of its own, 60 times a
/// second, sent, and read by another thread.
class PlainLines {
 public:
  PlainLines(std::size_t count, std::size_t bytes) {
    if (count == 0 || bytes == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
      lines_.push_back({ends[0], ends[1], std::vector<char>(bytes), std::vector<char>(256u << 10)});
    }
    sends_ = std::thread([this] {
      const std::vector<char> told(lines_.front().out.size(), 1);
      auto next = Clock::now();
      while (!ends_) {
        for (Line& line : lines_) {
          line.out = told;
          for (std::size_t at = 0; at < line.out.size();) {
            const ssize_t sent = ::send(line.from, line.out.data() + at, line.out.size() - at, MSG_NOSIGNAL);
            if (sent <= 0) fail("send");
            at += static_cast<std::size_t>(sent);
          }
        }
        std::this_thread::sleep_until(next += std::chrono::microseconds(16'667));
      }
      for (Line& line : lines_) ::shutdown(line.from, SHUT_WR);
    });
    reads_ = std::thread([this] {
      std::vector<pollfd> polled;
      for (const Line& line : lines_) polled.push_back({line.to, POLLIN, 0});
      for (std::size_t open = lines_.size(); open > 0;) {
        ::poll(polled.data(), polled.size(), -1);
        for (std::size_t i = 0; i < polled.size(); ++i)
          if (polled[i].revents != 0 && ::recv(polled[i].fd, lines_[i].in.data(), lines_[i].in.size(), 0) <= 0) {
            polled[i].fd = -1;
            --open;
          }
      }
    });
  }
  ~PlainLines() {
    ends_ = true;
    if (sends_.joinable()) sends_.join();
    if (reads_.joinable()) reads_.join();
    for (const Line& line : lines_) ::close(line.from), ::close(line.to);
  }
  PlainLines(const PlainLines&) = delete;
  PlainLines& operator=(const PlainLines&) = delete;

 private:
  struct Line {
    int from, to;
    std::vector<char> out, in;
  };
  std::vector<Line> lines_;
  std::atomic<bool> ends_ = false;
  std::thread sends_, reads_;
};

struct Phase {
  const char* name;
  std::function<void(Viewers&, const Server&)> open;
  bool reads = true;
  bool looks = true;
  std::size_t plain_lines = 0;       // beside it, each with what `received_a_tick` of the next phase was
  std::size_t received_a_tick = 0;   // of one connection
  std::vector<double> tick_ms = {};  // the mean of each round
  double bytes_a_row = 0;
  std::vector<double> gaps_ms = {};  // from one telling of a watch to the next
  std::uint64_t waiting_bytes = 0;   // of the session for which most waits
};

/// Of the sessions for which anything waits to be sent, the most.
std::uint64_t most_waiting(World& world, const Server& server) {
  Viewer asks(server.unix_path(), server.token());
  asks.send(session::ListSessions{}, 9);
  asks.asked = true;
  while (asks.asked) {
    world.next_frame();
    asks.read();
  }
  return asks.waiting_bytes;
}

/// Runs the phases in turns; `tick` is what the world does besides.
void run(World& world, Server& server, std::vector<Phase>& phases, int rounds, const std::function<void()>& tick) {
  for (int round = -1; round < rounds; ++round)
    for (std::size_t nth = 0; nth < phases.size(); ++nth) {
      Phase& phase = phases[round % 2 == 0 ? nth : phases.size() - 1 - nth];
      Viewers viewers;
      phase.open(viewers, server);
      if (phase.reads) viewers.read(phase.looks);
      const PlainLines plain(phase.plain_lines, phase.plain_lines > 0 ? (&phase)[1].received_a_tick : 0);
      const int ticks = 120, warm = 120;  // in which the watches have told their states
      double before = 0;
      std::uint64_t received_before = 0;
      for (int i = -warm; i < ticks; ++i) {
        if (i == 0) before = cpu_ms(), received_before = viewers.received();
        world.next_frame();
        tick();
      }
      const double each = (cpu_ms() - before) / ticks;
      viewers.stop();
      if (viewers.count() > 0)
        phase.received_a_tick = (viewers.received() - received_before) / (ticks * viewers.count());
      const std::uint64_t waiting = most_waiting(world, server);
      phase.waiting_bytes = std::max(phase.waiting_bytes, waiting);
      if (round < 0) continue;
      phase.tick_ms.push_back(each);
      if (viewers.rows() > 0)
        phase.bytes_a_row = static_cast<double>(viewers.bytes()) / static_cast<double>(viewers.rows());
      const std::vector<double> gaps = viewers.gaps_ms();
      phase.gaps_ms.insert(phase.gaps_ms.end(), gaps.begin(), gaps.end());
    }
}

/// The limit: a plain array, all of whose rows are written in each tick, and copied for another thread to read in every third. ms of a
/// due tick that the copy takes, of the thread that writes.
double copy_ms(std::size_t bytes, std::size_t row) {
  std::vector<char> rows(bytes), copy(bytes);
  std::atomic<int> copied = 0;
  std::atomic<bool> ends = false;
  std::thread reader([&] {
    long sum = 0;
    for (int seen = 0; !ends;) {
      if (copied == seen) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        continue;
      }
      seen = copied;
      for (const char each : copy) sum += each;
      asm volatile("" : : "r"(sum));
    }
  });
  double used[2] = {};
  const int ticks = 120;
  for (const bool copies : {false, true}) {
    auto next = std::chrono::steady_clock::now();
    for (int i = 0; i < ticks; ++i) {
      std::this_thread::sleep_until(next += std::chrono::microseconds(16'667));
      const double before = cpu_ms();
      for (std::size_t at = 0; at < bytes; at += row) ++rows[at];
      if (copies && i % 3 == 0) {
        std::memcpy(copy.data(), rows.data(), bytes);
        ++copied;
      }
      used[copies] += cpu_ms() - before;
    }
  }
  ends = true;
  reader.join();
  return (used[1] - used[0]) / (ticks / 3);
}

ServerOptions listening(const char* path) {
  ServerOptions options;
  options.listen = "";
  options.unix_path = path;
  options.page_folder = "none";
  return options;
}

session::Follow whole_world(TypeId component, double rate) {
  session::Follow what;
  what.world = what.values = true;
  what.components = {component};
  what.rate_max = static_cast<float>(rate);
  return what;
}

/// How long watches were told nothing: of 20 Hz beside ticks of 60 Hz 50 ms, or a tick more.
void print_gaps(std::vector<double> gaps_ms) {
  if (gaps_ms.empty()) return;
  std::ranges::sort(gaps_ms);
  const auto part = [&](double of_all) {
    return gaps_ms[static_cast<std::size_t>(of_all * static_cast<double>(gaps_ms.size() - 1))];
  };
  const auto late = std::ranges::count_if(gaps_ms, [](double ms) { return ms > 2e3 / due_hz; });
  std::printf(
      "    told again after: half %.0f ms, 99 %% %.0f, longest %.0f; %.2f %% of %zu after more than two due times\n",
      part(0.5), part(0.99), gaps_ms.back(), 100.0 * static_cast<double>(late) / static_cast<double>(gaps_ms.size()),
      gaps_ms.size());
}

template <class Component>
int rows(const char* name, int rounds) {
  constexpr std::uint32_t count = 100'000, watches = 200, each = 1000, sessions = 4;
  World world("watch_costs.muster",
              [](EntityRegistry& registry) {
                Handlers all;
                registry.add_type<Component>();
                all.add(registry.subscribe("push", [](const ::bench::Push1& push, Component& value) {
                  float& first = *reinterpret_cast<float*>(&value);
                  first += push.amount;
                }));
                return all;
              },
              {.hz = hz, .durability = Durability::checkpoint, .autosave = {}});
  const std::vector<Entity> entities = world.registry().create_many(count, Component{});
  Server server(world, listening("watch_costs.sock"));
  constexpr TypeId component = TypeTraits<Component>::id;
  std::vector<Phase> phases;
  phases.push_back({.name = "nobody watches", .open = [](Viewers&, const Server&) {}});
  phases.push_back({.name = "one watch of the whole world", .open = [](Viewers& viewers, const Server& to) {
                      viewers.add(to).send(whole_world(component, due_hz), 2);
                    }});
  phases.push_back({.name = "200 watches of 1,000 entities", .open = [&](Viewers& viewers, const Server& to) {
                      for (std::uint32_t i = 0; i < sessions; ++i) {
                        Viewer& viewer = viewers.add(to);
                        for (std::uint32_t w = 0; w < watches / sessions; ++w) {
                          session::Follow what = whole_world(component, due_hz);
                          what.world = false;
                          const std::uint32_t nth = i * watches / sessions + w;
                          for (std::uint32_t k = 0; k < each; ++k)
                            what.entities.push_back(entities[(nth * 487 + k * (nth % 7 + 1)) % count]);
                          viewer.send(what, 2 + w);
                        }
                      }
                    }});
  run(world, server, phases, rounds,
      [&] { world.registry().push(std::span<const Entity>(entities), ::bench::Push1{.amount = 1}); });
  std::vector<double> copies;
  for (int i = 0; i < rounds; ++i) copies.push_back(copy_ms(count * sizeof(Component), sizeof(Component)));
  const double copy = middle(copies), base = middle(phases[0].tick_ms);
  std::printf("%s, %zu bytes: a memcpy of %u rows %.3f ms; a tick without watches %.3f ms\n", name, sizeof(Component),
              count, copy, base);
  for (std::size_t i = 1; i < phases.size(); ++i) {
    const double tick = middle(phases[i].tick_ms), due = (tick - base) * hz / due_hz;
    std::printf(
        "  %-32s a tick %.3f ms (%.2f of one watch's); a due tick %+.3f ms, %.2f memcpy; %.2f x (id + value) bytes\n",
        phases[i].name, tick, middle_ratio(phases[i].tick_ms, phases[1].tick_ms), due, due / copy,
        phases[i].bytes_a_row / static_cast<double>(sizeof(Entity) + sizeof(Component)));
    print_gaps(phases[i].gaps_ms);
  }
  return 0;
}

int battle(int rounds) {
  World world("watch_costs.muster", skirmish::install,
              {.hz = hz, .durability = Durability::checkpoint, .autosave = {}});
  skirmish::define_squads(world.registry());
  world.registry().push(skirmish::Deploy{.entities = 20'000, .distance = 90});
  Server server(world, listening("watch_costs.sock"));
  const auto open = [](int count) {
    return [count](Viewers& viewers, const Server& to) {
      for (int i = 0; i < count; ++i) {
        session::Follow what;
        what.world = what.values = true;
        viewers.add(to).send(what, 2);
      }
    };
  };
  std::vector<Phase> phases;
  phases.push_back({.name = "nobody watches", .open = open(0), .looks = false});
  phases.push_back({.name = "one watch of the whole world", .open = open(1), .looks = false});
  phases.push_back({.name = "the same beside 49 plain lines", .open = open(1), .looks = false, .plain_lines = 49});
  phases.push_back({.name = "50 watches", .open = open(50), .looks = false});
  phases.push_back({.name = "50 that do not read", .open = open(50), .reads = false, .looks = false});
  run(world, server, phases, rounds, [&] { world.registry().push(Update{.dt = 1.0f / 60}); });
  for (const Phase& phase : phases) {
    const auto beside = [&](std::size_t other) { return middle_ratio(phase.tick_ms, phases[other].tick_ms); };
    std::printf(
        "  %-31s a tick %.3f ms, %.2f of one watch's, %.2f of one's beside plain lines, %.2f of 50 that read; a "
        "connection "
        "brings %zu KiB a tick; at most %.2f MiB wait for one\n",
        phase.name, middle(phase.tick_ms), beside(1), beside(2), beside(3), phase.received_a_tick >> 10,
        static_cast<double>(phase.waiting_bytes) / (1 << 20));
  }
  return 0;
}

void remove_files() {
  for (const char* part : {"", "-wal", "-shm", "-lock", "-work"})
    std::filesystem::remove(std::string("watch_costs.muster") + part);
  std::filesystem::remove("watch_costs.sock");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  const int rounds = count > 2 ? std::max(1, std::atoi(arguments[2])) : 9;
  remove_files();
  int result = 2;
  if (what == "rows") {
    result = rows<::bench::Turned>("a place and a turn", rounds);
    remove_files();
    result |= rows<::bench::Level>("a level", rounds);
  } else if (what == "battle") {
    result = battle(rounds);
  } else {
    std::fprintf(stderr, "usage: watch_costs rows|battle [ROUNDS]\n");
  }
  remove_files();
  return result;
}
