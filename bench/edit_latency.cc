// How long an edit waits for its Ack, over TCP, a Unix socket and a WebSocket, beside bare loops that do no more than such a server
// must: one thread reads, another one has the message for a moment, the first one writes the answer. Over TLS, beside TCP.
//
// All threads share one core: what an idle core takes to wake is more than all else, and another each time. With `free` they do not.
//
//   edit_latency [free] [ROUNDS]     40 rounds of 250 of each, in turns; prints microseconds of the half and of 99 %, and, to the bare loop, the
//                             median of the rounds' ratios of halves, and the ratio of the 99 % of all. Fails where a half takes more than
//                             1.5 times as long
#include <openssl/ssl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/session_frames.h"
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

void open_session(int socket, const std::string& token) {
  send_all(socket, ::bench::hello_frame(token));
  receive_welcome(socket, false);
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
  send_all(made, message_of(::bench::hello_frame(token)));
  receive_welcome(made, true);
  return made;
}

/// A client's side of TLS on a blocking socket. Does not check the certificate.
class Encrypted {
 public:
  explicit Encrypted(int socket) : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_read_ahead(ssl_, 1);
    SSL_set_fd(ssl_, socket);
    if (SSL_connect(ssl_) != 1) fail("no handshake");
  }
  ~Encrypted() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  Encrypted(const Encrypted&) = delete;
  Encrypted& operator=(const Encrypted&) = delete;
  void send(const std::string& bytes) {
    if (SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) <= 0) fail("send");
  }
  void receive(std::size_t bytes) {
    char room[512];
    while (bytes > 0) {
      const int got = SSL_read(ssl_, room, static_cast<int>(std::min(bytes, sizeof room)));
      if (got <= 0) fail("receive");
      bytes -= static_cast<std::size_t>(got);
    }
  }
  /// Receives one frame that is longer than 16 bytes.
  void receive_frame() {
    std::uint32_t bytes = 0;
    if (SSL_read(ssl_, &bytes, sizeof bytes) != sizeof bytes) fail("receive");
    receive(bytes - sizeof bytes);
  }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

/// Sends and waits.
struct Line {
  const char* name;
  int socket;
  const std::string* asked;
  std::size_t answer_bytes;
  const Line* limit = nullptr;
  Encrypted* encrypted = nullptr;
  std::vector<double> all_us = {}, halves_us = {}, ratios = {};

  void take_turn(int times, bool counts) {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      const auto begin = Clock::now();
      if (encrypted) {
        encrypted->send(*asked);
        encrypted->receive(answer_bytes);
      } else {
        send_all(socket, *asked);
        receive(socket, answer_bytes);
      }
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    if (!counts) return;
    all_us.insert(all_us.end(), took.begin(), took.end());
    halves_us.push_back(middle(std::move(took)));
    if (limit) ratios.push_back(halves_us.back() / limit->halves_us.back());
  }
  double most_us() {
    const auto at = all_us.begin() + static_cast<std::ptrdiff_t>(all_us.size() * 99 / 100);
    std::ranges::nth_element(all_us, at);
    return *at;
  }
};

/// Adds the entity that is edited.
Entity add_edited(World& world) { return world.registry().create("edited", bench::Position{}); }

WorldOptions unsaved() { return {.durability = Durability::checkpoint, .autosave = {}}; }

Handlers add_types(EntityRegistry& registry) {
  registry.add_type<bench::Position>();
  return {};
}

/// A world of the same kind on a port with TLS, on a thread of its own.
class TlsServed {
 public:
  explicit TlsServed(const std::string& path) {
    std::promise<void> ready;
    owner_ = std::thread([this, path, &ready] {
      World world(path, add_types, unsaved());
      add_edited(world);
      Server server(world, {.listen = "127.0.0.1:0", .self_signed = true, .page_folder = "none"});
      port = static_cast<std::uint16_t>(std::stoul(server.address().substr(server.address().rfind(':') + 1)));
      token = server.token();
      world_ = &world;
      ready.set_value();
      while (world.next_frame()) {
      }
      server.stop();
    });
    ready.get_future().get();
  }
  ~TlsServed() {
    world_->stop();
    owner_.join();
  }
  TlsServed(const TlsServed&) = delete;
  TlsServed& operator=(const TlsServed&) = delete;

