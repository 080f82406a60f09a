#include "server/door/web_stream.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "server/door/unsent.h"
#include "server/door/written_parts.h"

namespace muster {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using error_code = boost::system::error_code;
using TcpSocket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;

class WebStream final : public WireStream {
 public:
  WebStream(asio::io_context& io, int descriptor, const WebHandshake& asked)
      : web_(TcpSocket(io.get_executor(), asked.is_v6 ? tcp::v6() : tcp::v4(), descriptor)) {
    // Timeout of handshake and farewell. The limit on a session's silence is checked elsewhere.
    web_.set_option(websocket::stream_base::timeout{std::chrono::seconds(1), websocket::stream_base::none(), false});
    web_.binary(true);
    web_.auto_fragment(false);
    web_.read_message_max(asked.message_bytes_max);
    http::request<http::empty_body> request{http::verb::get, "/", 11};
    request.set(http::field::host, asked.host);
    request.set(http::field::connection, "Upgrade");
    request.set(http::field::upgrade, "websocket");
    request.set(http::field::sec_websocket_key, asked.key);
    request.set(http::field::sec_websocket_version, asked.version);
    auto waiting = std::make_shared<Waiting>();
    waiting->stream = this;
    waiting_ = waiting;
    web_.async_accept(request, [waiting = std::move(waiting)](error_code error) {
      if (waiting->stream) waiting->stream->accepted(!error, *waiting);
    });
  }
  ~WebStream() override {
    if (const auto waiting = waiting_.lock()) waiting->stream = nullptr;
  }

  void read_some(std::span<std::byte> room, ReadDone done) override {
    if (const auto waiting = waiting_.lock()) {
      waiting->room = room;
      waiting->read_done = std::move(done);
    } else {
      go_on_reading(room, std::move(done));
    }
  }

  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    const std::span written = written_.of(parts);
    if (const auto waiting = waiting_.lock()) {
      waiting->write_done = std::move(done);
    } else if (refused_) {
      asio::post(web_.get_executor(), [done = std::move(done)]() mutable { done(false); });
    } else {
      write_all(written, std::move(done));
    }
  }

  void end(Farewell why) override {
    if (ending_ || !waiting_.expired()) return;
    ending_ = true;
    const auto code = why == Farewell::done       ? websocket::close_code::normal
                      : why == Farewell::stopping ? websocket::close_code::going_away
                                                  : websocket::close_code::policy_error;
    web_.async_close(code, [](error_code) {});
  }

  void close() override {
    error_code ignored;
    web_.next_layer().close(ignored);
  }
  std::size_t unsent() override { return unsent_bytes(web_.next_layer().native_handle()); }
  bool is_open() const override { return !ending_ && (!waiting_.expired() || web_.is_open()); }
  int release() override { return -1; }

 private:
  /// Calls made before the handshake completed. The handshake's handler owns this object, so the
  /// calls end with the thread.
  struct Waiting {
    WebStream* stream = nullptr;
    std::span<std::byte> room;
    ReadDone read_done;
    WriteDone write_done;  // for the parts in written_
  };

  void accepted(bool well, Waiting& waiting) {
    waiting_.reset();
    waiting.stream = nullptr;
    if (!well) {
      refused_ = ending_ = true;
      close();
      if (waiting.write_done) waiting.write_done(false);
      if (waiting.read_done) waiting.read_done({0, StreamRead::End::broken});
      return;
    }
    if (waiting.write_done) write_all(written_.all(), std::move(waiting.write_done));
    if (waiting.read_done) go_on_reading(waiting.room, std::move(waiting.read_done));
  }

  void write_all(std::span<const asio::const_buffer> parts, WriteDone done) {
    web_.async_write(parts, [done = std::move(done)](error_code error, std::size_t) mutable { done(!error); });
  }

  void go_on_reading(std::span<std::byte> room, ReadDone done) {
    web_.async_read_some(asio::buffer(room.data(), room.size()),
                         [this, room, done = std::move(done)](error_code error, std::size_t bytes) mutable {
                           if (!error && web_.got_text()) return refuse_text(std::move(done));
                           // The message is empty or has ended.
                           if (!error && bytes == 0) return go_on_reading(room, std::move(done));
                           if (!error) return done({bytes, StreamRead::End::none});
                           const bool ended = error == websocket::error::closed;
                           done({0, ended ? StreamRead::End::ended : StreamRead::End::broken});
                         });
  }

  /// Fails the read that received the text after the other side knows of it, or after a second.
  void refuse_text(ReadDone done) {
    if (std::exchange(ending_, true)) return done({0, StreamRead::End::broken});
    const websocket::close_reason why(websocket::close_code::unknown_data, "only binary messages are accepted");
    web_.async_close(why, [done = std::move(done)](error_code) mutable { done({0, StreamRead::End::broken}); });
  }

  websocket::stream<TcpSocket, false> web_;
  WrittenParts<asio::const_buffer> written_;
  std::weak_ptr<Waiting> waiting_;  // until the handshake completes
  bool refused_ = false;            // the handshake failed, so there is no WebSocket
  bool ending_ = false;
};

}  // namespace

std::unique_ptr<WireStream> open_web_stream(asio::io_context& io, int descriptor, const WebHandshake& asked) {
  return std::make_unique<WebStream>(io, descriptor, asked);
}

}  // namespace muster
