#include "server/door/listener.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <deque>
#include <set>
#include <thread>

#include "server/door/listening.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using Socket = asio::generic::stream_protocol::socket;  // TCP and Unix alike
using Clock = std::chrono::steady_clock;
using error_code = boost::system::error_code;
constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

constexpr auto retry_after = std::chrono::milliseconds(1);    // the world is behind
constexpr auto linger_max = std::chrono::milliseconds(1000);  // for a client to read why it is closed

/// The stream of one client, a stranger until its Hello is accepted. Listener's thread only.
///
///     read_all   socket -> FrameDecoder -> SessionProtocol -> inbox, desk
///     write_all  Outgoing -> socket            sleeps on wake_writer_ while there is nothing
class SessionStream : public std::enable_shared_from_this<SessionStream> {
 public:
  /// `strangers` counts it until it is a session or closed.
  SessionStream(Socket socket, Door& door, std::string address, std::uint32_t& strangers)
      : socket_(std::move(socket)),
        wake_writer_(socket_.get_executor()),
        retry_(socket_.get_executor()),
        outgoing_(std::make_shared<Outgoing>(door.desk.limits().outgoing)),
        decoder_(door.desk.limits().hello_bytes_max),
        protocol_(door, outgoing_, std::move(address)),
        limits_(door.desk.limits()),
        strangers_(strangers) {
    wake_writer_.expires_at(Clock::time_point::max());
    ++strangers_;
  }

  void start(Desk& desk, std::function<void()> ended) {
    ended_ = std::move(ended);
    outgoing_->on_ready([weak = weak_from_this(), executor = socket_.get_executor()] {
      // Whoever queues something may be the world's thread: it only leaves a note.
      if (auto self = weak.lock()) asio::post(executor, [self = std::move(self)] { self->wake_writer_.cancel(); });
    });
    outgoing_->on_room([&desk] { desk.host().wake(); });
    asio::co_spawn(socket_.get_executor(), run_reader(shared_from_this()), asio::detached);
    asio::co_spawn(socket_.get_executor(), run_writer(shared_from_this()), asio::detached);
  }

  void stop() { protocol_.on_stop(); }
  bool is_stranger() const noexcept { return is_stranger_; }
  /// Closes the stream of a stranger whose place another one gets.
  void give_way() {
    protocol_.on_crowd();
    abort();
  }

  /// Called a few times within every time limit.
  void check_times(Clock::time_point now) {
    if (writing_since_ && now - *writing_since_ > limits_.stall_max) return abort();
    if (closing_since_ && now - *closing_since_ > linger_max) return abort();
    if (closing_since_ || outgoing_->closed()) return;
    const auto quiet = now - heard_;
    if (!protocol_.welcomed() ? now - began_ > limits_.hello_time_max
                              : limits_.silence_max.count() > 0 && quiet > limits_.silence_max)
      protocol_.on_silence();
  }

  void abort() {
    error_code ignored;
    socket_.close(ignored);
    outgoing_->close();
    wake_writer_.cancel();
    retry_.cancel();
    no_stranger();
  }

 private:
  void no_stranger() noexcept {
    if (std::exchange(is_stranger_, false)) --strangers_;
  }

  // The frames of these two keep the connection alive; when both are done it goes.
  static awaitable<void> run_reader(std::shared_ptr<SessionStream> self) {
    co_await self->read_all();
    self->outgoing_->close();
    self->wake_writer_.cancel();
    self->reading_ = false;
    self->end_if_done();
  }
  static awaitable<void> run_writer(std::shared_ptr<SessionStream> self) {
    co_await self->write_all();
    self->outgoing_->close();
    self->writing_ = false;
    error_code ignored;
    self->closing_since_ = Clock::now();
    // The reader goes on taking what the client still sends, so that the last Fault is not lost to a reset.
    self->socket_.shutdown(Socket::shutdown_send, ignored);
    if (!self->reading_) self->socket_.close(ignored);
    self->end_if_done();
  }
  void end_if_done() {
    if (reading_ || writing_) return;
    error_code ignored;
    socket_.close(ignored);
    no_stranger();
    if (ended_) std::exchange(ended_, nullptr)();
  }

