#include "server/program/service.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "server/program/service_manager.h"
#include "server/world/world.h"

namespace muster {
namespace {

enum Asked : unsigned { asked_reload = 1, asked_reopen = 2, asked_drain = 4 };

// Used by the signal handler, so they exist as long as the process.
std::atomic<unsigned> asked_by_signal = 0;
int signal_event = -1;

void wake_service() {
  const std::uint64_t one = 1;
  (void)!::write(signal_event, &one, sizeof one);
}

void on_request(int signal) {
  const int kept = errno;
  asked_by_signal.fetch_or(signal == SIGHUP ? asked_reload : signal == SIGUSR1 ? asked_reopen : asked_drain);
  wake_service();
  errno = kept;
}

void handle_with_request(int signal) {
  struct sigaction action{};
  action.sa_handler = on_request;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void Service::hold_signals(bool reloads) {
  if (signal_event < 0) signal_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signal_event < 0) return;
  if (reloads) handle_with_request(SIGHUP);
  handle_with_request(SIGUSR1);
  handle_with_request(SIGUSR2);
}

Service::Service() : watchdog_(watchdog_time()) {}

Service::~Service() {
  ends_ = true;
  if (!thread_.joinable()) return;
  wake_service();
  thread_.join();
}

void Service::start(bool reloads) {
  hold_signals(reloads);
  thread_ = std::thread([this] { run(); });
}

void Service::attach(World& world, std::function<std::string()> status) {
  world.add_visitor(progress_);
  const std::lock_guard lock(mutex_);
  world_ = &world;
  status_ = std::move(status);
}

void Service::detach() {
  const std::lock_guard lock(mutex_);
  if (world_) world_->remove_visitor(progress_);
  world_ = nullptr;
  status_ = nullptr;
}

void Service::tell_ready() {
  notify_service_manager("READY=1");
  const std::lock_guard lock(mutex_);
  ready_ = true;
}

void Service::handle(unsigned asked) {
  const auto call = [](const std::vector<Act>& acts) {
    for (const Act& act : acts) act();
  };
  if (asked & asked_reload) notify_service_manager(reloading_message());
  if (asked & (asked_reopen | asked_reload)) call(reopen_);
  if (asked & asked_reload) {
    call(reload_);
    const std::lock_guard lock(mutex_);
    if (ready_) notify_service_manager("READY=1");
  }
  if (asked & asked_drain) call(drain_);
}

void Service::report() {
  std::string status;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t flushes = progress_.flushes.load(std::memory_order_relaxed);
    // While there is no world, for example while it is reopened, nothing can be asked of its
    // thread.
    const bool lives = !world_ || flushes != flushes_seen_;
    if (lives && watchdog_.count() > 0) notify_service_manager("WATCHDOG=1");
    flushes_seen_ = flushes;
    if (world_) world_->wake();  // the flush is seen the next time
    if (world_ && status_) status = status_();
  }
  if (status.empty() || status == status_told_) return;
  status_told_ = status;
  notify_service_manager("STATUS=" + status);
}

void Service::run() {
  // Several reports fit into the watchdog's time, because each one sees only the flush that the
  // previous one has caused.
  constexpr std::chrono::milliseconds usual(10'000), least(10);
  const auto quarter = std::chrono::duration_cast<std::chrono::milliseconds>(watchdog_ / 4);
  const auto interval = watchdog_.count() > 0 ? std::clamp(quarter, least, usual) : usual;
  const bool reports = notify_service_manager("STATUS=starting") || watchdog_.count() > 0;
  auto next = std::chrono::steady_clock::now();
  while (!ends_) {
    handle(asked_by_signal.exchange(0));
    const auto now = std::chrono::steady_clock::now();
    if (reports && now >= next) {
      report();
      next = now + interval;
    }
    pollfd waits{signal_event, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count();
    (void)::poll(&waits, 1, reports ? static_cast<int>(std::max<std::int64_t>(left, 0) + 1) : -1);
    std::uint64_t count = 0;
    (void)!::read(signal_event, &count, sizeof count);
  }
}

}  // namespace muster
