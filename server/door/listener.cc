#include "server/door/listener.h"

#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <deque>
#include <latch>
#include <set>
#include <system_error>
#include <thread>

#include "server/assets/asset_requests.h"
#include "server/desk/asked_figures.h"
#include "server/door/disk_thread.h"
#include "server/door/http_connection.h"
#include "server/door/listening.h"
#include "server/door/loop.h"
#include "server/door/served_stream.h"
#include "server/door/session_stream.h"
#include "server/door/slice_maker.h"
#include "server/door/socket_stream.h"
#include "server/door/tls_stream.h"
#include "server/door/web_stream.h"
#include "system/mutex.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using Clock = std::chrono::steady_clock;
using error_code = boost::system::error_code;
constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

/// Configures the kernel to detect within two minutes that a peer has vanished silently, for
/// example because a cable was unplugged. Reads and writes then fail.
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

/// Returns the address used for delays and logs. All clients of a Unix socket have the same
/// address.
std::string address_of(const tcp::socket& socket) {
  error_code ignored;
  return socket.remote_endpoint(ignored).address().to_string();
}
std::string address_of(const Local::socket&) { return "the Unix socket"; }

SocketKind kind_of(const tcp::socket& socket) {
  error_code ignored;
  return socket.local_endpoint(ignored).address().is_v6() ? SocketKind::tcp_v6 : SocketKind::tcp_v4;
}
SocketKind kind_of(const Local::socket&) { return SocketKind::local; }

/// Returns true if the other end of a Unix socket is a process of this process' user or of root.
/// Its file's mode says the same, but a folder's owner may have put another file there.
bool is_of_own_user(Local::socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

constexpr int kernel_bytes_max = 128 << 10;  // limit on unread bytes; Linux doubles it
constexpr int kernel_unsent_max = 32 << 10;  // limit on untransmitted bytes

/// Queues calls that other threads make on the listener's thread, and wakes that thread through a
/// separate eventfd. Asio would wake the thread by modifying its epoll set, and the kernel would
/// hold the set's lock meanwhile. If the listener's thread were woken on the waker's core, it would
/// go back to sleep until the waker had released the lock. That would add two thread switches per
/// answer.
class PostedCalls {
 public:
  explicit PostedCalls(asio::io_context& io) : wake_(io, made()) { wait(); }

  void add(std::move_only_function<void()> call) {
    {
      const MutexLock lock(mutex_);
      calls_.push_back(std::move(call));
      if (calls_.size() > 1) return;  // the thread is awake or has been woken
    }
    const std::uint64_t one = 1;
    // The write fails only if the counter is full. In that case, the thread has already been woken.
    (void)!::write(wake_.native_handle(), &one, sizeof one);
  }

 private:
  static int made() {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return descriptor;
  }
  void wait() {
    wake_.async_read_some(asio::buffer(&count_, sizeof count_), [this](error_code error, std::size_t) {
      if (error) return;
      {
        const MutexLock lock(mutex_);
        calls_.swap(called_);
      }
      for (auto& call : called_) call();
      called_.clear();
      wait();
    });
  }

  Mutex mutex_;
  std::vector<std::move_only_function<void()>> calls_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::move_only_function<void()>> called_;  // used by the listener's thread
  std::uint64_t count_ = 0;
  asio::posix::stream_descriptor wake_;
};

/// An accepted connection, regardless of its protocol.
struct Visit {
  std::shared_ptr<ServedStream> now;
  bool is_stranger = true;
};

}  // namespace

struct Listener::Impl final : Loop {
  Impl(Desk& the_desk, ListenerOptions the_options)
      : desk(the_desk),
        options(std::move(the_options)),
        door{desk, Users(options.admissions, options.users_file, options.world_id), options.log,
             Refusals(options.warn ? options.warn : options.log, desk.limits().wrong_token_delay_max),
             options.displaced},
        tcp_door(io),
        unix_door(io),
        sweep(io) {
    door.users_changes.write_beside(
        [this](auto write, auto then) { run_beside(Beside::users, std::move(write), std::move(then)); });
    door.rules.set(std::move(options.rules));
    door.rules.learn(*desk.types());
    door.evict = [this](std::uint64_t user, const session::Fault& why) {
      listener_thread.is_here();
      std::uint32_t sessions = 0;
      for (const auto& connection : present()) sessions += connection->evict(user, why) ? 1 : 0;
      return sessions + desk.evict_away(user);
    };
    if (options.publish_own_token) door.rotate_own = [this](Door::Rotated then) { rotate_own(std::move(then)); };
    if (options.drained)
      door.drain = [this](std::chrono::nanoseconds time, const std::string& resume_at) {
        return begin_drain(time, resume_at, options.drained);
      };
    door.resume_file = options.resume_file;
    door.world_id = options.world_id;
  }

