#include "server/process_ends.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace muster {
namespace {

constexpr int stopping[] = {SIGTERM, SIGINT, SIGHUP};

// The code with which exit ends the process, or -1 if exit works as usual.
std::atomic<int> exit_refused_with = -1;

/// Writes a line, unless stderr is not read. Safe in a signal handler.
void name(std::string_view line) {
  pollfd waits{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&waits, 1, 0) == 1 && (waits.revents & POLLOUT) != 0)
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void on_bus_error(int) {
  name("muster-server: SIGBUS: a file that is mapped into memory was truncated, or its disk failed\n");
  // Another handler may have called this one. The default action ends the process.
  ::signal(SIGBUS, SIG_DFL);
  ::raise(SIGBUS);
}

void end_at_exit() {
  const int code = exit_refused_with;
  if (code < 0) return;
  name("muster-server: code of a plugin or a library called exit; the world was not saved\n");
  ::_exit(code);
}

void act_on(int signal, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void handle_signals(void (*stop)(int), void (*hang_up)(int)) {
  for (const int signal : stopping) {
    if (signal == SIGHUP && hang_up) {
      act_on(signal, hang_up, SA_RESTART);
      continue;
    }
    struct sigaction before{};
    if (signal == SIGHUP && ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    act_on(signal, stop, static_cast<int>(SA_RESETHAND));
  }
}

void handle_faults() {
  act_on(SIGPIPE, SIG_IGN, 0);
  act_on(SIGXFSZ, SIG_IGN, 0);
  act_on(SIGBUS, on_bus_error, static_cast<int>(SA_RESETHAND));
}

void restore_signals() {
  for (const int signal : stopping) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
}

void refuse_exit(int code) {
  if (exit_refused_with.exchange(code) >= 0) return;
  std::atexit(end_at_exit);
  std::at_quick_exit(end_at_exit);
}

void permit_exit() { exit_refused_with = -1; }

}  // namespace muster
