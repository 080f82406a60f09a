#include "server/host/host_door.h"

#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>

#include "server/door/disk_thread.h"
#include "server/door/http_connection.h"
#include "server/door/listening.h"
#include "server/door/socket_stream.h"
#include "server/door/tls_stream.h"
#include "server/door/web_stream.h"
#include "server/host/host_site.h"
#include "server/host/visitor.h"

namespace muster::hosting {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t strangers_max = 1024;
constexpr auto sweep_every = std::chrono::milliseconds(250);
constexpr auto accept_pause = std::chrono::milliseconds(100);
constexpr std::chrono::seconds wrong_token_delay_max(5);
constexpr std::chrono::seconds stopping_time(60);
constexpr int kernel_bytes_max = 128 << 10;  // limit on unread bytes; Linux doubles it
constexpr int kernel_unsent_max = 32 << 10;  // limit on untransmitted bytes

/// Returns a private folder for Unix sockets, whose paths may have 107 bytes only.
std::string make_socket_folder() {
  const char* const runtime = ::getenv("XDG_RUNTIME_DIR");
  for (const std::string& parent : {std::string(runtime ? runtime : ""), std::string("/tmp")}) {
    std::string made = parent + "/muster-host-XXXXXX";
    if (!parent.empty() && made.size() < 80 && ::mkdtemp(made.data())) return made;
  }
  throw ServerError("a folder for the sockets of the worlds cannot be made in /tmp");
}

/// Keeps the lock of the host's folder.
class FolderLock {
 public:
  explicit FolderLock(const WorldFolders& folders) {
    const auto taken = folders.take();
    if (!taken) throw ServerError(taken.error());
    descriptor_ = *taken;
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

struct Visit {
  std::shared_ptr<ServedStream> now;
  bool is_stranger = true;
};

}  // namespace

struct HostDoor::Impl final : Loop {
  explicit Impl(HostOptions the_options) : options(std::move(the_options)), folders(options.folder), lock(folders) {
    certificates.emplace(options.tls, *this, options.worlds.log, options.worlds.warn);
    const ListeningSocket made = listen_tcp(options.listen, certificates->current() != nullptr);
    acceptor.assign(made.is_v6 ? tcp::v6() : tcp::v4(), made.descriptor);
    kind = made.is_v6 ? SocketKind::tcp_v6 : SocketKind::tcp_v4;
    address = made.address;
    if (certificates->current()) fingerprint = certificates->current()->fingerprint();
    socket_folder = make_socket_folder();
    options.worlds.socket_folder = socket_folder;
    worlds.emplace(io, *this, folders, options.worlds);
    reception.emplace(io, *this, *worlds, folders, std::make_shared<Admissions>(folders, options.token), refusals,
                      slices);
    HostRules rules(made.port);
    rules.is_secure = certificates->current() != nullptr;
    rules.is_certified = [this](const std::string& name) { return certificates->current()->is_for(name); };
    rules.proxies = options.proxies;
    site.emplace(*reception, std::move(options.page), std::move(rules),
                 [this] { return static_cast<std::uint32_t>(visits.size()); });
    http.emplace(
        limits, refusals, *this, site->rules(),
        [this](const HttpRequest& request, const RequestSource& source) { return site->reply(request, source); });
  }
  ~Impl() override {
    std::error_code ignored;
    std::filesystem::remove_all(socket_folder, ignored);
  }

  void post(std::move_only_function<void()> f) override { asio::post(io, std::move(f)); }
  void call_in(std::chrono::nanoseconds time, std::move_only_function<void()> f) override {
    auto timer = std::make_shared<asio::steady_timer>(io, time);
    timer->async_wait([timer, f = std::move(f)](error_code error) mutable {
      if (!error) f();
    });
  }
  void run_beside(Beside which, std::move_only_function<void()> work, std::move_only_function<void()> then) override {
    DiskThread& disk = which == Beside::users ? users_thread : files_thread;
    disk.run(std::move(work), [this, then = std::move(then)]() mutable { post(std::move(then)); });
  }

  void run() {
    accept();
    sweep_all();
    wait_for_signal();
    io.run();
  }

