#include "server/door/web_stream.h"

#include <array>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "server/door/written_parts.h"

namespace muster {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using error_code = boost::system::error_code;

/// Wraps the stream that carries a WebSocket, and provides the functions that Beast calls on it.
class Carrier {
 public:
  using executor_type = asio::io_context::executor_type;
  using Done = std::move_only_function<void(error_code)>;

  Carrier(executor_type executor, std::unique_ptr<WireStream> stream)
      : executor_(std::move(executor)), stream_(std::move(stream)) {}

  executor_type get_executor() const noexcept { return executor_; }
  void close() { stream_->close(); }
  std::size_t unsent() { return stream_->unsent(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    std::span<std::byte> room;
    for (auto at = asio::buffer_sequence_begin(buffers); room.empty() && at != asio::buffer_sequence_end(buffers); ++at)
      room = {static_cast<std::byte*>(asio::mutable_buffer(*at).data()), asio::mutable_buffer(*at).size()};
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [](auto handler, WireStream* stream, std::span<std::byte> into) {
          stream->read_some(into, [handler = std::move(handler)](StreamRead got) mutable {
            std::move(handler)(error_of(got.end), got.bytes);
          });
        },
        token, stream_.get(), room);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    parts_.clear();
    for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at)
      parts_.emplace_back(static_cast<const std::byte*>(asio::const_buffer(*at).data()),
                          asio::const_buffer(*at).size());
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [](auto handler, Carrier* carrier, std::size_t bytes) {
          carrier->stream_->write(carrier->parts_, [handler = std::move(handler), bytes](bool sent) mutable {
            std::move(handler)(sent ? error_code() : asio::error::connection_reset, sent ? bytes : 0);
          });
        },
        token, this, asio::buffer_size(buffers));
  }

  /// Ends the sending direction, reads until the other side has ended as well, and closes the
  /// stream.
  void tear_down(Done done) {
    stream_->end(Farewell::done);
    throw_away(stream_, std::make_shared<Room>(), std::move(done));
  }

 private:
  using Room = std::array<std::byte, 2048>;

  static error_code error_of(StreamRead::End end) {
    if (end == StreamRead::End::none) return {};
    if (end == StreamRead::End::ended) return asio::error::eof;
    return asio::error::connection_reset;
  }

  /// Reads and discards bytes until the other side closes the stream. `weak` expires if the
  /// WebSocket is destroyed during a read.
  static void throw_away(const std::weak_ptr<WireStream>& weak, const std::shared_ptr<Room>& room, Done done) {
    const auto stream = weak.lock();
    if (!stream) return done(asio::error::operation_aborted);
    stream->read_some(*room, [weak, room, done = std::move(done)](StreamRead got) mutable {
      if (got.end == StreamRead::End::none) return throw_away(weak, room, std::move(done));
      if (const auto ended = weak.lock()) ended->close();
      done(got.end == StreamRead::End::ended ? error_code() : error_of(got.end));
    });
  }

  const executor_type executor_;
  const std::shared_ptr<WireStream> stream_;
  std::vector<std::span<const std::byte>> parts_;  // parts of the pending write
};

// Beast finds these functions by argument-dependent lookup.
void beast_close_socket(Carrier& carrier) { carrier.close(); }
template <class Handler>
void async_teardown(beast::role_type, Carrier& carrier, Handler&& handler) {
  carrier.tear_down([handler = std::forward<Handler>(handler)](error_code error) mutable { handler(error); });
}

class WebStream final : public WireStream {
 public:
  WebStream(asio::io_context& io, std::unique_ptr<WireStream> carrier, const WebHandshake& asked)
      : web_(io.get_executor(), std::move(carrier)) {
    // Timeout for the opening and closing handshakes. A session's idle limit is checked elsewhere.
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

  void close() override { web_.next_layer().close(); }
  std::size_t unsent() override { return web_.next_layer().unsent(); }
  bool is_open() const override { return !ending_ && (!waiting_.expired() || web_.is_open()); }

 private:
  /// Stores calls that are made before the handshake completes. The handshake's handler owns this
  /// object, so if the thread ends first, the calls are dropped.
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
                           // The message is empty, or all of it has been read.
                           if (!error && bytes == 0) return go_on_reading(room, std::move(done));
                           if (!error) return done({bytes, StreamRead::End::none});
                           const bool ended = error == websocket::error::closed;
                           done({0, ended ? StreamRead::End::ended : StreamRead::End::broken});
                         });
  }

  /// Fails the read that received a text message, once the other side has been notified or after a
  /// second.
  void refuse_text(ReadDone done) {
    if (std::exchange(ending_, true)) return done({0, StreamRead::End::broken});
    const websocket::close_reason why(websocket::close_code::unknown_data, "only binary messages are accepted");
    web_.async_close(why, [done = std::move(done)](error_code) mutable { done({0, StreamRead::End::broken}); });
  }

  websocket::stream<Carrier, false> web_;
  WrittenParts<asio::const_buffer> written_;
  std::weak_ptr<Waiting> waiting_;  // expires when the handshake completes
  bool refused_ = false;            // the handshake failed, so there is no WebSocket
  bool ending_ = false;
};

}  // namespace

std::unique_ptr<WireStream> open_web_stream(asio::io_context& io, std::unique_ptr<WireStream> carrier,
                                            const WebHandshake& asked) {
  return std::make_unique<WebStream>(io, std::move(carrier), asked);
}

}  // namespace muster
