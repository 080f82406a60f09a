// Stands between a client and a server and keeps every byte that passes, as a wire would show it.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/byte_stream.h"
#include "messages/batch.h"
#include "messages/frame.h"

/// Takes one client at the Unix socket `path` and connects it with the server at `address`.
class SocketTap {
 public:
  SocketTap(std::string path, std::string address) : path_(std::move(path)), address_(std::move(address)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path_.size() >= sizeof name.sun_path) throw std::runtime_error("the path of a socket is too long: " + path_);
    std::memcpy(name.sun_path, path_.c_str(), path_.size());
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listening_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 || ::listen(listening_, 1) != 0)
      throw std::runtime_error("cannot listen at " + path_);
    thread_ = std::thread([this] { relay(); });
  }
  ~SocketTap() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  SocketTap(const SocketTap&) = delete;
  SocketTap& operator=(const SocketTap&) = delete;

  std::string address() const { return "unix:" + path_; }
  /// The batches of one message type that went by, from their headers on.
  std::vector<std::vector<std::byte>> sent(muster::TypeId type) const { return batches(to_server_, type); }
  std::vector<std::vector<std::byte>> received(muster::TypeId type) const { return batches(to_client_, type); }

 private:
  std::vector<std::vector<std::byte>> batches(const std::vector<std::byte>& stream, muster::TypeId type) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<std::byte>> found;
    muster::FrameHeader header;
    for (std::size_t at = 0; at + sizeof header <= stream.size(); at += header.bytes) {
      std::memcpy(&header, stream.data() + at, sizeof header);
      if (header.bytes < muster::frame_bytes_min || at + header.bytes > stream.size()) break;
      const bool envelope = (header.flags & muster::frame_envelope) != 0;
      const std::size_t begin = at + sizeof header + (envelope ? sizeof(muster::FrameEnvelope) : 0);
      muster::BatchHeader batch;
      std::memcpy(&batch, stream.data() + begin, sizeof batch);
      if (batch.type == type) found.emplace_back(stream.data() + begin, stream.data() + at + header.bytes);
    }
    return found;
  }

  void relay() {
    const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    auto server = muster::ByteStream::connect(address_, std::chrono::steady_clock::now() + std::chrono::seconds(10));
    if (server) {
      std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server->descriptor(), POLLIN, 0}};
      while (::poll(ends.data(), 2, -1) > 0) {
        if (ends[0].revents && !pass(client, server->descriptor(), to_server_)) break;
        if (ends[1].revents && !pass(server->descriptor(), client, to_client_)) break;
      }
    }
    ::close(client);
  }
  bool pass(int from, int to, std::vector<std::byte>& kept) {
    std::array<std::byte, 65536> buffer;
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    {
      const std::lock_guard lock(mutex_);
      kept.insert(kept.end(), buffer.data(), buffer.data() + got);
    }
    for (ssize_t done = 0; done < got;) {
      pollfd room{to, POLLOUT, 0};
      ::poll(&room, 1, -1);
      const ssize_t went = ::send(to, buffer.data() + done, static_cast<std::size_t>(got - done), MSG_NOSIGNAL);
      if (went < 0 && errno != EAGAIN) return false;
      if (went > 0) done += went;
    }
    return true;
  }

  const std::string path_, address_;
  int listening_ = -1;
  mutable std::mutex mutex_;
  std::vector<std::byte> to_server_, to_client_;
  std::thread thread_;
};
