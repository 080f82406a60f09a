// What a server must do at the least to answer one client, as the limit of rows about latency; and the sockets for that.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

[[noreturn]] inline void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

inline void no_delay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

inline int connect_to(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  no_delay(made);
  return made;
}

inline int connect_to(const std::string& unix_path) {
  const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, unix_path.data(), std::min(unix_path.size(), sizeof address.sun_path - 1));
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  return made;
}

inline void send_all(int socket, const std::string& bytes) {
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) fail("send");
}

inline void receive(int socket, std::size_t bytes) {
  char room[512];
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, room, std::min(bytes, sizeof room), 0);
    if (got <= 0) fail("receive");
    bytes -= static_cast<std::size_t>(got);
  }
}

inline void signal(int event) {
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) != sizeof one) fail("signal");
}
inline void wait(int event) {
  std::uint64_t count = 0;
  if (::read(event, &count, sizeof count) != sizeof count) fail("wait");
}

/// One thread reads, another one has the message for a moment, the first one writes the answer. It ends when its client does.
class Bare {
 public:
  /// `work`: what the other thread does with it; null: nothing. Over TCP, on a `port` of the kernel's choice, or a Unix socket.
  Bare(std::size_t asked_bytes, std::size_t answer_bytes, std::function<void()> work = {},
       const std::string& unix_path = {})
      : asked_bytes_(asked_bytes), answer_(answer_bytes, 'a'), work_(std::move(work)) {
    if (unix_path.empty()) {
      listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
      socklen_t size = sizeof address;
      ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
      port = ntohs(address.sin_port);
    } else {
      listening_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, unix_path.data(), std::min(unix_path.size(), sizeof address.sun_path - 1));
      if (::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
    }
    if (::listen(listening_, 1) != 0) fail("listen");
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
      if (work_) work_();
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
  const std::function<void()> work_;
  int listening_ = -1;
  int there_ = ::eventfd(0, 0), back_ = ::eventfd(0, 0);
  std::atomic<bool> over_ = false;
  std::thread hopping_, serving_;
};

inline double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace bench