  void post(std::move_only_function<void()> f) override {
    if (io.get_executor().running_in_this_thread())
      asio::post(io, std::move(f));
    else
      posted.add(std::move(f));
  }
  void call_in(std::chrono::nanoseconds time, std::move_only_function<void()> f) override {
    auto timer = std::make_shared<asio::steady_timer>(io, time);
    timer->async_wait([timer, f = std::move(f)](error_code error) mutable {
      if (!error) f();
    });
  }

  void run_beside(Beside which, std::move_only_function<void()> piece, std::move_only_function<void()> then) override {
    DiskThread& disk = which == Beside::users ? users_thread : files_thread;
    disk.run(std::move(piece), [this, then = std::move(then)]() mutable { posted.add(std::move(then)); });
  }

  Desk& desk;
  ListenerOptions options;
  Door door;
  asio::io_context io{1};
  PostedCalls posted{io};
  tcp::acceptor tcp_door;
  Local::acceptor unix_door;
  asio::steady_timer sweep;
  std::string address;
  TlsCertificates certificates{options.tls, *this, options.log, options.warn ? options.warn : options.log};
  std::optional<Site> site;
  std::optional<HttpHost> http;  // set only if there is a TCP port
  std::uint32_t strangers = 0;
  std::deque<std::weak_ptr<Visit>> newcomers;  // in order of arrival; may include former strangers
  std::set<std::shared_ptr<Visit>> visits;
  std::atomic<std::uint32_t> streams_open = 0;
  bool stopping = false;
  Clock::time_point drained_at;  // when the server stops, if it drains
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
  // Destroyed first. Separate, so that a file on a disk that hangs does not delay a revocation.
  DiskThread users_thread, files_thread;
  SliceMaker slices;

  void open() {
    if (!options.listen.empty()) {
      const ListeningSocket made = listen_tcp(options.listen, certificates.current() != nullptr);
      tcp_door.assign(made.is_v6 ? tcp::v6() : tcp::v4(), made.descriptor);
      address = made.address;
      HostRules rules(made.port);
      rules.is_secure = certificates.current() != nullptr;
      rules.is_certified = [this](const std::string& name) { return certificates.current()->is_for(name); };
      rules.proxies = options.proxies;
      rules.private_figures = options.private_figures;
      const auto sees_all = [this](const Admitted& user) {
        const WriteRules* const judged = door.rules.of(user.user, user.name, user.rights.role);
        return !judged || !judged->sight();
      };
      site.emplace(
          std::move(options.page), WorldFiles(options.world_folder, options.world_file), std::move(rules),
          [this](std::string_view token) { return door.users.admit(token, Users::Clock::now()).rights.any(); },
          asked_figures(
              desk, [this](auto time, auto then) { call_in(time, std::move(then)); },
              [this] { return streams_open.load(); }, [this] { return door.drains; },
              [this] { return door.rates.metrics(); }),
          options.world_file.empty() ? Site::Slices()
                                     : Site::Slices{[this, sees_all](std::string_view token) {
                                                      const Admitted user =
                                                          door.users.admit(token, Users::Clock::now());
                                                      return user.rights.role >= RemoteRight::control && sees_all(user);
                                                    },
                                                    [this](auto then) {
                                                      slices.make(options.world_folder + "/" + options.world_file,
                                                                  std::move(then), options.tick_hashes);
                                                    }},
          [this, folder = std::make_shared<const AssetFolder>(options.world_file.empty() ? "" : options.world_folder)](
              const HttpRequest& request, std::vector<std::string> parts) {
            const auto token = bearer_token(request);
            const Rights rights = token ? door.users.admit(*token, Users::Clock::now()).rights : Rights();
            if (!rights.any()) return refused_token(token.has_value());
            if (changes_assets(request) && rights.role < RemoteRight::edit)
              return Site::Reply{Site::Reply::Kind::answer, refused_asset_change()};
            return asset_reply(folder, request, std::move(parts), [] { return std::nullopt; });
          },
          [this, sees_all](std::string_view token) { return sees_all(door.users.admit(token, Users::Clock::now())); });
      http.emplace(HttpHost{
          desk.limits(), door.refusals, *this, site->rules(),
          [this](const HttpRequest& request, const RequestSource& source) { return site->reply(request, source); }});
    }
    if (!options.unix_path.empty()) unix_door.assign(Local(), listen_unix(options.unix_path).descriptor);
  }

  void forget_former_strangers() {
    std::erase_if(newcomers, [](const auto& weak) {
      const auto visit = weak.lock();
      return !visit || !visit->is_stranger;
    });
  }

