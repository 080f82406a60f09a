#include "server/door/socket_stream.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "server/door/unsent.h"
#include "server/door/written_parts.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

asio::generic::stream_protocol protocol_of(SocketKind kind) {
  switch (kind) {
    case SocketKind::tcp_v4: return {AF_INET, IPPROTO_TCP};
    case SocketKind::tcp_v6: return {AF_INET6, IPPROTO_TCP};
    case SocketKind::local: break;
  }
  return {AF_UNIX, 0};
}

class SocketStream final : public WireStream {
 public:
  SocketStream(asio::io_context& io, int descriptor, SocketKind kind)
      : socket_(io.get_executor(), protocol_of(kind), descriptor) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    never_waits_ = !ignored;
  }

  void read_some(std::span<std::byte> room, ReadDone done) override {
    socket_.async_read_some(asio::buffer(room.data(), room.size()),
                            [done = std::move(done)](error_code error, std::size_t bytes) mutable {
                              if (!error) return done({bytes, StreamRead::End::none});
                              done({0, error == asio::error::eof ? StreamRead::End::ended : StreamRead::End::broken});
                            });
  }

  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    asio::async_write(socket_, written_.of(parts, std::exchange(gone_, 0)),
                      [done = std::move(done)](error_code error, std::size_t) mutable { done(!error); });
  }

  bool write_at_once(std::span<const std::span<const std::byte>> parts) override {
    if (!never_waits_) return false;
    std::size_t all = 0;
    for (const std::span<const std::byte> part : parts) all += part.size();
    error_code met_again_by_write;
    // For a single part, a plain buffer is less work for the kernel than a list with one part.
    gone_ = parts.size() == 1 ? socket_.write_some(asio::const_buffer(parts[0].data(), all), met_again_by_write)
                              : socket_.write_some(written_.of(parts), met_again_by_write);
    if (gone_ < all) return false;
    gone_ = 0;
    return true;
  }

  void end(Farewell) override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  std::size_t unsent() override { return unsent_bytes(socket_.native_handle()); }
  bool is_open() const override { return socket_.is_open(); }

 private:
  Socket socket_;
  WrittenParts<asio::const_buffer> written_;
  std::size_t gone_ = 0;  // number of bytes already sent from the parts of the next write()
  bool never_waits_ = false;
};

}  // namespace

std::unique_ptr<WireStream> open_socket_stream(asio::io_context& io, int descriptor, SocketKind kind) {
  return std::make_unique<SocketStream>(io, descriptor, kind);
}

}  // namespace muster
