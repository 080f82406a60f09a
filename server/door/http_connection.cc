#include "server/door/http_connection.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "server/web/http_wire.h"

namespace muster {
namespace {

constexpr std::size_t head_bytes_max = 8192;
// Number of bytes of a file that are sent at a time.
constexpr std::size_t piece_bytes = 65536;

/// Must be used only on the listener's thread. Pending operations on the stream keep the connection
/// alive. Handles one request at a time. The next request is read once the answer has been sent.
class HttpConnection final : public ServedStream, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::unique_ptr<WireStream> stream, HttpHost& host, std::string address, ServedStreamEvents events,
                 Upgrade upgrade)
      : stream_(std::move(stream)),
        host_(host),
        address_(std::move(address)),
        limits_(host.limits),
        events_(std::move(events)),
        upgrade_(std::move(upgrade)),
        reader_(head_bytes_max) {}

  void start(std::span<const std::byte> came) {
    const std::span<std::byte> room = reader_.room();
    const std::size_t bytes = std::min(room.size(), came.size());
    std::copy_n(came.begin(), bytes, room.begin());
    reader_.received(bytes);
    // Post a call, because the request may end this connection, which must not happen before the
    // connection's creator has stored it.
    host_.loop.post([self = shared_from_this()] { self->take_request(); });
  }

  void stop() override { abort(); }
  bool is_answered() const override { return phase_ != Phase::reading && phase_ != Phase::closing; }
  void give_way() override {
    host_.refusals.note(address_, "too many connections without a Hello", Clock::now());
    abort();
  }

  void check_times(Clock::time_point now) override {
    if (!stream_) return;
    const auto spent = now - since_;
    switch (phase_) {
      case Phase::reading:
        if (spent <= limits_.hello_time_max) return;
        if (!reader_.has_more()) return abort();
        too_late_ = true;
        return refuse({408, "the request was not complete in time"});
      case Phase::receiving:
      case Phase::working:
      case Phase::writing: return spent > limits_.stall_max ? abort() : void();
      case Phase::closing: return spent > linger_max ? abort() : void();
    }
  }

 private:
  enum class Phase : std::uint8_t { reading, receiving, working, writing, closing };

  void enter(Phase phase) {
    phase_ = phase;
    since_ = Clock::now();
  }

  void abort() {
    if (stream_) stream_->close();
    events_.known();
    if (pending_ == 0) end();
  }

  void end() {
    ++work_;
    if (stream_) stream_->close();
    drop_body();
    events_.known();
    if (const auto ended = std::exchange(events_.ended, nullptr)) ended();
  }

  // --- requests

  void read_on() {
    ++pending_;
    stream_->read_some(reader_.room(), [self = shared_from_this()](StreamRead got) {
      --self->pending_;
      self->took(got);
    });
  }

  void took(StreamRead got) {
    if (got.end != StreamRead::End::none) {
      if (phase_ == Phase::writing) return;  // the connection ends when the write completes
      return end();
    }
    reader_.received(got.bytes);
    take_request();
  }

  void take_request() {
    if (phase_ != Phase::reading || !events_.ended) return;
    auto request = reader_.next();
    if (!request) return refuse(request.error());
    if (!*request) return read_on();
    if (stream_->needs_tls()) return refuse({400, "this port needs TLS: the address begins with https://"});
    HttpRequest& asked = **request;
    const RequestSource source = source_of(asked, address_, host_.rules);
    client_ = source.address;
    Site::Reply reply = host_.reply(asked, source);
    enter(Phase::working);
    ++work_;
    switch (reply.kind) {
      case Site::Reply::Kind::answer: return send(std::move(reply.answer));
      case Site::Reply::Kind::wrong_token: return send_late(std::move(reply.answer));
      case Site::Reply::Kind::file: return open_file(std::move(reply));
      case Site::Reply::Kind::session: return open_session(asked, reply.world);
      case Site::Reply::Kind::later: return ask(std::move(reply));
      case Site::Reply::Kind::body: return take_body(std::move(reply), asked.body_bytes.value_or(0));
    }
  }

  void refuse(const HttpFault& fault) {
    HttpAnswer answer = http_sentence(fault.status, fault.text);
    answer.closes = true;
    send(std::move(answer));
  }

  /// Delays the answer in the same way as the answer to a Hello with a wrong token.
  void send_late(HttpAnswer answer) {
    const auto now = Clock::now();
    const auto delay = host_.refusals.wrong_token(client_, now);
    host_.refusals.note(client_, "the token is not valid here", now);
    answer_ = std::move(answer);
    host_.loop.call_in(delay, [weak = weak_from_this(), work = work_] {
      if (const auto self = weak.lock(); self && self->work_ == work) self->send(std::move(self->answer_));
    });
  }