  /// Closes the oldest stranger. A stranger that is being answered is closed only if there are no
  /// others, or if such strangers have more than half of the places. Returns false if there are no
  /// strangers.
  bool send_oldest_stranger_away() {
    forget_former_strangers();
    if (newcomers.empty()) return false;
    const auto is_answered = [](const auto& weak) { return weak.lock()->now->is_answered(); };
    const auto answered = static_cast<std::size_t>(std::ranges::count_if(newcomers, is_answered));
    const bool spares = answered < newcomers.size() && answered <= desk.limits().strangers_max / 2;
    const auto oldest =
        spares ? std::ranges::find_if_not(newcomers, is_answered) : std::ranges::find_if(newcomers, is_answered);
    const std::shared_ptr<ServedStream> connection = oldest->lock()->now;
    newcomers.erase(oldest);
    connection->give_way();
    return true;
  }

  void count_visits() { streams_open.store(static_cast<std::uint32_t>(visits.size())); }

  ServedStreamEvents events_of(const std::weak_ptr<Visit>& weak) {
    const auto known = [this, weak] {
      const auto visit = weak.lock();
      if (visit && std::exchange(visit->is_stranger, false)) --strangers;
    };
    const auto ended = [this, weak] {
      visits.erase(weak.lock());
      count_visits();
      if (stopping && visits.empty()) io.stop();
    };
    return {known, ended};
  }

  /// Treats the connection as a stream of frames until its first bytes show that it speaks HTTP,
  /// and again once it has become a WebSocket.
  void admit(int descriptor, SocketKind kind, const std::string& from) {
    auto visit = std::make_shared<Visit>();
    ++strangers;
    newcomers.push_back(visit);
    visits.insert(visit);
    count_visits();
    const std::weak_ptr<Visit> weak = visit;
    Divert divert;
    if (kind != SocketKind::local)
      divert = [this, weak, from](std::unique_ptr<WireStream> stream, const std::vector<std::byte>& came) {
        if (const auto speaks = weak.lock()) speak_http(speaks, from, std::move(stream), came);
      };
    visit->now =
        open_session_stream(wire_for(descriptor, kind, from), door, *this, from, events_of(weak), std::move(divert));
  }

  std::unique_ptr<WireStream> wire_for(int descriptor, SocketKind kind, const std::string& from) {
    if (kind == SocketKind::local || !certificates.current()) return open_socket_stream(io, descriptor, kind);
    return open_tls_stream(io, descriptor, kind, certificates.current(),
                           [this, from](const std::string& why) { door.refusals.note(from, why, Clock::now()); });
  }

  void speak_http(const std::shared_ptr<Visit>& visit, const std::string& from, std::unique_ptr<WireStream> stream,
                  std::span<const std::byte> came) {
    const std::weak_ptr<Visit> weak = visit;
    const auto upgrade = [this, weak, from](std::unique_ptr<WireStream> upgraded, const WebHandshake& asked,
                                            const std::string&) {
      if (const auto speaks = weak.lock())
        speaks->now = open_session_stream(open_web_stream(io, std::move(upgraded), asked), door, *this,
                                          asked.address.empty() ? from : asked.address, events_of(weak), nullptr);
    };
    visit->now = open_http_connection(std::move(stream), *http, from, came, events_of(weak), upgrade);
  }

  void rotate_own(Door::Rotated then) {
    const std::string token = draw_token();
    auto kept = std::make_shared<std::expected<void, UserFault>>();
    run_beside(
        Beside::users,
        [kept, token, &keep = options.keep_own_token] {
          if (keep) *kept = keep(token);
        },
        [this, kept, token, then = std::move(then)] {
          if (!*kept) return then(std::unexpected(kept->error()));
          options.publish_own_token(token, [then, token] { then(token); });
        });
  }

  /// Returns the time until the server stops.
  std::chrono::nanoseconds begin_drain(std::chrono::nanoseconds time, const std::string& resume_at,
                                       std::function<void()> then) {
    const bool begins = !std::exchange(door.drains, true);
    if (begins) drained_at = Clock::now() + time;
    if (!resume_at.empty()) door.resume_at = resume_at;
    const auto left = std::max(drained_at - Clock::now(), Clock::duration::zero());
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    session::Fault fault;
    fault.code = session::FaultCode::busy;
    fault.reason = "draining";
    fault.text = "the server will stop in " + std::to_string(seconds) + " s, or when no sessions are left";
    if (!door.resume_at.empty()) fault.text += "; the world moves to " + door.resume_at;
    fault.resume_at = door.resume_at;
    for (const auto& connection : present()) connection->notify(fault);
    if (begins) wait_for_sessions(drained_at, std::move(then));
    return left;
  }
  void wait_for_sessions(Clock::time_point until, std::function<void()> then) {
    if (desk.sessions() == 0 || Clock::now() >= until) return then();
    call_in(std::chrono::milliseconds(50), [this, until, then = std::move(then)] { wait_for_sessions(until, then); });
  }

