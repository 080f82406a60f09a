// How many messages of 16 bytes a second one connection brings into a world over TCP, each checked and handled, beside a bare loop that
// receives the same bytes and looks at none of them.
//
//   wire_rate [ROUNDS]     11 rounds, in turns: frames of 1,000 messages, and frames of one; prints messages a second and the median of
//                          the rounds' ratios to the bare loop
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
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
using ::bench::connect_to, ::bench::fail, ::bench::middle;
using Clock = std::chrono::steady_clock;

void send_whole(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t took = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (took <= 0) fail("send");
    sent += static_cast<std::size_t>(took);
  }
}

/// `messages` of them, to the entities one after another, so many to a frame. Nobody waits for answers to them.
std::string frames_of(std::span<const Entity> entities, std::size_t messages, std::size_t to_a_frame) {
  std::vector<std::byte> frames;
  BatchBuilder builder;
  for (std::size_t at = 0; at < messages;) {
    builder.clear();
    for (std::size_t i = 0; i < to_a_frame; ++i, ++at)
      builder.append(entities[at % entities.size()], ::bench::Shove{.x = 1, .y = 2, .z = 3, .w = 4});
    append_frame(frames, builder.bytes(), 0);
  }
  return {reinterpret_cast<const char*>(frames.data()), frames.size()};
}

/// Receives and drops, and answers with one byte each time that `bytes` have come.
class Drain {
 public:
  Drain() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listening_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(listening_, 1) != 0)
      fail("listen");
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    draining_ = std::thread([this] {
      const int client = ::accept(listening_, nullptr, nullptr);
      std::vector<char> room(256u << 10);
      for (std::size_t came = 0;;) {
        const ssize_t got = ::recv(client, room.data(), room.size(), 0);
        if (got <= 0) break;
        came += static_cast<std::size_t>(got);
        if (came < bytes) continue;
        came = 0;
        ::bench::send_all(client, "a");
      }
      ::close(client);
    });
  }
  ~Drain() {
    draining_.join();
    ::close(listening_);
  }
  std::uint16_t port = 0;
  std::atomic<std::size_t> bytes = 0;

 private:
  const int listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::thread draining_;
};

/// What comes, frame by frame, until one under `request`.
void await(int socket, FrameDecoder& decoder, std::uint64_t request) {
  while (true) {
    const auto next = decoder.next();
    if (!next) fail("a frame is none");
    if (*next) {
      if ((*next)->header.request == request) return;
      continue;
    }
    const auto room = decoder.room();
    const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
    if (got <= 0) fail("receive");
    decoder.received(static_cast<std::size_t>(got));
  }
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void take_turns(const std::vector<Entity>& entities, Drain& drain, std::uint16_t port, const std::string& token,
                int rounds) {
  const int bare = connect_to(drain.port), session = connect_to(port);
  FrameDecoder decoder(1u << 20, true);
  send_whole(session, ::bench::hello_frame(token));
  await(session, decoder, 1);
  struct Kind {
    std::size_t to_a_frame, messages;
    double goal;
  };
  for (const Kind kind : {Kind{1000, 2'000'000, 0.3}, Kind{1, 500'000, 0.2}}) {
    const std::string frames = frames_of(entities, kind.messages, kind.to_a_frame);
    const std::string asked =
        frames + ::bench::control_frame(session::GetClock{}, 2);  // answered when all before it is handled
    drain.bytes = frames.size();
    std::vector<double> bare_s, session_s, ratios;
    for (int round = -2; round < rounds; ++round) {
      auto begin = Clock::now();
      send_whole(bare, frames);
      ::bench::receive(bare, 1);
      const double of_bare = seconds_since(begin);
      begin = Clock::now();
      send_whole(session, asked);
      await(session, decoder, 2);
      const double of_session = seconds_since(begin);
      if (round < 0) continue;  // warms up
      bare_s.push_back(of_bare), session_s.push_back(of_session), ratios.push_back(of_bare / of_session);
    }
    const auto millions = [&](const std::vector<double>& s) {
      return static_cast<double>(kind.messages) / middle(s) / 1e6;
    };
    std::printf(
        "%4zu to a frame, %5.1f bytes each: bare loop %6.1f M/s, checked and handled %6.2f M/s, %.2f x (goal: %.1f "
        "x)\n",
        kind.to_a_frame, static_cast<double>(frames.size()) / static_cast<double>(kind.messages), millions(bare_s),
        millions(session_s), middle(ratios), kind.goal);
  }
  ::close(bare), ::close(session);
}

int measure(int rounds) {
  const std::string folder = std::filesystem::temp_directory_path() / ("wire-rate-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::string wrong;
  {
    std::uint64_t handled = 0;
    World world(
        folder + "/w.muster",
        [&](EntityRegistry& registry) {
          Handlers all;
          registry.add_type<::bench::Position>();
          all.add(registry.subscribe("shove", [&handled](const ::bench::Shove& shove, ::bench::Position& position) {
            position.x += shove.x;
            ++handled;
          }));
          return all;
        },
        {.durability = Durability::checkpoint, .autosave = {}});
    const std::vector<Entity> entities = world.registry().create_many(10'000, ::bench::Position{});
    Server server(world, {.listen = "127.0.0.1:0", .page_folder = "none"});
    const auto port = static_cast<std::uint16_t>(std::stoul(server.address().substr(server.address().rfind(':') + 1)));
    Drain drain;
    std::thread client([&] {
      try {
        take_turns(entities, drain, port, server.token(), rounds);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "wire_rate: %s\n", error.what());
        std::_Exit(2);  // the bare loop waits for its client
      }
      world.stop();
    });
    while (world.next_frame()) {
    }
    client.join();
    server.stop();
    const auto all = static_cast<std::uint64_t>(rounds + 2) * 2'500'000;
    if (handled != all) wrong = std::to_string(handled) + " of " + std::to_string(all) + " were handled";
  }
  std::filesystem::remove_all(folder);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "wire_rate: %s\n", wrong.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) { return measure(count > 1 ? std::max(1, std::atoi(arguments[1])) : 11); }
