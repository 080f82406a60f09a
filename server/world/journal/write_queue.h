// One thread that does what it is given, in order: whatever a world writes goes through it, so the world need not wait for a disk.
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

/// What a step says when it returns.
enum class Steps : std::uint8_t {
  more,  ///< call me again
  wait,  ///< the same, but not before other work came or go_on() was called
  over,
};

/// Belongs to one thread, which alone calls it, but for what is said of others. Where the system has no thread left, work is done at
/// once, by the caller.
class WriteQueue {
 public:
  static constexpr std::size_t bytes_max_default = 64u << 20;
  /// Work of more than `bytes_max` bytes does not wait here: then add() waits. `over` is called by the thread after each piece of work, and
  /// after the last of its steps, when it is not being done any more: whoever waits for is_idle() waits for that. Must not throw.
  explicit WriteQueue(std::size_t bytes_max = bytes_max_default, std::function<void()> over = {})
      : bytes_max_(bytes_max), over_(std::move(over)) {}
  /// Does all that waits.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// `work` must not throw. It holds about so many bytes. Returns when there is room for them, or nothing else waits.
  void add(std::size_t bytes, std::move_only_function<void()> work);
  /// Whether add() would not wait.
  bool has_room(std::size_t bytes) const;
  /// Called again and again from its place on, until it is over: between two calls one piece of the work behind it is done. Must not
  /// throw. One at a time: the next is given when the one before is over.
  void add_steps(std::move_only_function<Steps()> step);
  /// What a step waits for came. Any thread.
  void go_on();
  /// Returns when all is done, steps too. Meanwhile, and until the next add(), nobody else uses what the work uses.
  void drain();
  /// Whether nothing waits, and nothing is being done, but for steps.
  bool is_idle() const;
  /// Whether a piece of work waits for the step that is being done. Any thread, of steps above all.
  bool waits_for_step() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
  /// How often add() had to wait.
  std::uint64_t waits() const noexcept { return waits_; }

 private:
  struct Work {
    std::size_t bytes;
    std::move_only_function<void()> f;
    std::move_only_function<Steps()> step;  // instead of f
  };
  /// False: there is no thread, and none can be had.
  bool has_thread();
  void run();
  /// Calls over_ without the lock.
  void tell_over(MutexLock& lock) MUSTER_REQUIRES(mutex_);
  bool fits(std::size_t bytes) const noexcept MUSTER_REQUIRES(mutex_) {
    return bytes_ == 0 || bytes_ + bytes <= bytes_max_;
  }

  const std::size_t bytes_max_;
  std::atomic<std::size_t> waiting_count_ = 0;  // waiting_'s size, for those who do not lock
  const std::function<void()> over_;
  std::uint64_t waits_ = 0;
  mutable Mutex mutex_;
  Condition came_, went_;
  std::deque<Work> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::size_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;  // of what waits and what is being done
  std::move_only_function<Steps()> step_;            // in turn; only the thread sets it, locked
  bool step_waits_ MUSTER_GUARDED_BY(mutex_) = false, goes_on_ MUSTER_GUARDED_BY(mutex_) = false;
  bool working_ MUSTER_GUARDED_BY(mutex_) = false, ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
