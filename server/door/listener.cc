#include "server/door/listener.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <thread>

#include "server/door/server_error.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using Socket = asio::generic::stream_protocol::socket;  // TCP and Unix alike
using Clock = std::chrono::steady_clock;
using error_code = boost::system::error_code;
constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

constexpr auto retry_after = std::chrono::milliseconds(1);    // the world is behind
constexpr auto linger_max = std::chrono::milliseconds(1000);  // for a client to read why it is closed

/// One client. Everything on the listener's thread, but for `signal`.
///
///     read_all   socket -> FrameDecoder -> SessionProtocol -> inbox, desk
///     write_all  Outgoing -> socket            sleeps on wake_writer_ while there is nothing
class SessionStream : public std::enable_shared_from_this<SessionStream> {
 public:
  SessionStream(Socket socket, Desk& desk, const std::vector<Admission>& admissions,
                std::function<void(const std::string&)> log)
      : socket_(std::move(socket)),
        wake_writer_(socket_.get_executor()),
        retry_(socket_.get_executor()),
        outgoing_(std::make_shared<Outgoing>(desk.limits().outgoing)),
        decoder_(desk.limits().hello_bytes_max),
        protocol_(desk, admissions, outgoing_, std::move(log)),
        limits_(desk.limits()) {
    wake_writer_.expires_at(Clock::time_point::max());
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
  }

 private:
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
    if (ended_) std::exchange(ended_, nullptr)();
  }

  awaitable<void> read_all() {
    bool listening = true;  // false: what comes is thrown away
    while (true) {
      const std::span<std::byte> room = decoder_.room();
      auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), use_tuple);
      if (error) {
        if (listening && error == asio::error::eof)
          if (const auto whole = decoder_.finish(); !whole) protocol_.on_fault(whole.error());
        co_return;
      }
      if (!listening) continue;  // room() is asked again without received(): the bytes are forgotten
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
        retry_.expires_after(retry_after);
        co_await retry_.async_wait(use_tuple);
        if (outgoing_->closed()) co_return false;
      }
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

tcp::endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw ServerError("listen address '" + text + "': expected ADDRESS:PORT");
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const std::string port_text = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, failed] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (failed != std::errc{} || end != port_text.data() + port_text.size() || port > 65535)
    throw ServerError("listen address '" + text + "': '" + port_text + "' is no port");
  error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) throw ServerError("listen address '" + text + "': '" + host + "' is no IP address");
  if (!address.is_loopback())
    throw ServerError("listen address '" + text +
                      "': only loopback addresses (127.0.0.1, ::1) are served, since the connection is not encrypted");
  return {address, static_cast<asio::ip::port_type>(port)};
}

/// Returns the address, with the real port.
std::string open_tcp(tcp::acceptor& door, const std::string& listen) {
  const tcp::endpoint endpoint = parse_endpoint(listen);
  error_code error;
  door.open(endpoint.protocol(), error);
  if (!error) door.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) door.bind(endpoint, error);
  if (!error) door.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw ServerError("cannot listen on " + listen + ": " + error.message());
  const tcp::endpoint bound = door.local_endpoint();
  return (bound.address().is_v6() ? "[" + bound.address().to_string() + "]" : bound.address().to_string()) + ":" +
         std::to_string(bound.port());
}

using Local = asio::local::stream_protocol;

/// Whether a socket is there that no server listens on any more. Throws where something else is.
bool is_stale_socket(asio::io_context& io, const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    throw ServerError("socket path '" + path + "' is longer than " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                      " bytes");
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) return false;
  if (!S_ISSOCK(found.st_mode)) throw ServerError("socket path '" + path + "' exists and is no socket");
  error_code refused;
  Local::socket probe(io);
  probe.connect(Local::endpoint(path), refused);
  if (!refused) throw ServerError("another server listens on '" + path + "'");
  return true;
}

