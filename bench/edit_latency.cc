// How long an edit waits for its Ack, over a socket and over a WebSocket, beside a bare loop that does no more than such a server
// must: one thread reads, another one has the message for a moment, the first one writes the answer.
//
//   edit_latency [ROUNDS]     40 rounds of 250 of each, in turns; prints microseconds and, to the bare loop, the median of the
//                             rounds' ratios. Fails where a WebSocket's median takes more than 1.5 times as long.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "schema/hash.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using ::bench::Bare, ::bench::connect_to, ::bench::fail, ::bench::middle, ::bench::receive, ::bench::send_all;
using Clock = std::chrono::steady_clock;

std::string frame_of(std::span<const std::byte> batch, std::uint64_t request) {
  std::vector<std::byte> frame;
  append_frame(frame, batch, request);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

/// As a client sends it in a WebSocket's message of less than 64 KiB.
std::string message_of(const std::string& frame) {
  std::string message = "\x82\xfe";
  message += static_cast<char>(frame.size() >> 8);
  message += static_cast<char>(frame.size());
  const char mask[4] = {1, 2, 3, 4};
  message.append(mask, 4);
  for (std::size_t i = 0; i < frame.size(); ++i) message += static_cast<char>(frame[i] ^ mask[i % 4]);
  return message;
}

std::string hello(const std::string& token) {
  session::Hello made;
  made.protocol = session::protocol_newest;
  made.protocol_oldest = session::protocol_oldest;
  made.token = token;
  BatchBuilder builder;
  session::append(builder, made);
  return frame_of(builder.bytes(), 1);
}

/// Reads whole frames, in messages or not, until the Welcome has come.
void receive_welcome(int socket, bool in_messages) {
  char room[4096];
  std::size_t came = 0, wanted = in_messages ? 4 : 16;
  while (came < wanted) {
    const ssize_t got = ::recv(socket, room + came, std::min(wanted - came, sizeof room - came), 0);
    if (got <= 0) fail("no Welcome");
    came += static_cast<std::size_t>(got);
    if (in_messages && came == 4)
      wanted = 4 + (static_cast<unsigned char>(room[2]) << 8 | static_cast<unsigned char>(room[3]));
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, room, sizeof bytes);
    if (!in_messages && came >= 16) wanted = bytes;
  }
}

int open_socket_session(std::uint16_t port, const std::string& token) {
  const int made = connect_to(port);
  send_all(made, hello(token));
  receive_welcome(made, false);
  return made;
}

int open_web_session(std::uint16_t port, const std::string& token) {
  const int made = connect_to(port);
  send_all(made, "GET /session HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                     "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  std::string head;
  char letter = 0;
  while (!head.ends_with("\r\n\r\n")) {
    if (::recv(made, &letter, 1, 0) != 1) fail("no answer to the upgrade");
    head += letter;
  }
  send_all(made, message_of(hello(token)));
  receive_welcome(made, true);
  return made;
}

/// Sends and waits, `times` times. Microseconds of the median.
double median_us(int socket, const std::string& asked, std::size_t answer_bytes, int times) {
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const auto begin = Clock::now();
    send_all(socket, asked);
    receive(socket, answer_bytes);
    took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return middle(std::move(took));
}

int measure(int rounds) {
  const std::string folder = std::filesystem::temp_directory_path() / ("edit-latency-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  double web_ratio = 0;
  {
    World world(folder + "/w.muster", [](EntityRegistry& registry) {
      registry.add_type<bench::Position>();
      return Handlers{};
    });
    const Entity entity = world.registry().create("edited", bench::Position{});
    Server server(world, {.listen = "127.0.0.1:0", .page_folder = "none"});
    const auto port = static_cast<std::uint16_t>(std::stoul(server.address().substr(server.address().rfind(':') + 1)));
    SetField edit{};
    edit.component = TypeTraits<bench::Position>::id;
    edit.field = hash32("x");
    edit.bytes = 4;
    BatchBuilder builder;
    builder.append(entity, edit);
    const std::string frame = frame_of(builder.bytes(), 7), message = message_of(frame);
    constexpr std::size_t ack_bytes = 80;  // docs/protocol.md
    Bare bare(message.size(), ack_bytes + 2);
    std::atomic<bool> done = false;
    std::string wrong;
    std::thread client([&] {
      try {
        const int bare_socket = connect_to(bare.port), web = open_web_session(port, server.token()),
                  plain = open_socket_session(port, server.token());
        std::vector<double> bare_us, plain_us, web_us, plain_ratios, web_ratios;
        constexpr int times = 250;
        for (int round = -2; round < rounds; ++round) {
          const double each_bare = median_us(bare_socket, message, ack_bytes + 2, times);
          const double each_plain = median_us(plain, frame, ack_bytes, times);
          const double each_web = median_us(web, message, ack_bytes + 2, times);
          if (round < 0) continue;  // warms up
          bare_us.push_back(each_bare), plain_us.push_back(each_plain), web_us.push_back(each_web);
          plain_ratios.push_back(each_plain / each_bare), web_ratios.push_back(each_web / each_bare);
        }
        web_ratio = middle(web_ratios);
        std::printf("bare loop, a hop to a thread and back   %7.1f us\n", middle(bare_us));
        std::printf("edit to Ack over a socket               %7.1f us  %5.2f x\n", middle(plain_us),
                    middle(plain_ratios));
        std::printf("edit to Ack over a WebSocket            %7.1f us  %5.2f x  (goal: 1.5 x)\n", middle(web_us),
                    web_ratio);
        for (const int socket : {bare_socket, web, plain}) ::close(socket);
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      done = true;
      world.stop();
    });
    while (world.next_frame()) {
    }
    client.join();
    server.stop();
    if (!wrong.empty()) {
      std::fprintf(stderr, "edit_latency: %s\n", wrong.c_str());
      std::_Exit(2);  // the bare loop waits for its client
    }
  }
  std::filesystem::remove_all(folder);
  return web_ratio <= 1.5 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) { return measure(count > 1 ? std::max(1, std::atoi(arguments[1])) : 40); }
