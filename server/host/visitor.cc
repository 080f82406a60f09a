#include "server/host/visitor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "server/door/socket_stream.h"
#include "server/host/hello.h"
#include "server/host/world_name.h"
#include "server/web/http_request.h"

namespace muster::hosting {
namespace {

constexpr std::chrono::seconds hello_time_max(5);
constexpr std::size_t piece_bytes = 65536;
// Number of times that a world is woken for a visitor whose Hello it did not answer, because its
// server was ending by itself.
constexpr int wakes_max = 3;

/// One direction of a visitor's bytes. A piece is read only after the previous one has been
/// written, so that a reader that is slow delays the writer, and nothing else.
struct Lane {
  std::vector<std::byte> room;
  bool has_ended = false;
};

/// Must be used only on the loop's thread. Pending operations keep this object alive.
class Visitor final : public ServedStream, public std::enable_shared_from_this<Visitor> {
 public:
  Visitor(std::unique_ptr<WireStream> stream, Reception& reception, std::string address, std::string world,
          ServedStreamEvents events, ToHttp to_http)
      : stream_(std::move(stream)),
        reception_(reception),
        address_(std::move(address)),
        world_(std::move(world)),
        events_(std::move(events)),
        to_http_(std::move(to_http)) {}

  void start() { read_hello(); }

  void check_times(Clock::time_point now) override {
    const auto spent = now - since_;
    if (phase_ == Phase::hello && spent > hello_time_max) {
      if (!reader_.bytes().empty()) reception_.refusals.note(address_, "the Hello was not complete in time", now);
      abort();
    } else if (phase_ == Phase::closing && spent > linger_max) {
      abort();
    }
  }
  void give_way() override {
    reception_.refusals.note(address_, "too many connections without a Hello", Clock::now());
    abort();
  }
  /// A visitor of a world is told by the world's server.
  void stop() override {
    if (phase_ != Phase::passing && phase_ != Phase::closing)
      refuse(ending_fault(session::FaultCode::stopping, "stopping", "the host stops"));
  }

 private:
  enum class Phase : std::uint8_t { hello, judging, waking, asking, passing, closing, ended };

  void enter(Phase phase) {
    phase_ = phase;
    since_ = Clock::now();
  }

  // --- Hello

  void read_hello() {
    first_.resize(4096);
    is_reading_ = true;
    stream_->read_some(first_, [self = shared_from_this()](StreamRead got) {
      self->is_reading_ = false;
      self->took_hello(got);
    });
  }

  void took_hello(StreamRead got) {
    if (phase_ != Phase::hello) return took_rest(got);
    if (got.end != StreamRead::End::none) return abort();
    const auto bytes = std::span(first_).first(got.bytes);
    if (to_http_ && reader_.bytes().size() < 4) {
      std::vector<std::byte> begin(reader_.bytes().begin(), reader_.bytes().end());
      begin.insert(begin.end(), bytes.begin(), bytes.end());
      if (begin.size() >= 4 && begins_http(begin)) {
        phase_ = Phase::ended;
        events_ = {};
        return to_http_(std::move(stream_), begin);
      }
    }
    if (stream_->needs_tls())
      return refuse(ending_fault(session::FaultCode::bad_frame, "needs_tls", "this port needs TLS"));
    switch (reader_.add(bytes)) {
      case HelloReader::State::incomplete: return read_hello();
      case HelloReader::State::wrong:
        reception_.refusals.note(address_, reader_.fault().text, Clock::now());
        return refuse(reader_.fault());
      case HelloReader::State::complete: return judge_hello();
    }
  }

