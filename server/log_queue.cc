#include "server/log_queue.h"

#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace muster {
namespace {

/// Writes everything unless stderr fails. Waits as long as stderr is not read.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd waits{STDERR_FILENO, POLLOUT, 0};
      (void)::poll(&waits, 1, -1);
    } else if (wrote < 0 && errno != EINTR) {
      return;
    }
  }
}

}  // namespace

struct LogQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t told = 0;  // of the lost lines, those that a line has reported
  bool writes = false, stops = false;
  std::atomic<std::uint64_t> lost = 0;
  std::unique_ptr<spdlog::formatter> formatter = std::make_unique<spdlog::pattern_formatter>();
  const bool has_colors = ::isatty(STDERR_FILENO) == 1;

  std::string formatted(const spdlog::details::log_msg& message) const;
};

class LogQueue::Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Sink() override {
    const std::lock_guard lock(state_->mutex);
    state_->stops = true;
    state_->changed.notify_all();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::lock_guard lock(state_->mutex);
    std::string line = state_->formatted(message);
    if (state_->told < state_->lost || state_->bytes + line.size() > bytes_max) {
      ++state_->lost;
      return;
    }
    state_->bytes += line.size();
    state_->lines.push_back(std::move(line));
    state_->changed.notify_all();
  }
  void flush_() override {}
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    const std::lock_guard lock(state_->mutex);
    state_->formatter = std::move(formatter);
  }

 private:
  const std::shared_ptr<State> state_;
};

LogQueue::LogQueue(const std::string& name) : state_(std::make_shared<State>()) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(name, std::make_shared<Sink>(state_)));
  // Detached, because the thread cannot be ended while it waits for stderr.
  std::thread([state = state_] { write_lines(*state); }).detach();
}

LogQueue::~LogQueue() = default;

std::uint64_t LogQueue::lost() const noexcept { return state_->lost.load(std::memory_order_relaxed); }

bool LogQueue::drain(std::chrono::nanoseconds time) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, time, [&] { return state_->lines.empty() && !state_->writes; });
}

std::string LogQueue::State::formatted(const spdlog::details::log_msg& message) const {
  spdlog::memory_buf_t text;
  formatter->format(message, text);
  std::string line(text.data(), text.size());
  if (has_colors && message.color_range_end > message.color_range_start) {
    const bool is_bad = message.level >= spdlog::level::err, is_warning = message.level == spdlog::level::warn;
    line.insert(message.color_range_end, "\033[0m");
    line.insert(message.color_range_start, is_bad ? "\033[31m" : is_warning ? "\033[33m" : "\033[32m");
  }
  return line;
}

void LogQueue::write_lines(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stops || !state.lines.empty(); });
    if (state.lines.empty()) return;
    state.writes = true;
    while (!state.lines.empty()) {
      const std::string line = std::move(state.lines.front());
      state.lines.pop_front();
      lock.unlock();
      write_all(line);
      lock.lock();
      state.bytes -= line.size();
      if (!state.lines.empty() || state.told == state.lost) continue;
      const std::string text = std::to_string(state.lost - std::exchange(state.told, state.lost.load())) +
                               " lines of the log were lost, because stderr was not read in time";
      state.lines.push_back(state.formatted({"", spdlog::level::warn, text}));
      state.bytes += state.lines.back().size();
    }
    state.writes = false;
    state.changed.notify_all();
  }
}

}  // namespace muster