  void open_file(Site::Reply reply) {
    auto opened = std::make_shared<HttpAnswer>();
    host_.loop.run_beside(
        Loop::Beside::files, [open = std::move(reply.open), opened] { *opened = open(); },
        [weak = weak_from_this(), work = work_, opened, head_only = reply.answer.head_only,
         closes = reply.answer.closes] {
          const auto self = weak.lock();
          if (!self || self->work_ != work) return;
          opened->head_only = head_only;
          opened->closes = closes;
          self->send(std::move(*opened));
        });
  }

  void open_session(const HttpRequest& asked, const std::string& world) {
    // A client must wait for the answer before it sends another request.
    if (reader_.has_more()) return refuse({400, "more data arrived before the request was answered"});
    WebHandshake handshake;
    handshake.host = asked.hosts.front();
    handshake.address = client_;
    handshake.key = asked.web_key;
    handshake.version = asked.web_version;
    handshake.message_bytes_max = limits_.frame_bytes_max;
    events_.ended = nullptr;
    upgrade_(std::move(stream_), handshake, world);
  }

  /// Calls a function that supplies the answer, on any thread.
  void ask(Site::Reply reply) {
    reply.ask([weak = weak_from_this(), work = work_, head_only = reply.answer.head_only,
               closes = reply.answer.closes](HttpAnswer answer) {
      // The loop outlives the connection, and may be gone once the connection is. The connection's
      // last reference is released on the loop's thread.
      auto self = weak.lock();
      if (!self) return;
      answer.head_only = head_only;
      answer.closes = closes;
      Loop& loop = self->host_.loop;
      loop.post([self = std::move(self), work, answer = std::move(answer)]() mutable {
        if (self->work_ == work) self->send(std::move(answer));
      });
    });
  }

  // --- bodies

