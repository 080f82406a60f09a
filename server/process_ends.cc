#include "server/process_ends.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace muster {
namespace {

constexpr int stopping[] = {SIGTERM, SIGINT, SIGHUP};

// The code with which exit ends the process, or -1 if exit works as usual.
std::atomic<int> exit_refused_with = -1;
pid_t refusing_process = 0;
bool hangup_was_taken = false;

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

void refuse_now() {
  const int code = exit_refused_with;
  if (code < 0 || ::getpid() != refusing_process) return;
  name("muster-server: code of a plugin or a library called exit; the world was not saved\n");
  end_process(code);
}

void act_on(int signal, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void handle_signals(void (*stop)(int), bool hangup_is_taken) {
  hangup_was_taken = hangup_is_taken;
  for (const int signal : stopping) {
    struct sigaction before{};
    if (signal == SIGHUP && hangup_is_taken) continue;
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
    if (signal == SIGHUP && hangup_was_taken) continue;
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
}

void refuse_exit(int code) {
  refusing_process = ::getpid();
  if (exit_refused_with.exchange(code) >= 0) return;
  std::atexit(refuse_now);
  std::at_quick_exit(refuse_now);
}

void permit_exit() { exit_refused_with = -1; }

void end_process(int code) {
  ::syscall(SYS_exit_group, code);
  std::abort();
}

}  // namespace muster

// Replaces the functions of the C library for the plugins, which use the program's symbols.
extern "C" {
void _exit(int code) {
  muster::refuse_now();
  muster::end_process(code);
}
void _Exit(int code) noexcept { _exit(code); }
}