  void judge_hello() {
    enter(Phase::judging);
    if (world_.empty()) world_ = reader_.hello().world;
    struct Judged {
      bool opens = false, exists = false;
    };
    auto judged = std::make_shared<Judged>();
    reception_.loop.run_beside(
        Loop::Beside::users,
        [judged, admissions = reception_.admissions, folders = reception_.folders, world = world_,
         hello = reader_.hello()] {
          judged->opens = admissions->opens(world, hello);
          judged->exists = folders.has(world);
        },
        [self = shared_from_this(), judged] {
          if (self->phase_ != Phase::judging) return self->end_if_over();
          if (!judged->opens) return self->refuse_token();
          // Only the host's own token opens a world that does not exist.
          if (!judged->exists)
            return self->refuse(ending_fault(
                session::FaultCode::not_found, "no_world",
                self->world_.empty() ? "this is a muster-host, which has several worlds: name one, as in HOST:PORT/town"
                                     : "this host has no world " + shown_name(self->world_)));
          self->events_.known();
          self->wake();
        });
  }

  void refuse_token() {
    const auto now = Clock::now();
    reception_.refusals.note(address_, "the token is not valid here", now);
    const auto delay = reception_.refusals.wrong_token(address_, now);
    reception_.loop.call_in(delay, [self = shared_from_this()] {
      if (self->phase_ != Phase::judging) return self->end_if_over();
      self->refuse(ending_fault(session::FaultCode::bad_token, "bad_token", "the token is not valid here"));
    });
  }

  void refuse(const session::Fault& fault) {
    enter(Phase::closing);
    answer_ = refusal_frame(fault, reader_.request());
    const std::array<std::span<const std::byte>, 1> parts = {answer_};
    stream_->write(parts, [self = shared_from_this()](bool sent) {
      if (!sent) return self->abort();
      self->stream_->end(Farewell::refused);
      self->read_rest();
    });
  }

  /// Reads what still arrives, so that the client does not lose the refusal to a connection reset.
  void read_rest() {
    if (is_reading_) return;
    is_reading_ = true;
    stream_->read_some(first_, [self = shared_from_this()](StreamRead got) {
      self->is_reading_ = false;
      self->took_rest(got);
    });
  }
  void took_rest(StreamRead got) {
    if (phase_ != Phase::closing) return end_if_over();
    if (got.end != StreamRead::End::none) return abort();
    read_rest();
  }

  // --- the world's server

  void wake() {
    enter(Phase::waking);
    ++wakes_;
    reception_.worlds.wake(world_, [self = shared_from_this()](std::expected<int, session::Fault> woken) {
      if (self->phase_ != Phase::waking) {
        // Closes it
        if (woken) (void)open_socket_stream(self->reception_.io, *woken, SocketKind::local);
        return self->end_if_over();
      }
      if (!woken) return self->refuse(woken.error());
      self->ask(*woken);
    });
  }

  /// Passes the Hello on, and waits for the answer.
  void ask(int descriptor) {
    enter(Phase::asking);
    server_ = open_socket_stream(reception_.io, descriptor, SocketKind::local);
    answer_.clear();
    const std::array<std::span<const std::byte>, 1> parts = {reader_.bytes()};
    server_->write(parts, [self = shared_from_this()](bool sent) {
      if (self->phase_ != Phase::asking) return self->end_if_over();
      if (!sent) return self->ask_again();
      self->down_.room.resize(piece_bytes);
      self->read_answer();
    });
  }

  void read_answer() {
    server_->read_some(down_.room, [self = shared_from_this()](StreamRead got) {
      if (self->phase_ != Phase::asking) return self->end_if_over();
      if (got.end != StreamRead::End::none && self->answer_.empty()) return self->ask_again();
      const auto bytes = std::span(self->down_.room).first(got.bytes);
      self->answer_.insert(self->answer_.end(), bytes.begin(), bytes.end());
      const bool is_last = got.end != StreamRead::End::none;
      switch (first_answer(self->answer_)) {
        case FirstAnswer::incomplete:
          if (!is_last) return self->read_answer();
          break;
        case FirstAnswer::stopping: return self->ask_again();
        case FirstAnswer::other: break;
      }
      self->pass(is_last);
    });
  }

  void ask_again() {
    server_->close();
    retired_.push_back(std::move(server_));
    if (wakes_ < wakes_max) return wake();
    refuse(ending_fault(session::FaultCode::failed, "world_failed",
                        "the world " + shown_name(world_) + " ended before it answered"));
  }

