#include "server/door/session_stream.h"

#include <optional>
#include <utility>

#include "server/web/http_request.h"

namespace muster {
namespace {

// Interval between retries while the world is behind.
constexpr auto retry_after = std::chrono::milliseconds(1);
// Interval between retries while the user's other sessions are sending large frames.
constexpr auto large_retry_after = std::chrono::milliseconds(20);

/// Must be used only on the listener's thread. Pending operations on the stream keep this object
/// alive.
///
///     read_on    stream -> FrameDecoder -> SessionProtocol -> desk; waits while the world is behind
///     write_on   Outgoing -> stream; called again when something is queued
class SessionStream final : public ServedStream, public std::enable_shared_from_this<SessionStream> {
 public:
  SessionStream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop, std::string address,
                ServedStreamEvents events, Divert divert)
      : stream_(std::move(stream)),
        loop_(loop),
        connection_(std::make_shared<Connection>(door.desk.limits().outgoing)),
        outgoing_(connection_->outgoing),
        decoder_(door.desk.limits().hello_bytes_max),
        protocol_(door, connection_, std::move(address)),
        limits_(door.desk.limits()),
        events_(std::move(events)),
        divert_(std::move(divert)) {}

  void start(Desk& desk) {
    outgoing_.on_ready([weak = weak_from_this(), &loop = loop_] {
      // The caller may be the world thread, so only post a call here.
      if (auto self = weak.lock()) loop.post([self = std::move(self)] { self->write_on(); });
    });
    outgoing_.on_room([&desk] { desk.on_watch_room(); });
    outgoing_.on_answer_room([&desk] { desk.world().wake(); });
    read_on();
  }

  void stop() override { protocol_.on_stop(); }
  void notify(const session::Fault& fault) override { protocol_.notify(fault); }

  void give_way() override {
    protocol_.on_crowd();
    abort();
  }

  bool evict(std::uint64_t user, const session::Fault& why) override {
    if (!protocol_.evict(user, why)) return false;
    evicted_since_ = Clock::now();
    return true;
  }

  void check_times(Clock::time_point now) override {
    if (!stream_) return;
    if (evicted_since_ && now - *evicted_since_ > linger_max) return abort();
    if (!closing_since_ && !stream_->is_open()) closing_since_ = now;
    look_whether_it_goes_on(now);
    if (writing_since_ && now - *writing_since_ > limits_.stall_max) {
      if (!outgoing_.closed()) protocol_.on_stall();
      return abort();
    }
    if (closing_since_ && now - *closing_since_ > linger_max) return abort();
    if (closing_since_ || outgoing_.closed()) return;
    protocol_.check_user(Users::Clock::now());
    const auto quiet = now - heard_;
    if (!waiting_ && protocol_.receives_large_frame() && quiet > limits_.stall_max) return protocol_.on_half_frame();
    if (!protocol_.welcomed() ? now - began_ > limits_.hello_time_max
                              : limits_.silence_max.count() > 0 && quiet > limits_.silence_max)
      protocol_.on_silence(!divert_ || !first_.empty());  // browsers open connections in advance
  }

 private:
  /// On a slow connection, writing a piece may take a long time. As long as the client accepts
  /// bytes from the kernel, the stream is not considered stalled.
  void look_whether_it_goes_on(Clock::time_point now) {
    if (!writing_since_) return;
    const std::size_t unsent = stream_->unsent();
    if (unsent < std::exchange(unsent_, unsent)) {
      writing_since_ = now;
      outgoing_.went_on();
    }
  }

  void abort() {
    stream_->close();
    outgoing_.close();
    events_.known();
    if (std::exchange(waiting_, false)) end_reading();
  }

  // --- reading

  void read_on() {
    // The memory of a large frame is allocated only while its user has a share left.
    if (!protocol_.may_receive(listening_ && protocol_.welcomed() ? decoder_.awaited_bytes() : 0))
      return wait(large_retry_after, [](SessionStream& self) {
        if (self.outgoing_.closed()) return self.listen_no_more();
        self.read_on();
      });
    room_ = decoder_.room();
    stream_->read_some(room_, [self = shared_from_this()](StreamRead got) { self->took(got); });
  }

  void took(StreamRead got) {
    if (got.end != StreamRead::End::none) {
      if (listening_ && got.end == StreamRead::End::ended)
        if (const auto whole = decoder_.finish(); !whole) protocol_.on_fault(whole.error());
      return end_reading();
    }
    if (!listening_) {  // the next room() discards the bytes, because received() was not called
      thrown_away_ += got.bytes;
      if (thrown_away_ <= (protocol_.welcomed() ? limits_.frame_bytes_max : limits_.stranger_bytes_max))
        return read_on();
      abort();
      return end_reading();
    }
    heard_ = Clock::now();
    if (divert_ && diverted(got.bytes)) return;
    if (!divert_ && refused_over_tls()) return listen_no_more();
    decoder_.received(got.bytes);
    protocol_.on_bytes();
    take_frames();
  }

  /// Checks whether the first bytes are HTTP rather than a frame. If they are HTTP, passes the
  /// stream on and returns true; the stream then no longer belongs to this connection.
  bool diverted(std::size_t bytes) {
    const std::span<const std::byte> came = room_.first(bytes);
    first_.insert(first_.end(), came.begin(), came.end());
    if (first_.size() < 4) return false;
    const Divert divert = std::exchange(divert_, nullptr);
    std::vector<std::byte> first = std::exchange(first_, {});
    speaks_tls_ = begins_tls(first);
    if (!begins_http(first)) return false;
    reading_ = writing_ = false;
    outgoing_.close();
    divert(std::move(stream_), std::move(first));
    return true;
  }

