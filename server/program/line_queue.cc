#include "server/program/line_queue.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "system/open_file.h"

namespace muster {
namespace {

/// Closes its descriptor, unless that is stderr.
struct LineFile {
  explicit LineFile(int its_descriptor) : descriptor(its_descriptor) {}
  ~LineFile() {
    if (descriptor > STDERR_FILENO) ::close(descriptor);
  }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  const int descriptor;
};

/// Writes the whole line and returns 0, or leaves a file as it was and returns errno. Waits as long
/// as stderr is not read.
int write_line(const LineFile& file, std::string_view line) {
  const bool is_file = file.descriptor != STDERR_FILENO;
  const off_t before = is_file ? ::lseek(file.descriptor, 0, SEEK_END) : -1;
  while (!line.empty()) {
    const ssize_t wrote = ::write(file.descriptor, line.data(), line.size());
    if (wrote > 0) {
      line.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd waits{file.descriptor, POLLOUT, 0};
      (void)::poll(&waits, 1, -1);
    } else if (wrote == 0 || errno != EINTR) {
      const int why = wrote == 0 ? EIO : errno;
      if (before >= 0) (void)!::ftruncate(file.descriptor, before);
      return why;
    }
  }
  return 0;
}

}  // namespace

struct LineQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  std::size_t bytes = 0;
  std::size_t bytes_max = 0;
  LostLine lost_line;
  Trouble trouble;
  std::shared_ptr<LineFile> default_file, file;
  std::string path;
  std::uint64_t told = 0;  // of the lost lines, those that a line has reported
  int error = 0;           // of the last line
  bool overflowed = false, writing = false, stops = false;
  std::atomic<std::uint64_t> lost = 0;
  std::atomic<bool> has_file = false;
};

LineQueue::LineQueue(bool to_stderr, std::size_t bytes_max, LostLine lost_line, Trouble trouble)
    : state_(std::make_shared<State>()) {
  state_->bytes_max = bytes_max;
  state_->lost_line = std::move(lost_line);
  state_->trouble = std::move(trouble);
  if (to_stderr) state_->file = state_->default_file = std::make_shared<LineFile>(STDERR_FILENO);
  state_->has_file = to_stderr;
  // Detached, because the thread cannot be ended while it waits for stderr.
  std::thread([state = state_] { write_lines(*state); }).detach();
}

LineQueue::~LineQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->stops = true;
  state_->changed.notify_all();
}

std::string LineQueue::set_path(const std::string& path) {
  std::shared_ptr<LineFile> opened = state_->default_file;
  if (!path.empty()) {
    const int descriptor = open_file(path.c_str(), O_WRONLY | O_APPEND | O_CREAT);
    if (descriptor < 0)
      return path + " cannot be opened for writing: " +
             (errno == ELOOP    ? "a symbolic link"
              : errno == EINVAL ? "not a regular file"
                                : std::strerror(errno));
    opened = std::make_shared<LineFile>(descriptor);
  }
  const std::lock_guard lock(state_->mutex);
  state_->file = std::move(opened);
  state_->has_file = state_->file != nullptr;
  state_->path = path;
  return {};
}

std::string LineQueue::path() const {
  const std::lock_guard lock(state_->mutex);
  return state_->path;
}

std::string LineQueue::reopen() {
  const std::string current = path();
  return current.empty() ? std::string() : set_path(current);
}

void LineQueue::put(std::string line) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->file) return;
  if (state_->overflowed || state_->bytes + line.size() > state_->bytes_max) {
    state_->overflowed = true;
    ++state_->lost;
    return;
  }
  state_->bytes += line.size();
  state_->lines.push_back(std::move(line));
  state_->changed.notify_all();
}

std::uint64_t LineQueue::lost() const noexcept { return state_->lost.load(std::memory_order_relaxed); }
bool LineQueue::writes() const noexcept { return state_->has_file.load(std::memory_order_relaxed); }

bool LineQueue::drain(std::chrono::nanoseconds time) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, time, [&] { return state_->lines.empty() && !state_->writing; });
}

void LineQueue::write_lines(State& state) {
  std::unique_lock lock(state.mutex);
  // Writes a line while the lock is released. Returns true if it was written.
  const auto write = [&](const std::string& line) {
    const std::shared_ptr<LineFile> file = state.file;
    const std::string path = state.path;
    if (!file) return true;
    lock.unlock();
    const int error = write_line(*file, line);
    lock.lock();
    const bool begins_to_fail = error != 0 && std::exchange(state.error, error) == 0;
    if (begins_to_fail && state.trouble && !path.empty()) {
      lock.unlock();
      state.trouble(path + ": lines are lost: " + std::strerror(error));
      lock.lock();
    }
    if (error == 0) state.error = 0;
    return error == 0;
  };
  const auto tell_lost = [&] {
    const std::uint64_t lost = state.lost;
    if (lost == state.told) return true;
    const int error = state.error;
    const std::uint64_t untold = lost - state.told;
    lock.unlock();
    const std::string line = state.lost_line(untold, error);
    lock.lock();
    const bool told = write(line);
    if (told) state.told = lost;
    return told;
  };
  while (true) {
    const auto wanted = [&] { return state.stops || !state.lines.empty(); };
    // Lost lines are reported as soon as that is possible, even if no further lines come.
    if (state.told != state.lost)
      state.changed.wait_for(lock, std::chrono::seconds(1), wanted);
    else
      state.changed.wait(lock, wanted);
    state.writing = true;
    while (!state.lines.empty()) {
      const std::string line = std::move(state.lines.front());
      state.lines.pop_front();
      // While the queue overflows, the report comes after its last line.
      const bool reported = state.overflowed || tell_lost();
      if (!reported || !write(line)) ++state.lost;
      state.bytes -= line.size();
    }
    state.overflowed = false;
    (void)tell_lost();
    const bool done = state.lines.empty();
    state.writing = !done;
    state.changed.notify_all();
    if (state.stops && done) return;
  }
}

}  // namespace muster
