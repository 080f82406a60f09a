// Defines a thread that performs pieces of work in order. All writes of a world are made on this
// thread, so that the world does not have to wait for the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "system/mutex.h"

namespace muster {

/// The result of a step.
enum class StepResult : std::uint8_t {
  more,  ///< call the step again
  wait,  ///< call the step again, after other work or after go_on()
  over,
};

/// Must be used by only one thread, except for members marked otherwise. If the system cannot start
/// another thread, work is done immediately on the calling thread.
class WriteQueue {
 public:
  static constexpr std::size_t bytes_max_default = 64u << 20;
  /// `bytes_max` limits the size of pending work. Above the limit, add() waits. The thread calls
  /// `over` after each piece of work and after the last step; when `over` is called, is_idle() may
  /// already return true. `over` must not throw.
  explicit WriteQueue(std::size_t bytes_max = bytes_max_default, std::function<void()> over = {})
      : bytes_max_(bytes_max), over_(std::move(over)) {}
  /// Finishes all pending work.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Adds work that occupies about `bytes` bytes. Returns once there is room for the work or no
  /// other work is pending. `work` must not throw.
  void add(std::size_t bytes, std::move_only_function<void()> work);
  /// Returns true if add() would return without waiting.
  bool has_room(std::size_t bytes) const;
  /// Adds work that is done in steps. When the work's turn comes, `step` is called repeatedly until
  /// the work is done, with at most one piece of later work between two calls. `step` must not
  /// throw. Only one such sequence of steps may be in progress at a time.
  void add_steps(std::move_only_function<StepResult()> step);
  /// Resumes steps after `step` has returned `wait`. May be called on any thread.
  void go_on();
  /// Waits until all work and all steps are done. From then until the next call to add(), the
  /// caller may use the objects that the work uses.
  void drain();
  /// Returns true if no work is pending or in progress, apart from steps.
  bool is_idle() const;
  /// Returns true if work is waiting for the current step to end. May be called on any thread, and
  /// is mostly called by steps.
  bool waits_for_step() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
  /// Returns how many times add() has had to wait.
  std::uint64_t waits() const noexcept { return waits_; }

 private:
  struct Work {
    std::size_t bytes;
    std::move_only_function<void()> f;
    std::move_only_function<StepResult()> step;  // used instead of f
  };
  /// Starts the thread if necessary. Returns false if it cannot be started.
  bool has_thread();
  void run();
  /// Calls over_ without holding the lock.
  void tell_over(MutexLock& lock) MUSTER_REQUIRES(mutex_);
  bool fits(std::size_t bytes) const noexcept MUSTER_REQUIRES(mutex_) {
    return bytes_ == 0 || bytes_ + bytes <= bytes_max_;
  }

  const std::size_t bytes_max_;
  std::atomic<std::size_t> waiting_count_ = 0;  // size of waiting_; may be read without the lock
  const std::function<void()> over_;
  std::uint64_t waits_ = 0;
  mutable Mutex mutex_;
  Condition came_, went_;
  std::deque<Work> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::size_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;  // total size of pending and current work
  // Set only by the thread, while it holds the lock.
  std::move_only_function<StepResult()> step_;
  bool step_waits_ MUSTER_GUARDED_BY(mutex_) = false, goes_on_ MUSTER_GUARDED_BY(mutex_) = false;
  bool working_ MUSTER_GUARDED_BY(mutex_) = false, ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
