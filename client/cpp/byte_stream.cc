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

ByteStream::ByteStream(ByteStream&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      is_trusted_(other.is_trusted_),
      tls_(std::move(other.tls_)),
      may_have_more_(other.may_have_more_) {}
ByteStream& ByteStream::operator=(ByteStream&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_trusted_, other.is_trusted_);
  std::swap(tls_, other.tls_);
  std::swap(may_have_more_, other.may_have_more_);
  return *this;
}
ByteStream::~ByteStream() {
  if (tls_) tls_->end();
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ByteStream> ByteStream::connect_local(const std::string& path, Deadline deadline) {
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
  ucred server{};
  socklen_t size = sizeof server;
  const uid_t own = ::geteuid();
  if (::getsockopt(made.descriptor_, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 ||
      (server.uid != own && server.uid != 0 && own != 0))
    return lost("cannot connect to " + path + ": the process that listens there belongs to another user");
  made.is_trusted_ = server.uid == own || server.uid == 0;
  return made;
}

Result<void> ByteStream::encrypt(const TlsTrust& trust, Deadline deadline) {
  auto channel = TlsChannel::connect(trust, descriptor_);
  if (!channel) return std::unexpected(ClientError{ClientError::Kind::mistaken, channel.error(), {}});
  while (true) {
    const TlsChannel::State state = (*channel)->shake_hands().state;
    if (state == TlsChannel::State::done) break;
    if (state != TlsChannel::State::wants_read && state != TlsChannel::State::wants_write)
      return lost((*channel)->why());
    pollfd wanted{descriptor_, static_cast<short>(state == TlsChannel::State::wants_read ? POLLIN : POLLOUT), 0};
    int ready;
    do ready = ::poll(&wanted, 1, poll_timeout(deadline));
    while (ready < 0 && errno == EINTR);
    if (ready == 0) return lost("no answer to the TLS handshake in time");
  }
  tls_ = std::move(*channel);
  is_trusted_ = true;
  return {};
}

Result<ByteStream> ByteStream::connect(const std::string& given, Deadline deadline, const TlsTrust& trust) {
  if (given.starts_with("unix:")) return connect_local(given.substr(5), deadline);
  constexpr std::string_view tls = "tls:";
  const std::string address = given.starts_with(tls) ? given.substr(tls.size()) : given;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return mistaken("'" + address + "' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  TlsTrust whom = trust;
  whom.host = host;
  whom.fingerprint = fingerprint_of(trust.fingerprint);
  if (whom.fingerprint.empty() && !trust.fingerprint.empty())
    return mistaken("'" + trust.fingerprint + "' is not a fingerprint: expected 64 hexadecimal digits");
  const bool encrypts = given.starts_with(tls) || !trust.fingerprint.empty() || !trust.ca_file.empty() ||
                        !(host == "localhost" || host == "::1" || host.starts_with("127."));
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
    if (!encrypts) return made;
    if (auto encrypted = made.encrypt(whom, deadline); !encrypted) {
      ClientError& error = encrypted.error();
      error.text = "cannot connect to " + address + ": " + error.text;
      return std::unexpected(std::move(error));
    }
    return made;
  }
  return lost("cannot connect to " + address + ": " + why);
}

ByteStream::Ready ByteStream::wait(Deadline deadline, bool want_write) {
  if (may_have_more_) return Ready::readable;
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
  if (tls_) {
    if (bytes.empty()) return std::size_t{0};
    const std::size_t size = std::min(bytes.size(), TlsChannel::record_bytes_max);
    const TlsChannel::Result written = tls_->write(bytes.first(size));
    if (written.state == TlsChannel::State::done) return size;
    if (written.state == TlsChannel::State::broken) return lost("the connection was lost: " + tls_->why());
    return std::size_t{0};
  }
  while (true) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    return lost(std::string("the connection was lost: ") + std::strerror(errno));
  }
}

Result<std::size_t> ByteStream::receive_some(std::span<std::byte> room) {
  if (tls_) {
    const TlsChannel::Result got = tls_->read(room);
    may_have_more_ = got.state == TlsChannel::State::done;
    if (may_have_more_) return got.bytes;
    if (got.state == TlsChannel::State::ended) return lost("the server closed the connection");
    if (got.state == TlsChannel::State::broken) return lost("the connection was lost: " + tls_->why());
    return std::size_t{0};
  }
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
