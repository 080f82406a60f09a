#include "client/cpp/byte_stream.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace muster {
namespace {

std::unexpected<ClientError> lost(std::string text) {
  return std::unexpected(ClientError{ClientError::Kind::lost, std::move(text), {}});
}

int poll_timeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
}

/// Connects before the deadline. Returns null on success, or the reason for the failure.
const char* connect_within(int descriptor, const sockaddr* address, socklen_t length, Deadline deadline) {
  if (::connect(descriptor, address, length) == 0) return nullptr;
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd wanted{descriptor, POLLOUT, 0};
  int ready;
  do ready = ::poll(&wanted, 1, poll_timeout(deadline));
  while (ready < 0 && errno == EINTR);
  if (ready == 0) return "no answer in time";
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? nullptr : std::strerror(error);
}

}  // namespace

ByteStream::ByteStream(ByteStream&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
ByteStream& ByteStream::operator=(ByteStream&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
ByteStream::~ByteStream() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ByteStream> ByteStream::connect(const std::string& address, Deadline deadline) {
  if (address.starts_with("unix:")) {
    const std::string path = address.substr(5);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof where.sun_path)
      return mistaken("'" + path + "' is not a valid socket path");
    std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
    ByteStream made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.descriptor_ < 0) return lost(std::strerror(errno));
    if (const char* why =
            connect_within(made.descriptor_, reinterpret_cast<const sockaddr*>(&where), sizeof where, deadline))
      return lost("cannot connect to " + path + ": " + why);
    return made;
  }
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return mistaken("'" + address + "' is not an address: expected HOST:PORT or unix:PATH");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found))
    return lost("cannot connect to " + address + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* at = found; at; at = at->ai_next) {
    ByteStream made(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.descriptor_ < 0) {
      why = std::strerror(errno);
      continue;
    }
    if (const char* failed = connect_within(made.descriptor_, at->ai_addr, at->ai_addrlen, deadline)) {
      why = failed;
      continue;
    }
    const int on = 1;
    ::setsockopt(made.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(made.descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return made;
  }
  return lost("cannot connect to " + address + ": " + why);
}

ByteStream::Ready ByteStream::wait(Deadline deadline, bool want_write) {
  pollfd wanted{descriptor_, static_cast<short>(want_write ? POLLIN | POLLOUT : POLLIN), 0};
  int ready;
  do ready = ::poll(&wanted, 1, poll_timeout(deadline));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return Ready::neither;
  // Reading takes priority, because a server may accept no further data until the client has read
  // what the server has already sent.
  return (wanted.revents & ~POLLOUT) != 0 ? Ready::readable : Ready::writable;
}

Result<std::size_t> ByteStream::send_some(std::span<const std::byte> bytes) {
  while (true) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    return lost(std::string("the connection was lost: ") + std::strerror(errno));
  }
}

Result<std::size_t> ByteStream::receive_some(std::span<std::byte> room) {
  while (true) {
    const ssize_t got = ::recv(descriptor_, room.data(), room.size(), 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return lost("the server closed the connection");
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    return lost(std::string("the connection was lost: ") + std::strerror(errno));
  }
}

}  // namespace muster