  template <class Acceptor>
  awaitable<void> accept_all(Acceptor& acceptor) {
    asio::steady_timer pause(io);
    while (!stopping) {
      auto [error, accepted] = co_await acceptor.async_accept(use_tuple);
      if (error == asio::error::operation_aborted || stopping) co_return;
      if (error) {  // no descriptors left, so close a stranger; new connections wait
        door.refusals.note("a connection", "cannot be accepted: " + error.message(), Clock::now());
        (void)send_oldest_stranger_away();
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(use_tuple);
        continue;
      }
      // On a slow connection, an answer is sent only after the watch data that is already in the
      // kernel's buffer. If the amount of that data were not limited, the answer would be delayed
      // by seconds.
      if constexpr (std::is_same_v<Acceptor, Local::acceptor>)
        if (!is_of_own_user(accepted)) {
          door.refusals.note("the Unix socket", "the client is a process of another user", Clock::now());
          continue;
        }
      error_code ignored;
      constexpr bool is_tcp = std::is_same_v<Acceptor, tcp::acceptor>;
      accepted.set_option(asio::socket_base::send_buffer_size(is_tcp ? kernel_bytes_max : kernel_unsent_max), ignored);
      if constexpr (is_tcp) {
        accepted.set_option(tcp::no_delay(true), ignored);
        using Unsent = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
        accepted.set_option(Unsent(kernel_unsent_max), ignored);
        keep_alive(accepted);
      }
      // Well-behaved clients send Hello immediately, so if there are too many strangers, close the
      // oldest one.
      while (strangers >= desk.limits().strangers_max && send_oldest_stranger_away()) {
      }
      const std::string from = address_of(accepted);
      const SocketKind kind = kind_of(accepted);
      const int descriptor = accepted.release(error);
      if (!error) admit(descriptor, kind, from);
    }
  }

  /// Returns a copy, because calling a stream may end it and others.
  std::vector<std::shared_ptr<ServedStream>> present() const {
    std::vector<std::shared_ptr<ServedStream>> all;
    for (const auto& visit : visits) all.push_back(visit->now);
    return all;
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
      for (const auto& connection : present()) connection->check_times(now);
      door.refusals.tell(now);
      certificates.check(now);
      forget_former_strangers();
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
    for (const auto& connection : impl.present()) connection->stop();
    if (impl.visits.empty()) return impl.io.stop();
    impl.call_in(std::chrono::seconds(1), [&impl] { impl.io.stop(); });
  });
  impl.thread.join();
  if (!impl.options.unix_path.empty()) ::unlink(impl.options.unix_path.c_str());
  impl.visits.clear();
}

const std::string& Listener::address() const noexcept { return impl_->address; }
std::uint32_t Listener::streams() const noexcept { return impl_->streams_open.load(); }

void Listener::while_resting(const std::function<void()>& act) {
  if (!impl_->thread.joinable()) return act();
  struct Rest {
    std::latch begun{1}, over{1};
  };
  // The listener's thread may still use it when this function has returned.
  const auto rest = std::make_shared<Rest>();
  impl_->post([rest] {
    rest->begun.count_down();
    rest->over.wait();
  });
  rest->begun.wait();
  act();
  rest->over.count_down();
}

void Listener::set_rules(std::vector<AccessRule> rules) {
  impl_->door.desk.end_sights(impl_->door.rules.set(std::move(rules)));
}

void Listener::learn_types(const TypeTable& types) {
  AccessRules& rules = impl_->door.rules;
  if (rules.would_learn(types))
    while_resting([&] {
      world_thread.is_here();
      impl_->door.desk.end_sights(rules.learn(types));
    });
}

void Listener::set_own_token(const std::string& token, std::function<void()> then) {
  impl_->post([&door = impl_->door, token, then = std::move(then)] {
    door.users.set_own({{token, session::Role::admin}});
    if (then) then();
    door.evict(0, closing_fault(session::FaultCode::bad_token, "bad_token", "the server's own token was replaced"));
  });
}

void Listener::drain(std::chrono::nanoseconds time, const std::string& resume_at, std::function<void()> then) {
  impl_->post([&impl = *impl_, time, resume_at, then = std::move(then)] { impl.begin_drain(time, resume_at, then); });
}

void Listener::call_in(std::chrono::nanoseconds time, std::function<void()> f) { impl_->call_in(time, std::move(f)); }

}  // namespace muster