void open_unix(Local::acceptor& door, const std::string& path) {
  if (is_stale_socket(static_cast<asio::io_context&>(door.get_executor().context()), path)) ::unlink(path.c_str());
  error_code error;
  door.open(Local(), error);
  if (!error) door.bind(Local::endpoint(path), error);
  // Between bind and listen nobody can connect yet.
  if (!error && ::chmod(path.c_str(), 0600) != 0) error.assign(errno, boost::system::system_category());
  if (!error) door.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw ServerError("cannot listen on '" + path + "': " + error.message());
}

}  // namespace

void check_listening(const ListenerOptions& options) {
  asio::io_context io{1};
  tcp::acceptor tcp_door(io);
  if (!options.listen.empty()) open_tcp(tcp_door, options.listen);
  if (options.unix_path.empty() || is_stale_socket(io, options.unix_path)) return;
  Local::acceptor unix_door(io);
  open_unix(unix_door, options.unix_path);
  ::unlink(options.unix_path.c_str());
}

struct Listener::Impl {
  Impl(Desk& the_desk, ListenerOptions the_options)
      : desk(the_desk), options(std::move(the_options)), tcp_door(io), unix_door(io), sweep(io) {}

  Desk& desk;
  ListenerOptions options;
  asio::io_context io{1};
  tcp::acceptor tcp_door;
  Local::acceptor unix_door;
  asio::steady_timer sweep;
  std::string address;
  std::set<std::shared_ptr<SessionStream>> connections;
  std::atomic<std::uint32_t> connected = 0;
  bool stopping = false;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;

  void log(const std::string& line) const {
    if (options.log) options.log(line);
  }

  void open() {
    if (!options.listen.empty()) address = open_tcp(tcp_door, options.listen);
    if (!options.unix_path.empty()) open_unix(unix_door, options.unix_path);
  }

  template <class Acceptor>
  awaitable<void> accept_all(Acceptor& door) {
    asio::steady_timer pause(io);
    while (!stopping) {
      auto [error, accepted] = co_await door.async_accept(use_tuple);
      if (error == asio::error::operation_aborted || stopping) co_return;
      if (error) {  // out of descriptors: those who are here go on, newcomers wait
        log("cannot accept a connection: " + error.message());
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(use_tuple);
        continue;
      }
      if constexpr (std::is_same_v<Acceptor, tcp::acceptor>) {
        error_code ignored;
        accepted.set_option(tcp::no_delay(true), ignored);
        keep_alive(accepted);
      }
      // Strangers may hold some places beside the sessions, until their time for a Hello is over.
      if (connections.size() >= desk.limits().sessions_max + 64u) continue;
      auto connection =
          std::make_shared<SessionStream>(Socket(std::move(accepted)), desk, options.admissions, options.log);
      connections.insert(connection);
      connected.store(static_cast<std::uint32_t>(connections.size()));
      connection->start(desk, [this, weak = std::weak_ptr(connection)] {
        connections.erase(weak.lock());
        connected.store(static_cast<std::uint32_t>(connections.size()));
        if (stopping && connections.empty()) io.stop();
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
      const std::vector<std::shared_ptr<SessionStream>> present(connections.begin(), connections.end());
      for (const auto& connection : present) connection->check_times(now);
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
    const std::vector<std::shared_ptr<SessionStream>> present(impl.connections.begin(), impl.connections.end());
    for (const auto& connection : present) connection->stop();
    if (impl.connections.empty()) return impl.io.stop();
    auto last = std::make_shared<asio::steady_timer>(impl.io, std::chrono::seconds(1));
    last->async_wait([&impl, last](error_code) { impl.io.stop(); });
  });
  impl.thread.join();
  if (!impl.options.unix_path.empty()) ::unlink(impl.options.unix_path.c_str());
  impl.connections.clear();
}

const std::string& Listener::address() const noexcept { return impl_->address; }
std::uint32_t Listener::connections() const noexcept { return impl_->connected.load(); }

void Listener::call_in(std::chrono::nanoseconds time, std::function<void()> f) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->io, time);
  timer->async_wait([timer, f = std::move(f)](error_code error) {
    if (!error) f();
  });
}

}  // namespace muster
