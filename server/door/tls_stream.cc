#include "server/door/tls_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "server/door/unsent.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;
using TlsSocket = asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

// The first byte of a client that begins a handshake. A frame begins with a multiple of 16, and an
// HTTP request with a letter.
constexpr unsigned char handshake_record = 22;

/// Shared by the stream and by its pending operations, which may outlive it.
class TlsTransfer : public std::enable_shared_from_this<TlsTransfer> {
 public:
  using Need = TlsChannel::State;

  TlsTransfer(asio::io_context& the_io, int descriptor, SocketKind kind, std::unique_ptr<TlsChannel> channel,
              std::function<void(const std::string&)> on_failure)
      : io(the_io),
        socket(io.get_executor(), {kind == SocketKind::tcp_v6 ? AF_INET6 : AF_INET, IPPROTO_TCP}, descriptor),
        kind_(kind),
        channel_(std::move(channel)),
        on_failure_(std::move(on_failure)) {
    error_code ignored;
    socket.non_blocking(true, ignored);
  }

  /// `now` is true if the caller has returned, so that `done` may be called at once.
  void read(std::span<std::byte> room, WireStream::ReadDone done, bool now) {
    if (!socket.is_open()) return give(std::move(done), {0, StreamRead::End::broken}, now);
    if (!is_begun_ && !begins(room, done)) return;
    const TlsChannel::Result got = channel_->read(room);
    switch (got.state) {
      case Need::done: return give(std::move(done), {got.bytes, StreamRead::End::none}, now);
      case Need::ended: return give(std::move(done), {0, StreamRead::End::ended}, now);
      case Need::broken: break;
      case Need::wants_read:
      case Need::wants_write:
        return wait(got.state, [self = shared_from_this(), room, done = std::move(done)](bool well) mutable {
          if (!well) return done({0, StreamRead::End::broken});
          self->read(room, std::move(done), true);
        });
    }
    if (!channel_->has_shaken_hands() && on_failure_) std::exchange(on_failure_, nullptr)(channel_->why());
    give(std::move(done), {0, StreamRead::End::broken}, now);
  }

  /// Writes the parts as far as that is possible without waiting.
  Need write_some() {
    if (!socket.is_open() || !channel_->has_shaken_hands()) return Need::broken;
    while (true) {
      while (record_.size() < TlsChannel::record_bytes_max && next_ < parts_.size()) {
        std::span<const std::byte>& part = parts_[next_];
        const std::size_t bytes = std::min(part.size(), TlsChannel::record_bytes_max - record_.size());
        record_.insert(record_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(bytes));
        part = part.subspan(bytes);
        if (part.empty()) ++next_;
      }
      if (record_.empty()) return Need::done;
      if (const auto written = channel_->write(record_); written.state != Need::done) return written.state;
      record_.clear();
      if (next_ == parts_.size() && record_.capacity() > 4096) std::vector<std::byte>().swap(record_);
    }
  }

  /// Begins with new parts, unless write_at_once has already begun with them.
  void begin_write(std::span<const std::span<const std::byte>> parts) {
    if (std::exchange(goes_on_, false)) return;
    parts_.assign(parts.begin(), parts.end());
    next_ = 0;
  }

  bool write_at_once(std::span<const std::span<const std::byte>> parts) {
    begin_write(parts);
    if (write_some() == Need::done) return true;
    goes_on_ = true;
    return false;
  }

  void write(WireStream::WriteDone done, bool now) {
    const Need need = write_some();
    if (need == Need::wants_read || need == Need::wants_write)
      return wait(need, [self = shared_from_this(), done = std::move(done)](bool well) mutable {
        if (!well) return done(false);
        self->write(std::move(done), true);
      });
    const bool well = need == Need::done;
    if (now) return done(well);
    asio::post(io, [done = std::move(done), well]() mutable { done(well); });
  }

