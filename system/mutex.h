// A mutex for which the compiler checks that the members guarded by it are accessed only while it
// is locked. clang performs these checks with -Wthread-safety
// (clang.llvm.org/docs/ThreadSafetyAnalysis.html); other compilers ignore the attributes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MUSTER_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define MUSTER_THREAD_ATTRIBUTE(attribute)
#endif

/// The member may be accessed only while the mutex is locked.
#define MUSTER_GUARDED_BY(capability) MUSTER_THREAD_ATTRIBUTE(guarded_by(capability))
/// The function may be called only while the mutex is locked.
#define MUSTER_REQUIRES(...) MUSTER_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The compiler does not check the function. A comment above the function must explain why.
#define MUSTER_NOT_CHECKED MUSTER_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace muster {

/// std::mutex for members marked MUSTER_GUARDED_BY. Use it with MutexLock.
class MUSTER_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Locks a mutex until the end of the scope. unlock() releases the mutex temporarily, until lock()
/// is called.
class MUSTER_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_THREAD_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() MUSTER_THREAD_ATTRIBUTE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() MUSTER_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void unlock() MUSTER_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// std::condition_variable for MutexLock. The wait functions may wake spuriously, so call them in a
/// loop that checks the condition. The wait functions do not take a predicate, because the compiler
/// cannot know that a lambda is called while the mutex is locked.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  /// Returns false on timeout.
  template <class Clock, class Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return condition_.wait_until(lock.lock_, time) == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace muster