  void wait_for_signal() {
    signals.async_wait([this](error_code error, int) {
      if (error) return;
      // A second signal has its usual effect, and the system then ends the children.
      signals.clear();
      if (options.worlds.log) options.worlds.log("stopping");
      error_code ignored;
      acceptor.close(ignored);
      worlds->stop(stopping_time, [this] {
        for (const auto& visit : present()) visit->stop();
        // Visitors have a moment to read the last words of their worlds.
        call_in(visits.empty() ? std::chrono::milliseconds(0) : linger_max, [this] { io.stop(); });
      });
    });
  }

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (error) {
        refusals.note("a connection", "cannot be accepted: " + error.message(), Clock::now());
        (void)send_oldest_stranger_away();
        return call_in(accept_pause, [this] { accept(); });
      }
      admit(std::move(socket));
      accept();
    });
  }

  void admit(tcp::socket socket) {
    error_code ignored;
    using Unsent = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
    using Idle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
    socket.set_option(asio::socket_base::send_buffer_size(kernel_bytes_max), ignored);
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(Unsent(kernel_unsent_max), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    socket.set_option(Idle(60), ignored);
    while ((newcomers.size() >= strangers_max || visits.size() >= options.connections_max) &&
           send_oldest_stranger_away()) {
    }
    const std::string from = socket.remote_endpoint(ignored).address().to_string();
    if (visits.size() >= options.connections_max)
      return refusals.note(from, "too many connections to this host", Clock::now());
    error_code error;
    const int descriptor = socket.release(error);
    if (error) return;
    auto visit = std::make_shared<Visit>();
    visits.insert(visit);
    newcomers.push_back(visit);
    std::unique_ptr<WireStream> stream =
        certificates->current()
            ? open_tls_stream(io, descriptor, kind, certificates->current(),
                              [this, from](const std::string& why) { refusals.note(from, why, Clock::now()); })
            : open_socket_stream(io, descriptor, kind);
    const std::weak_ptr<Visit> weak = visit;
    visit->now = open_visitor(std::move(stream), *reception, from, "", events_of(weak),
                              [this, weak, from](std::unique_ptr<WireStream> plain, std::span<const std::byte> came) {
                                if (const auto speaks = weak.lock()) speak_http(speaks, from, std::move(plain), came);
                              });
  }

  void speak_http(const std::shared_ptr<Visit>& visit, const std::string& from, std::unique_ptr<WireStream> stream,
                  std::span<const std::byte> came) {
    const std::weak_ptr<Visit> weak = visit;
    const auto upgrade = [this, weak, from](std::unique_ptr<WireStream> upgraded, const WebHandshake& asked,
                                            const std::string& world) {
      if (const auto speaks = weak.lock())
        speaks->now = open_visitor(open_web_stream(io, std::move(upgraded), asked), *reception,
                                   asked.address.empty() ? from : asked.address, world, events_of(weak), nullptr);
    };
    visit->now = open_http_connection(std::move(stream), *http, from, came, events_of(weak), upgrade);
  }

  ServedStreamEvents events_of(const std::weak_ptr<Visit>& weak) {
    return {[this, weak] {
              const auto visit = weak.lock();
              if (visit && std::exchange(visit->is_stranger, false)) forget_former_strangers();
            },
            [this, weak] {
              visits.erase(weak.lock());
              forget_former_strangers();
            }};
  }

  void forget_former_strangers() {
    std::erase_if(newcomers, [](const auto& weak) {
      const auto visit = weak.lock();
      return !visit || !visit->is_stranger;
    });
  }

  /// Closes the oldest connection without a valid token, if possible one that is not being
  /// answered.
  bool send_oldest_stranger_away() {
    forget_former_strangers();
    if (newcomers.empty()) return false;
    const auto idle =
        std::ranges::find_if(newcomers, [](const auto& weak) { return !weak.lock()->now->is_answered(); });
    const auto oldest = idle == newcomers.end() ? newcomers.begin() : idle;
    const std::shared_ptr<Visit> visit = oldest->lock();
    newcomers.erase(oldest);
    visits.erase(visit);
    visit->now->give_way();
    return true;
  }

  /// Returns a copy, because calling a stream may end it and others.
  std::vector<std::shared_ptr<ServedStream>> present() const {
    std::vector<std::shared_ptr<ServedStream>> all;
    for (const auto& visit : visits) all.push_back(visit->now);
    return all;
  }

  void sweep_all() {
    const auto now = Clock::now();
    for (const auto& visit : present()) visit->check_times(now);
    refusals.tell(now);
    certificates->check(now);
    call_in(sweep_every, [this] { sweep_all(); });
  }

  HostOptions options;
  const WorldFolders folders;
  const FolderLock lock;
  const ServerLimits limits = {};
  // The loop is destroyed after everything that its pending calls use, and before the streams.
  std::string address, fingerprint, socket_folder;
  SocketKind kind = SocketKind::tcp_v4;
  Refusals refusals{options.worlds.warn, wrong_token_delay_max};
  std::optional<TlsCertificates> certificates;
  std::optional<Worlds> worlds;
  std::optional<Reception> reception;
  std::optional<HostSite> site;
  std::optional<HttpHost> http;
  std::set<std::shared_ptr<Visit>> visits;
  std::deque<std::weak_ptr<Visit>> newcomers;  // connections without a valid token, oldest first
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::signal_set signals{io, SIGTERM, SIGINT};
  DiskThread users_thread, files_thread;  // destroyed first, and so is `slices`
  SliceMaker slices;
};

HostDoor::HostDoor(HostOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
HostDoor::~HostDoor() = default;
const std::string& HostDoor::address() const noexcept { return impl_->address; }
const std::string& HostDoor::fingerprint() const noexcept { return impl_->fingerprint; }
void HostDoor::run() { impl_->run(); }

}  // namespace muster::hosting