  void end() {
    if (!socket.is_open()) return;
    channel_->end();
    error_code ignored;
    socket.shutdown(TlsSocket::shutdown_send, ignored);
  }

  asio::io_context& io;
  TlsSocket socket;
  std::unique_ptr<WireStream> plain;  // takes over the socket of a client that does not use TLS

 private:
  /// Looks at the client's first byte. Returns false if the read was passed on.
  bool begins(std::span<std::byte> room, WireStream::ReadDone& done) {
    unsigned char first = 0;
    const ssize_t got = ::recv(socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      wait(Need::wants_read, [self = shared_from_this(), room, done = std::move(done)](bool well) mutable {
        if (!well) return done({0, StreamRead::End::broken});
        self->read(room, std::move(done), true);
      });
      return false;
    }
    is_begun_ = true;
    if (got != 1 || first == handshake_record) return true;
    error_code ignored;
    const int descriptor = socket.release(ignored);
    channel_.reset();
    plain = open_socket_stream(io, descriptor, kind_);
    plain->read_some(room, std::move(done));
    return false;
  }

  template <class Then>
  void wait(Need need, Then then) {
    socket.async_wait(need == Need::wants_read ? TlsSocket::wait_read : TlsSocket::wait_write,
                      [then = std::move(then)](error_code error) mutable { then(!error); });
  }

  void give(WireStream::ReadDone done, StreamRead got, bool now) {
    if (now) return done(got);
    asio::post(io, [done = std::move(done), got]() mutable { done(got); });
  }

  const SocketKind kind_;
  std::unique_ptr<TlsChannel> channel_;  // destroyed before the socket
  std::function<void(const std::string&)> on_failure_;
  bool is_begun_ = false;
  std::vector<std::span<const std::byte>> parts_;  // what is not in `record_` yet
  std::size_t next_ = 0;
  std::vector<std::byte> record_;  // the bytes of the next record
  bool goes_on_ = false;
};

class TlsStream final : public WireStream {
 public:
  explicit TlsStream(std::shared_ptr<TlsTransfer> transfer) : transfer_(std::move(transfer)) {}
  ~TlsStream() override { TlsStream::close(); }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  void read_some(std::span<std::byte> room, ReadDone done) override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->read_some(room, std::move(done));
    transfer_->read(room, std::move(done), false);
  }
  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->write(parts, std::move(done));
    transfer_->begin_write(parts);
    transfer_->write(std::move(done), false);
  }
  bool write_at_once(std::span<const std::span<const std::byte>> parts) override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->write_at_once(parts);
    return transfer_->write_at_once(parts);
  }
  void end(Farewell why) override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->end(why);
    transfer_->end();
  }
  void close() override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->close();
    error_code ignored;
    transfer_->socket.close(ignored);
  }
  std::size_t unsent() override {
    if (WireStream* const plain = transfer_->plain.get()) return plain->unsent();
    return unsent_bytes(transfer_->socket.native_handle());
  }
  bool is_open() const override {
    if (const WireStream* const plain = transfer_->plain.get()) return plain->is_open();
    return transfer_->socket.is_open();
  }
  bool needs_tls() const override { return transfer_->plain != nullptr; }

 private:
  const std::shared_ptr<TlsTransfer> transfer_;
};

}  // namespace

std::unique_ptr<WireStream> open_tls_stream(asio::io_context& io, int descriptor, SocketKind kind,
                                            std::shared_ptr<const TlsIdentity> identity,
                                            std::function<void(const std::string&)> on_failure) {
  auto channel = TlsChannel::accept(std::move(identity), descriptor);
  if (!channel) {
    if (on_failure) on_failure(channel.error());
    auto none = open_socket_stream(io, descriptor, kind);
    none->close();
    return none;
  }
  return std::make_unique<TlsStream>(
      std::make_shared<TlsTransfer>(io, descriptor, kind, std::move(*channel), std::move(on_failure)));
}

}  // namespace muster