  awaitable<void> read_all() {
    bool listening = true;  // false: what comes is thrown away, as far as it is bounded
    std::size_t thrown_away = 0;
    while (true) {
      const std::span<std::byte> room = decoder_.room();
      auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), use_tuple);
      if (error) {
        if (listening && error == asio::error::eof)
          if (const auto whole = decoder_.finish(); !whole) protocol_.on_fault(whole.error());
        co_return;
      }
      if (!listening) {  // room() is asked again without received(): the bytes are forgotten
        thrown_away += bytes;
        if (thrown_away > (protocol_.welcomed() ? limits_.frame_bytes_max : limits_.stranger_bytes_max))
          co_return abort();
        continue;
      }
      heard_ = Clock::now();
      decoder_.received(bytes);
      listening = co_await take_frames();
    }
  }

  /// False: nothing more is read.
  awaitable<bool> take_frames() {
    while (true) {
      const auto frame = decoder_.next();
      if (!frame) {
        protocol_.on_fault(frame.error());
        co_return false;
      }
      if (!*frame) co_return true;
      while (true) {
        const SessionProtocol::Outcome outcome = protocol_.on_frame(**frame);
        if (outcome == SessionProtocol::Outcome::closed) co_return false;
        if (outcome == SessionProtocol::Outcome::done) break;
        if (outcome == SessionProtocol::Outcome::held) {
          retry_.expires_after(protocol_.held_for());
          co_await retry_.async_wait(use_tuple);
          protocol_.let_go();
          co_return false;
        }
        retry_.expires_after(retry_after);
        co_await retry_.async_wait(use_tuple);
        if (outgoing_->closed()) co_return false;
      }
      if (protocol_.welcomed()) no_stranger();
      decoder_.set_frame_bytes_max(protocol_.frame_bytes_max());
    }
  }

  awaitable<void> write_all() {
    std::vector<std::byte> bytes;
    while (true) {
      while (outgoing_->take(bytes)) {
        writing_since_ = Clock::now();
        auto [error, sent] = co_await asio::async_write(socket_, asio::buffer(bytes), use_tuple);
        writing_since_.reset();
        outgoing_->sent();
        if (error) co_return;
      }
      if (outgoing_->closed()) co_return;
      if (bytes.capacity() > 16384) std::vector<std::byte>().swap(bytes);
      co_await wake_writer_.async_wait(use_tuple);
    }
  }

  Socket socket_;
  asio::steady_timer wake_writer_;  // never expires; cancelled to wake
  asio::steady_timer retry_;
  std::shared_ptr<Outgoing> outgoing_;
  FrameDecoder decoder_;
  SessionProtocol protocol_;
  const ServerLimits limits_;
  std::uint32_t& strangers_;
  bool is_stranger_ = true;
  std::function<void()> ended_;
  bool reading_ = true, writing_ = true;
  Clock::time_point began_ = Clock::now(), heard_ = Clock::now();
  std::optional<Clock::time_point> writing_since_, closing_since_;
};

/// The kernel notices a peer that vanished without a word (a pulled cable) within two minutes, as reads and writes that fail.
void keep_alive(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  using Seconds = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using Interval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using Probes = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  socket.set_option(Seconds(60), ignored);
  socket.set_option(Interval(15), ignored);
  socket.set_option(Probes(4), ignored);
}

/// For those who slow down and log: of a Unix socket all clients are one.
std::string address_of(const tcp::socket& socket) {
  error_code ignored;
  return socket.remote_endpoint(ignored).address().to_string();
}
std::string address_of(const Local::socket&) { return "the Unix socket"; }

}  // namespace

struct Listener::Impl {
  Impl(Desk& the_desk, ListenerOptions the_options)
      : desk(the_desk),
        options(std::move(the_options)),
        door{desk, options.admissions, options.log,
             Refusals(options.warn ? options.warn : options.log, desk.limits().wrong_token_delay_max)},
        tcp_door(io),
        unix_door(io),
        sweep(io) {}

  Desk& desk;
  ListenerOptions options;
  Door door;
  asio::io_context io{1};
  tcp::acceptor tcp_door;
  Local::acceptor unix_door;
  asio::steady_timer sweep;
  std::string address;
  std::uint32_t strangers = 0;
  std::deque<std::weak_ptr<SessionStream>> newcomers;  // as they came; many are strangers no more
  std::set<std::shared_ptr<SessionStream>> streams;
  std::atomic<std::uint32_t> streams_open = 0;
  bool stopping = false;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;

  void open() {
    if (!options.listen.empty()) {
      const ListeningSocket made = listen_tcp(options.listen);
      tcp_door.assign(made.is_v6 ? tcp::v6() : tcp::v4(), made.descriptor);
      address = made.address;
    }
    if (!options.unix_path.empty()) unix_door.assign(Local(), listen_unix(options.unix_path).descriptor);
  }

  /// False: there is none.
  bool send_oldest_stranger_away() {
    while (!newcomers.empty()) {
      const std::shared_ptr<SessionStream> oldest = newcomers.front().lock();
      newcomers.pop_front();
      if (!oldest || !oldest->is_stranger()) continue;
      oldest->give_way();
      return true;
    }
    return false;
  }