  std::uint16_t port = 0;
  std::string token;

 private:
  World* world_ = nullptr;
  std::thread owner_;
};

int measure(int rounds) {
  const std::string folder = std::filesystem::temp_directory_path() / ("edit-latency-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  double worst = 0;
  {
    World world(folder + "/w.muster", add_types, unsaved());
    const Entity entity = add_edited(world);
    const TlsServed with_tls(folder + "/tls.muster");
    Server server(world, {.listen = "127.0.0.1:0", .unix_path = folder + "/s", .page_folder = "none"});
    const auto port = static_cast<std::uint16_t>(std::stoul(server.address().substr(server.address().rfind(':') + 1)));
    SetField edit{};
    edit.component = TypeTraits<bench::Position>::id;
    edit.field = hash32("x");
    edit.bytes = 4;
    BatchBuilder builder;
    builder.append(entity, edit);
    const std::string frame = ::bench::frame_of(builder.bytes(), 7), message = message_of(frame);
    constexpr std::size_t ack_bytes = 80;  // docs/protocol.md
    Bare bare(message.size(), ack_bytes + 2), bare_unix(frame.size(), ack_bytes, {}, folder + "/bare");
    std::atomic<bool> done = false;
    std::string wrong;
    std::thread client([&] {
      try {
        const int bare_tcp = connect_to(bare.port), bare_local = connect_to(folder + "/bare");
        const int tcp = connect_to(port), local = connect_to(server.unix_path()),
                  web = open_web_session(port, server.token());
        for (const int plain : {tcp, local}) open_session(plain, server.token());
        const int tls = connect_to(with_tls.port);
        Encrypted encrypted(tls);
        encrypted.send(::bench::hello_frame(with_tls.token));
        encrypted.receive_frame();
        std::vector<Line> lines;
        lines.reserve(6);
        const Line& tcp_limit =
            lines.emplace_back("bare loop, a hop to a thread and back, TCP", bare_tcp, &message, ack_bytes + 2);
        const Line& local_limit = lines.emplace_back("the same, Unix socket", bare_local, &frame, ack_bytes);
        const Line& plain = lines.emplace_back("edit to Ack over TCP", tcp, &frame, ack_bytes, &tcp_limit);
        lines.emplace_back("edit to Ack over TLS, beside TCP", tls, &frame, ack_bytes, &plain, &encrypted);
        lines.emplace_back("edit to Ack over a Unix socket", local, &frame, ack_bytes, &local_limit);
        lines.emplace_back("edit to Ack over a WebSocket", web, &message, ack_bytes + 2, &tcp_limit);
        for (int round = -2; round < rounds; ++round)  // the first two warm up
          for (Line& line : lines) line.take_turn(250, round >= 0);
        for (Line& line : lines) {
          std::printf("%-42s half %6.1f us, 99 %% %6.1f us", line.name, middle(line.halves_us), line.most_us());
          if (line.limit) {
            worst = std::max(worst, middle(line.ratios));
            std::printf("  %5.2f x, %5.2f x (goals: 1.5, 2)", middle(line.ratios),
                        line.most_us() / const_cast<Line*>(line.limit)->most_us());
          }
          std::printf("\n");
          ::close(line.socket);
        }
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
  return worst <= 1.5 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_free = count > 1 && std::string_view(arguments[1]) == "free";
  if (!is_free) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) std::perror("edit_latency: threads go where they like");
  }
  const int rounds = is_free ? 2 : 1;
  return measure(count > rounds ? std::max(1, std::atoi(arguments[rounds])) : 40);
}
