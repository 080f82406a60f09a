#include "client/import/reader_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "client/import/model_bytes.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// Limit on the stack size. Readers of nested formats need a large stack, because they recurse once
/// per level. The kernel leaves this much address space free below the stack, regardless of the
/// previous limit.
constexpr rlim_t stack_bytes = 120u << 20;

void limit(int resource, rlim_t soft) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
  now.rlim_cur = std::min(soft, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

/// Returns the size of this process's address space in bytes.
rlim_t address_space() {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

std::string memory_text(const ProcessLimits& limits) {
  return "reading it takes more than " + std::to_string(limits.memory_bytes >> 20) + " MiB of memory";
}
std::string time_text(const ProcessLimits& limits) {
  return "reading it takes more than " + std::to_string(limits.seconds) + " s";
}

void prepare_child(const ProcessLimits& limits, pid_t caller) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != caller) _exit(1);
  for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream < 3; ++stream) dup2(null, stream);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.seconds);
  limit(RLIMIT_STACK, stack_bytes);
  limit(RLIMIT_AS, address_space() + limits.memory_bytes + stack_bytes);
}

bool write_all(int pipe, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(pipe, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

/// Reads the model, writes it to the pipe, and exits. Does not destroy any objects, because objects
/// that a reader built from a malicious file may be nested too deeply to be destroyed.
[[noreturn]] void run_child(const std::function<ImportedModel()>& read, const ProcessLimits& limits, int pipe) {
  std::vector<std::byte> answer;
  try {
    try {
      answer = model_bytes(read());
    } catch (const std::bad_alloc&) {
      answer = refusal_bytes(memory_text(limits));
    } catch (const std::exception& exception) {
      answer = refusal_bytes(exception.what());
    }
  } catch (...) {
    _exit(2);
  }
  _exit(write_all(pipe, answer) ? 0 : 3);
}

struct Answer {
  std::vector<std::byte> bytes;
  bool late = false, too_long = false;
};

Answer take_answer(int pipe, const ProcessLimits& limits) {
  Answer answer;
  const auto end = Clock::now() + std::chrono::seconds(3) * limits.seconds;
  std::vector<std::byte> part(1u << 16);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    const int polled = left > 0 ? poll(&ready, 1, static_cast<int>(std::min<long long>(left, 60'000))) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0) {
      if (Clock::now() < end) continue;
      answer.late = true;
      return answer;
    }
    const ssize_t n = polled < 0 ? -1 : ::read(pipe, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return answer;
    if (answer.bytes.size() + static_cast<std::size_t>(n) > limits.answer_bytes) {
      answer.too_long = true;
      return answer;
    }
    answer.bytes.insert(answer.bytes.end(), part.begin(), part.begin() + n);
  }
}

}  // namespace

std::expected<ImportedModel, std::string> read_apart(const std::function<ImportedModel()>& read,
                                                     const ProcessLimits& limits) {
  const auto system_says = [] {
    return std::unexpected("cannot start a process to read it: " + std::generic_category().message(errno));
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_says();
  const pid_t caller = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const auto reason = system_says();
    close(ends[0]);
    close(ends[1]);
    return reason;
  }
  if (child == 0) {
    // If the caller has no standard streams, the pipe may have been given one of their descriptors.
    const int pipe = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
    prepare_child(limits, caller);
    run_child(read, limits, pipe);
  }
  close(ends[1]);
  const Answer answer = take_answer(ends[0], limits);
  close(ends[0]);
  if (answer.late || answer.too_long) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (answer.late) return std::unexpected(time_text(limits));
  if (answer.too_long)
    return std::unexpected("it makes a model of more than " + std::to_string(limits.answer_bytes >> 20) + " MiB");
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGXCPU) return std::unexpected(time_text(limits));
    return std::unexpected("the reader ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                           strsignal(WTERMSIG(status)) + ") on this file");
  }
  if (WEXITSTATUS(status) != 0)
    return std::unexpected("the reader ended with " + std::to_string(WEXITSTATUS(status)) + " on this file");
  return model_from(answer.bytes);
}

}  // namespace muster