  template <class Acceptor>
  awaitable<void> accept_all(Acceptor& acceptor) {
    asio::steady_timer pause(io);
    while (!stopping) {
      auto [error, accepted] = co_await acceptor.async_accept(use_tuple);
      if (error == asio::error::operation_aborted || stopping) co_return;
      if (error) {  // out of descriptors: a stranger gives its up; sessions go on, newcomers wait
        door.refusals.note("a connection", "cannot be accepted: " + error.message(), Clock::now());
        (void)send_oldest_stranger_away();
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(use_tuple);
        continue;
      }
      if constexpr (std::is_same_v<Acceptor, tcp::acceptor>) {
        error_code ignored;
        accepted.set_option(tcp::no_delay(true), ignored);
        keep_alive(accepted);
      }
      // A client says Hello at once: where there are too many strangers it is not the newest who means no harm.
      while (strangers >= desk.limits().strangers_max && send_oldest_stranger_away()) {
      }
      std::string from = address_of(accepted);
      auto stream = std::make_shared<SessionStream>(Socket(std::move(accepted)), door, std::move(from), strangers);
      newcomers.push_back(stream);
      streams.insert(stream);
      streams_open.store(static_cast<std::uint32_t>(streams.size()));
      stream->start(desk, [this, weak = std::weak_ptr(stream)] {
        streams.erase(weak.lock());
        streams_open.store(static_cast<std::uint32_t>(streams.size()));
        if (stopping && streams.empty()) io.stop();
      });
    }
  }

  awaitable<void> sweep_all() {
    const ServerLimits& limits = desk.limits();
    auto shortest = std::min(limits.hello_time_max, limits.stall_max);
    if (limits.silence_max.count() > 0) shortest = std::min(shortest, limits.silence_max);
    const auto interval = std::clamp<std::chrono::nanoseconds>(shortest / 4, std::chrono::milliseconds(10),
                                                               std::chrono::milliseconds(500));
    while (true) {
      sweep.expires_after(interval);
      auto [error] = co_await sweep.async_wait(use_tuple);
      if (error) co_return;
      const Clock::time_point now = Clock::now();
      const std::vector<std::shared_ptr<SessionStream>> present(streams.begin(), streams.end());
      for (const auto& stream : present) stream->check_times(now);
      door.refusals.tell(now);
      std::erase_if(newcomers, [](const auto& weak) {
        const auto stream = weak.lock();
        return !stream || !stream->is_stranger();
      });
    }
  }
};

Listener::Listener(Desk& desk, ListenerOptions options) : impl_(std::make_unique<Impl>(desk, std::move(options))) {
  Impl& impl = *impl_;
  impl.open();
  impl.work.emplace(asio::make_work_guard(impl.io));
  if (impl.tcp_door.is_open()) asio::co_spawn(impl.io, impl.accept_all(impl.tcp_door), asio::detached);
  if (impl.unix_door.is_open()) asio::co_spawn(impl.io, impl.accept_all(impl.unix_door), asio::detached);
  asio::co_spawn(impl.io, impl.sweep_all(), asio::detached);
  impl.thread = std::thread([&impl] { impl.io.run(); });
}

Listener::~Listener() { stop(); }

void Listener::stop() {
  Impl& impl = *impl_;
  if (!impl.thread.joinable()) return;
  asio::post(impl.io, [&impl] {
    impl.stopping = true;
    error_code ignored;
    impl.tcp_door.close(ignored);
    impl.unix_door.close(ignored);
    impl.work.reset();
    const std::vector<std::shared_ptr<SessionStream>> present(impl.streams.begin(), impl.streams.end());
    for (const auto& stream : present) stream->stop();
    if (impl.streams.empty()) return impl.io.stop();
    auto last = std::make_shared<asio::steady_timer>(impl.io, std::chrono::seconds(1));
    last->async_wait([&impl, last](error_code) { impl.io.stop(); });
  });
  impl.thread.join();
  if (!impl.options.unix_path.empty()) ::unlink(impl.options.unix_path.c_str());
  impl.streams.clear();
}

const std::string& Listener::address() const noexcept { return impl_->address; }
std::uint32_t Listener::streams() const noexcept { return impl_->streams_open.load(); }

void Listener::call_in(std::chrono::nanoseconds time, std::function<void()> f) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->io, time);
  timer->async_wait([timer, f = std::move(f)](error_code error) {
    if (!error) f();
  });
}

}  // namespace muster