  void pass(bool server_has_ended) {
    enter(Phase::passing);
    reception_.worlds.count_visitor(world_, 1);
    is_counted_ = true;
    down_.has_ended = server_has_ended;
    up_.room.resize(piece_bytes);
    write_down(answer_);
    read_up();
  }

  void read_up() {
    is_reading_ = true;
    stream_->read_some(up_.room, [self = shared_from_this()](StreamRead got) {
      self->is_reading_ = false;
      if (self->phase_ != Phase::passing) return self->took_rest(got);
      if (got.end != StreamRead::End::none) return self->end_lane(self->up_, *self->server_, got.end);
      const std::array<std::span<const std::byte>, 1> parts = {std::span(self->up_.room).first(got.bytes)};
      if (self->server_->write_at_once(parts)) return self->read_up();
      self->server_->write(parts, [self](bool sent) {
        if (self->phase_ != Phase::passing) return self->end_if_over();
        if (sent) return self->read_up();
        // The server's last words may still be on their way down.
        self->up_.has_ended = true;
      });
    });
  }

  void read_down() {
    if (down_.has_ended) return end_lane(down_, *stream_, StreamRead::End::ended);
    server_->read_some(down_.room, [self = shared_from_this()](StreamRead got) {
      if (self->phase_ != Phase::passing) return self->end_if_over();
      if (got.end != StreamRead::End::none) return self->end_lane(self->down_, *self->stream_, got.end);
      self->write_down(std::span(self->down_.room).first(got.bytes));
    });
  }

  void write_down(std::span<const std::byte> bytes) {
    const std::array<std::span<const std::byte>, 1> parts = {bytes};
    if (stream_->write_at_once(parts)) return read_down();
    stream_->write(parts, [self = shared_from_this()](bool sent) {
      if (self->phase_ != Phase::passing) return self->end_if_over();
      if (!sent) return self->abort();
      self->read_down();
    });
  }

  /// Ends the other side's stream after one side has finished sending.
  void end_lane(Lane& lane, WireStream& to, StreamRead::End end) {
    lane.has_ended = true;
    if (end == StreamRead::End::broken && &lane == &up_) return abort();
    to.end(Farewell::done);
    if (&lane == &down_) {  // the world's server has ended the session
      enter(Phase::closing);
      server_->close();
      if (up_.has_ended) return abort();
      return read_rest();
    }
  }

  // --- the end

  void abort() {
    enter(Phase::ended);
    if (stream_) stream_->close();
    if (server_) server_->close();
    end_if_over();
  }

  void end_if_over() {
    if (phase_ != Phase::ended) return;
    if (std::exchange(is_counted_, false)) reception_.worlds.count_visitor(world_, -1);
    if (events_.known) events_.known();
    // The caller may be a function of a stream, so the streams live until the loop's next step.
    if (const auto ended = std::exchange(events_.ended, nullptr))
      reception_.loop.post([self = shared_from_this(), ended] { ended(); });
  }

  std::unique_ptr<WireStream> stream_, server_;
  std::vector<std::unique_ptr<WireStream>> retired_;  // of servers that did not answer
  Reception& reception_;
  const std::string address_;
  std::string world_;
  ServedStreamEvents events_;
  ToHttp to_http_;
  HelloReader reader_;
  std::vector<std::byte> first_, answer_;
  Lane up_, down_;  // to the server, and to the client
  Phase phase_ = Phase::hello;
  Clock::time_point since_ = Clock::now();
  int wakes_ = 0;
  bool is_counted_ = false, is_reading_ = false;
};

}  // namespace

std::shared_ptr<ServedStream> open_visitor(std::unique_ptr<WireStream> stream, Reception& reception,
                                           std::string address, std::string world, ServedStreamEvents events,
                                           ToHttp to_http) {
  auto made = std::make_shared<Visitor>(std::move(stream), reception, std::move(address), std::move(world),
                                        std::move(events), std::move(to_http));
  made->start();
  return made;
}

}  // namespace muster::hosting