  /// Refuses a client that uses TLS where the port does not, or the other way round.
  bool refused_over_tls() {
    if (!std::exchange(looks_for_tls_, false)) return false;
    if (!speaks_tls_ && !stream_->needs_tls()) return false;
    protocol_.on_wrong_port(stream_->needs_tls());
    return true;
  }

  void take_frames() {
    listener_thread.is_here();
    struct NoMore {  // runs on every return
      SessionProtocol& protocol;
      ~NoMore() {
        listener_thread.is_here();
        protocol.on_no_more();
      }
    };
    const NoMore no_more{protocol_};
    while (true) {
      if (!has_frame_ && !decoder_.next_plain(frame_)) {
        const auto next = decoder_.next();
        if (!next) {
          protocol_.on_fault(next.error());
          return listen_no_more();
        }
        if (!*next) return read_on();
        frame_ = **next;
      }
      has_frame_ = true;
      const SessionProtocol::Outcome outcome = protocol_.on_frame(frame_);
      if (outcome == SessionProtocol::Outcome::closed) return listen_no_more();
      if (outcome == SessionProtocol::Outcome::held)
        return wait(protocol_.held_for(), [](SessionStream& self) {
          self.protocol_.let_go();
          self.listen_no_more();
        });
      if (outcome == SessionProtocol::Outcome::wait)
        return wait(retry_after, [](SessionStream& self) {
          if (self.outgoing_.closed()) return self.listen_no_more();
          self.take_frames();
        });
      has_frame_ = false;
      if (known_ || !protocol_.welcomed()) continue;
      known_ = true;
      events_.known();
      decoder_.set_frame_bytes_max(protocol_.frame_bytes_max());
    }
  }

  /// Calls `then` after `time` has passed. Until then, no bytes are read.
  void wait(std::chrono::nanoseconds time, void (*then)(SessionStream&)) {
    waiting_ = true;
    loop_.call_in(time, [weak = weak_from_this(), then] {
      const auto self = weak.lock();
      if (self && std::exchange(self->waiting_, false)) then(*self);
    });
  }

  /// Reads and discards any bytes that still arrive, up to a limit, so that the client does not
  /// lose the final Fault to a connection reset.
  void listen_no_more() {
    decoder_ = FrameDecoder(limits_.hello_bytes_max);
    listening_ = false;
    has_frame_ = false;
    read_on();
  }

  void end_reading() {
    outgoing_.close();
    reading_ = false;
    if (!writing_) end();
  }

  // --- writing

  void write_on() {
    if (!writing_ || writing_since_) return;
    for (int at_once = 0; outgoing_.take(piece_);) {
      // On an idle connection, a single piece, such as an answer, is sent immediately. Before any
      // further piece, other connections get a turn of the loop.
      if (at_once++ == 0 && stream_->write_at_once(piece_.parts())) {
        outgoing_.sent();
        continue;
      }
      writing_since_ = Clock::now();
      unsent_ = 0;
      return stream_->write(piece_.parts(), [self = shared_from_this()](bool sent) {
        self->writing_since_.reset();
        self->outgoing_.sent();
        if (sent) return self->write_on();
        self->end_writing();
      });
    }
    if (outgoing_.closed()) return end_writing();
  }

  void end_writing() {
    outgoing_.close();
    writing_ = false;
    closing_since_ = Clock::now();
    stream_->end(protocol_.farewell());
    if (!reading_) end();
  }

  void end() {
    stream_->close();
    events_.known();
    if (const auto ended = std::exchange(events_.ended, nullptr)) ended();
  }

  std::unique_ptr<WireStream> stream_;  // null once it has been diverted
  Loop& loop_;
  const std::shared_ptr<Connection> connection_;
  Outgoing& outgoing_;  // the queue of the connection
  FrameDecoder decoder_;
  SessionProtocol protocol_;
  const ServerLimits& limits_;
  ServedStreamEvents events_;
  Divert divert_;                 // null once the first bytes are known
  std::vector<std::byte> first_;  // the first bytes, while there are too few to decide
  std::span<std::byte> room_;     // the decoder's memory for the next read
  WireFrame frame_;
  bool speaks_tls_ = false, looks_for_tls_ = true;
  bool has_frame_ = false;  // a frame was offered but not accepted
  OutgoingPiece piece_;     // piece that is being sent
  std::size_t unsent_ = 0;  // bytes in the kernel at the previous check; 0 if none yet
  std::size_t thrown_away_ = 0;
  bool known_ = false;     // no longer a stranger
  bool listening_ = true;  // if false, arriving bytes are discarded
  bool waiting_ = false;   // reads are paused until a timer fires
  bool reading_ = true, writing_ = true;
  Clock::time_point began_ = Clock::now(), heard_ = Clock::now();
  std::optional<Clock::time_point> writing_since_, closing_since_, evicted_since_;
};

}  // namespace

std::shared_ptr<ServedStream> open_session_stream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop,
                                                  std::string address, ServedStreamEvents events, Divert divert) {
  auto made = std::make_shared<SessionStream>(std::move(stream), door, loop, std::move(address), std::move(events),
                                              std::move(divert));
  made->start(door.desk);
  return made;
}

}  // namespace muster