  void take_body(Site::Reply reply, std::uint64_t bytes) {
    body_ = std::move(reply.body);
    unread_ = bytes;
    bytes_ = reader_.take(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece_bytes)));
    bytes_.empty() ? receive_body() : pass_body_on();
  }

  void receive_body() {
    if (unread_ == 0) return answer_body();
    enter(Phase::receiving);
    bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(unread_, piece_bytes)));
    ++pending_;
    stream_->read_some(bytes_, [self = shared_from_this()](StreamRead got) {
      --self->pending_;
      if (got.end != StreamRead::End::none) return self->end();
      self->bytes_.resize(got.bytes);
      self->pass_body_on();
    });
  }

  /// Passes received bytes on, on the thread that may wait for the disk.
  void pass_body_on() {
    struct Piece {
      std::vector<std::byte> bytes;
      bool needs_more = false;
    };
    auto piece = std::make_shared<Piece>(std::move(bytes_));
    unread_ -= piece->bytes.size();
    enter(Phase::working);
    host_.loop.run_beside(
        Loop::Beside::files, [piece, body = body_] { piece->needs_more = body->take(piece->bytes); },
        [weak = weak_from_this(), work = work_, piece] {
          const auto self = weak.lock();
          if (!self || self->work_ != work) return;
          self->bytes_ = std::move(piece->bytes);
          piece->needs_more ? self->receive_body() : self->answer_body();
        });
  }

  /// Sends the answer, and closes the connection because some of the body may be unread.
  void answer_body() {
    auto answer = std::make_shared<HttpAnswer>();
    enter(Phase::working);
    host_.loop.run_beside(
        Loop::Beside::files, [answer, body = std::move(body_)] { *answer = body->done(); },
        [weak = weak_from_this(), work = work_, answer] {
          const auto self = weak.lock();
          if (!self || self->work_ != work) return;
          answer->closes = true;
          self->send(std::move(*answer));
        });
  }

  /// Drops an incomplete body on the thread that may wait for the disk.
  void drop_body() {
    if (body_) host_.loop.run_beside(Loop::Beside::files, [body = std::exchange(body_, nullptr)] {}, [] {});
  }

  // --- answers

  void send(HttpAnswer answer) {
    ++work_;
    add_common_fields(answer);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string head =
        http_head(answer, !answer.closes, std::chrono::duration_cast<std::chrono::seconds>(now).count());
    answer_ = std::move(answer);
    const std::span<const char> text = answer_.kept ? std::span<const char>(*answer_.kept) : answer_.text;
    bytes_.assign(reinterpret_cast<const std::byte*>(head.data()),
                  reinterpret_cast<const std::byte*>(head.data() + head.size()));
    unsent_ = 0;
    if (!answer_.head_only && answer_.status != 304) {
      if (!answer_.kept && answer_.file) {
        unsent_ = answer_.file.bytes();
      } else if (text.size() <= piece_bytes) {
        const auto body = std::as_bytes(text);
        bytes_.insert(bytes_.end(), body.begin(), body.end());
      } else {
        unsent_ = text.size();
      }
    }
    write(bytes_);
  }

  void write(std::span<const std::byte> bytes) {
    enter(Phase::writing);
    ++pending_;
    stream_->write({&bytes, 1}, [self = shared_from_this()](bool sent) {
      --self->pending_;
      if (!sent) return self->end();
      self->write_on();
    });
  }

  void write_on() {
    if (unsent_ == 0) return sent_all();
    if (answer_.kept)
      return write(std::as_bytes(std::span(*answer_.kept).last(static_cast<std::size_t>(std::exchange(unsent_, 0)))));
    read_file();
  }

  /// Reads the next piece of the file on the thread that may wait for the disk.
  void read_file() {
    struct Piece {
      OpenFile file;
      std::vector<std::byte> bytes;
    };
    auto piece = std::make_shared<Piece>(std::move(answer_.file), std::move(bytes_));
    piece->bytes.resize(std::min<std::uint64_t>(unsent_, piece_bytes));
    enter(Phase::working);
    host_.loop.run_beside(
        Loop::Beside::files,
        [piece] {
          const ssize_t got = ::read(piece->file.descriptor(), piece->bytes.data(), piece->bytes.size());
          piece->bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        },
        [weak = weak_from_this(), work = work_, piece] {
          const auto self = weak.lock();
          if (!self || self->work_ != work) return;
          self->answer_.file = std::move(piece->file);
          self->bytes_ = std::move(piece->bytes);
          // If the file was truncated, its announced length is wrong.
          if (self->bytes_.empty()) return self->end();
          self->unsent_ -= self->bytes_.size();
          self->write(self->bytes_);
        });
  }

  void sent_all() {
    const bool closes = answer_.closes;
    answer_ = {};
    if (bytes_.capacity() > 16384) std::vector<std::byte>().swap(bytes_);
    if (!closes) {
      enter(Phase::reading);
      return take_request();
    }
    enter(Phase::closing);
    stream_->end(Farewell::done);
    throw_away();
  }

  /// Reads and discards any bytes that still arrive, up to a limit, so that the client does not
  /// lose the answer to a connection reset.
  void throw_away() {
    if (too_late_) return;  // the pending read ends when the stream does
    ++pending_;
    stream_->read_some(rest_, [self = shared_from_this()](StreamRead got) {
      --self->pending_;
      self->thrown_away_ += got.bytes;
      if (got.end != StreamRead::End::none || self->thrown_away_ > self->limits_.stranger_bytes_max) return self->end();
      self->throw_away();
    });
  }

  std::unique_ptr<WireStream> stream_;  // null once it has become a WebSocket
  HttpHost& host_;
  const std::string address_;
  std::string client_;  // address of the current request's client, which may be behind a proxy
  const ServerLimits& limits_;
  ServedStreamEvents events_;
  Upgrade upgrade_;
  HttpReader reader_;
  HttpAnswer answer_;
  std::vector<std::byte> bytes_;      // bytes being sent
  std::array<std::byte, 4096> rest_;  // discarded bytes
  std::shared_ptr<BodyTaker> body_;   // takes the rest of the current request, of `unread_` bytes
  std::uint64_t unread_ = 0;
  std::uint64_t unsent_ = 0;  // bytes of the body that follow `bytes_`
  std::size_t thrown_away_ = 0;
  int pending_ = 0;         // number of pending reads and writes
  std::uint64_t work_ = 0;  // number of the current request; results for any other request are too
                            // late
  Phase phase_ = Phase::reading;
  bool too_late_ = false;
  Clock::time_point since_ = Clock::now();
};

}  // namespace

std::shared_ptr<ServedStream> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                   std::string address, std::span<const std::byte> came,
                                                   ServedStreamEvents events, Upgrade upgrade) {
  auto made = std::make_shared<HttpConnection>(std::move(stream), host, std::move(address), std::move(events),
                                               std::move(upgrade));
  made->start(came);
  return made;
}

}  // namespace muster
