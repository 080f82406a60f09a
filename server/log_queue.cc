#include "server/log_queue.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace muster {

namespace {

/// How lines look. Thread-safe.
class LineFormat {
 public:
  void set(std::unique_ptr<spdlog::formatter> formatter) {
    const std::lock_guard lock(mutex_);
    formatter_ = std::move(formatter);
  }
  void set_colors(bool on) { has_colors_ = on; }
  std::string formatted(const spdlog::details::log_msg& message) {
    const std::lock_guard lock(mutex_);
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    if (has_colors_ && message.color_range_end > message.color_range_start) {
      const bool is_bad = message.level >= spdlog::level::err, is_warning = message.level == spdlog::level::warn;
      line.insert(message.color_range_end, "\033[0m");
      line.insert(message.color_range_start, is_bad ? "\033[31m" : is_warning ? "\033[33m" : "\033[32m");
    }
    return line;
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<spdlog::formatter> formatter_ = std::make_unique<spdlog::pattern_formatter>();
  std::atomic<bool> has_colors_ = false;
};

}  // namespace

struct LogQueue::State {
  const bool stderr_has_colors = ::isatty(STDERR_FILENO) == 1;
  const std::shared_ptr<LineFormat> format = std::make_shared<LineFormat>();
  std::mutex order;
  // The function may be called after this object is gone.
  LineQueue lines{true, bytes_max, [format = format](std::uint64_t lost, int error) {
                    const std::string why = error != 0
                                                ? std::string("they could not be written: ") + std::strerror(error)
                                                : "stderr was not read in time";
                    const std::string text = std::to_string(lost) + " lines of the log were lost, because " + why;
                    return format->formatted({"", spdlog::level::warn, text});
                  }};
};

class LogQueue::Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(std::shared_ptr<State> state) : state_(std::move(state)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::lock_guard lock(state_->order);  // lines are in the order of their times
    state_->lines.put(state_->format->formatted(message));
  }
  void flush_() override {}
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    state_->format->set(std::move(formatter));
  }

 private:
  const std::shared_ptr<State> state_;
};

LogQueue::LogQueue(const std::string& name) : state_(std::make_shared<State>()) {
  state_->format->set_colors(state_->stderr_has_colors);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(name, std::make_shared<Sink>(state_)));
}

LogQueue::~LogQueue() = default;

std::string LogQueue::set_path(const std::string& path) {
  std::string error = state_->lines.set_path(path);
  if (error.empty()) state_->format->set_colors(path.empty() && state_->stderr_has_colors);
  return error;
}
std::string LogQueue::reopen() { return state_->lines.reopen(); }
bool LogQueue::writes_file() const { return !state_->lines.path().empty(); }
std::uint64_t LogQueue::lost() const noexcept { return state_->lines.lost(); }
bool LogQueue::drain(std::chrono::nanoseconds time) const { return state_->lines.drain(time); }

}  // namespace muster
