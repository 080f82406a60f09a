// A TCP proxy that loses connections on purpose: after a number of frames, with or without a reset.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace muster::testing {

class LineProxy {
 public:
  /// An accident before a frame is forwarded: it is swallowed, or the connection ends.
  enum class Does { nothing, swallow, close, reset };
  /// Called on the proxy's thread before each frame is forwarded. May sleep.
  using Plan = std::function<Does()>;

  /// `target` is "127.0.0.1:PORT", or empty if there is no server yet.
  explicit LineProxy(const std::string& target, Plan plan = {}) : plan_(std::move(plan)) {
    aim(target);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&where), size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size) != 0)
      throw std::runtime_error("LineProxy: no socket");
    address_ = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  ~LineProxy() {
    stops_ = true;
    thread_.join();
    ::close(listener_);
  }
  LineProxy(const LineProxy&) = delete;
  LineProxy& operator=(const LineProxy&) = delete;

  const std::string& address() const noexcept { return address_; }
  /// Later connections go to another server.
  void aim(const std::string& target) { port_ = target.empty() ? 0 : std::stoi(target.substr(target.rfind(':') + 1)); }
  void plan(Plan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }
  std::uint64_t connections() const noexcept { return connections_; }
  std::uint64_t frames() const noexcept { return frames_; }
  std::uint64_t cuts() const noexcept { return cuts_; }
  /// Returns the number of connections that have not ended.
  std::uint64_t open() const noexcept { return open_; }

 private:
  struct Way {
    int from = -1, to = -1;
    std::vector<char> bytes;
  };
  struct Line {
    Way up, down;
    bool over = false;
  };

  void run() {
    while (!stops_) {
      std::vector<pollfd> wanted{{listener_, POLLIN, 0}};
      for (const Line& line : lines_) {
        wanted.push_back({line.up.from, POLLIN, 0});
        wanted.push_back({line.down.from, POLLIN, 0});
      }
      ::poll(wanted.data(), wanted.size(), 10);
      std::size_t at = 1;
      for (Line& line : lines_) {
        if (wanted[at++].revents != 0) forward(line, line.up);
        if (wanted[at++].revents != 0 && !line.over) forward(line, line.down);
      }
      std::erase_if(lines_, [](const Line& line) { return line.over; });
      if (wanted[0].revents != 0) accept_one();
    }
    for (Line& line : lines_) end(line, false);
  }

  void accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port_.load()));
    if (port_ == 0 || ::connect(server, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
      ::close(client);
      ::close(server);
      return;
    }
    const int on = 1;
    for (const int each : {client, server}) ::setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++connections_;
    ++open_;
    lines_.push_back({.up = {client, server, {}}, .down = {server, client, {}}, .over = false});
  }

  void forward(Line& line, Way& way) {
    char room[65536];
    const ssize_t got = ::recv(way.from, room, sizeof room, 0);
    if (got <= 0) return end(line, false);
    way.bytes.insert(way.bytes.end(), room, room + got);
    std::size_t at = 0;
    while (way.bytes.size() - at >= 4) {
      std::uint32_t size = 0;
      std::memcpy(&size, way.bytes.data() + at, 4);
      if (size < 16 || way.bytes.size() - at < size) break;
      Plan plan;
      {
        const std::lock_guard lock(mutex_);
        plan = plan_;
      }
      const Does does = plan ? plan() : Does::nothing;
      if (does == Does::swallow) {
        at += size;
        continue;
      }
      if (does != Does::nothing) {
        ++cuts_;
        return end(line, does == Does::reset);
      }
      for (std::size_t sent = 0; sent < size;) {
        const ssize_t went = ::send(way.to, way.bytes.data() + at + sent, size - sent, MSG_NOSIGNAL);
        if (went <= 0) return end(line, false);
        sent += static_cast<std::size_t>(went);
      }
      ++frames_;
      at += size;
    }
    way.bytes.erase(way.bytes.begin(), way.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void end(Line& line, bool reset) {
    if (reset) {
      const linger none{1, 0};
      for (const int each : {line.up.from, line.up.to}) ::setsockopt(each, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }
    ::close(line.up.from);
    ::close(line.up.to);
    if (!line.over) --open_;
    line.over = true;
  }

  std::mutex mutex_;
  Plan plan_;
  int listener_ = -1;
  std::string address_;
  std::atomic<int> port_ = 0;
  std::atomic<bool> stops_ = false;
  std::atomic<std::uint64_t> connections_ = 0, frames_ = 0, cuts_ = 0, open_ = 0;
  std::list<Line> lines_;  // used on the thread
  std::thread thread_;
};

}  // namespace muster::testing
