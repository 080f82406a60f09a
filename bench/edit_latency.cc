// How long an edit waits for its Ack, over a socket and over a WebSocket, beside a bare loop that does no more than such a server
// must: one thread reads, another one has the message for a moment, the first one writes the answer.
//
//   edit_latency [ROUNDS]     40 rounds of 250 of each, in turns; prints microseconds and, to the bare loop, the median of the
//                             rounds' ratios. Fails where a WebSocket's median takes more than 1.5 times as long.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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

#include "bench/bench.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "schema/hash.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

void no_delay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int connect_to(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  no_delay(made);
  return made;
}

void send_all(int socket, const std::string& bytes) {
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) fail("send");
}

void receive(int socket, std::size_t bytes) {
  char room[512];
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, room, std::min(bytes, sizeof room), 0);
    if (got <= 0) fail("receive");
    bytes -= static_cast<std::size_t>(got);
  }
}

void signal(int event) {
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) != sizeof one) fail("signal");
}
void wait(int event) {
  std::uint64_t count = 0;
  if (::read(event, &count, sizeof count) != sizeof count) fail("wait");
}

/// The bare loop. It ends when its client does.
class Bare {
 public:
  Bare(std::size_t asked_bytes, std::size_t answer_bytes) : asked_bytes_(asked_bytes), answer_(answer_bytes, 'a') {
    listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
    if (::listen(listening_, 1) != 0) fail("listen");
    socklen_t size = sizeof address;
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    hopping_ = std::thread([this] { hop(); });
    serving_ = std::thread([this] { serve(); });
  }
  ~Bare() {
    serving_.join();
    hopping_.join();
    for (const int descriptor : {listening_, there_, back_}) ::close(descriptor);
  }
  std::uint16_t port = 0;

 private:
  void hop() {
    while (true) {
      wait(there_);
      if (over_) return;
      signal(back_);
    }
  }
  void serve() {
    const int client = ::accept(listening_, nullptr, nullptr);
    no_delay(client);
    const int poll = ::epoll_create1(0);
    for (const int descriptor : {client, back_}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
      ::epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
    }
    std::size_t came = 0;
    char room[4096];
    while (true) {
      epoll_event event{};
      if (::epoll_wait(poll, &event, 1, -1) != 1) continue;
      if (event.data.fd == back_) {
        wait(back_);
        send_all(client, answer_);
        continue;
      }
      const ssize_t got = ::recv(client, room, sizeof room, 0);
      if (got <= 0) break;
      came += static_cast<std::size_t>(got);
      if (came < asked_bytes_) continue;
      came = 0;
      signal(there_);
    }
    over_ = true;
    signal(there_);
    ::close(poll);
    ::close(client);
  }

  const std::size_t asked_bytes_;
  const std::string answer_;
  int listening_ = -1;
  int there_ = ::eventfd(0, 0), back_ = ::eventfd(0, 0);
  std::atomic<bool> over_ = false;
  std::thread hopping_, serving_;
};

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

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
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
