// A thread that runs work in order. All writes of a world go through this thread, so that the world
// does not wait for the disk.
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
  wait,  ///< call it again after other work, or after go_on()
  over,
};

/// Used by one thread, except for members marked otherwise. If the system cannot start another
/// thread, the caller does the work immediately.
class WriteQueue {
 public:
  static constexpr std::size_t bytes_max_default = 64u << 20;
  /// `bytes_max` limits the bytes of waiting work; above it, add() waits. The thread calls `over`
  /// after each piece of work and after the last step; is_idle() may then return true. `over` must
  /// not throw.
  explicit WriteQueue(std::size_t bytes_max = bytes_max_default, std::function<void()> over = {})
      : bytes_max_(bytes_max), over_(std::move(over)) {}
  /// Finishes all waiting work.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Adds work that occupies about `bytes`. Returns once there is room for it or no other work is
  /// waiting. `work` must not throw.
  void add(std::size_t bytes, std::move_only_function<void()> work);
  /// Returns true if add() would not wait.
  bool has_room(std::size_t bytes) const;
  /// Adds work in steps. Once its turn in the queue comes, `step` is called until it ends, with one
  /// piece of later work between two calls. `step` must not throw. Do not add another until the
  /// last step has ended.
  void add_steps(std::move_only_function<StepResult()> step);
  /// Continues a step that returned `wait`. Any thread.
  void go_on();
  /// Waits until all work and all steps are done. After that and until the next add(), the caller
  /// may use objects that the work uses.
  void drain();
  /// Returns true if no work is waiting or being done, apart from steps.
  bool is_idle() const;
  /// Returns true if work is waiting for the current step. Any thread; mostly called by steps.
  bool waits_for_step() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
  /// Returns the number of times that add() has had to wait.
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
  std::atomic<std::size_t> waiting_count_ = 0;  // size of waiting_, readable without the lock
  const std::function<void()> over_;
  std::uint64_t waits_ = 0;
  mutable Mutex mutex_;
  Condition came_, went_;
  std::deque<Work> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::size_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;  // bytes of waiting and current work
  std::move_only_function<StepResult()> step_;            // set only by the thread, under the lock
  bool step_waits_ MUSTER_GUARDED_BY(mutex_) = false, goes_on_ MUSTER_GUARDED_BY(mutex_) = false;
  bool working_ MUSTER_GUARDED_BY(mutex_) = false, ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
