#include "server/world/saving/write_queue.h"

#include <system_error>
#include <utility>

#include "system/mutex.h"

namespace muster {

WriteQueue::~WriteQueue() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  came_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool WriteQueue::has_thread() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void WriteQueue::add(std::size_t bytes, std::move_only_function<void()> work) {
  if (!has_thread()) return work();
  MutexLock lock(mutex_);
  if (!fits(bytes)) {
    ++waits_;
    while (!fits(bytes)) went_.wait(lock);
  }
  bytes_ += bytes;
  waiting_.push_back({.bytes = bytes, .f = std::move(work), .step = nullptr});
  waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
  lock.unlock();
  came_.notify_one();
}

void WriteQueue::add_steps(std::move_only_function<StepResult()> step) {
  if (!has_thread()) {
    while (step() != StepResult::over) std::this_thread::yield();
    return;
  }
  {
    const MutexLock lock(mutex_);
    waiting_.push_back({.bytes = 0, .f = nullptr, .step = std::move(step)});
  }
  came_.notify_one();
}

bool WriteQueue::has_room(std::size_t bytes) const {
  const MutexLock lock(mutex_);
  return fits(bytes);
}

void WriteQueue::go_on() {
  {
    const MutexLock lock(mutex_);
    goes_on_ = true;
    step_waits_ = false;
  }
  came_.notify_one();
}

void WriteQueue::drain() {
  MutexLock lock(mutex_);
  while (!waiting_.empty() || working_ || step_) went_.wait(lock);
}

bool WriteQueue::is_idle() const {
  const MutexLock lock(mutex_);
  return waiting_.empty() && !working_;
}

// The compiler's thread-safety analysis does not track a lock that is released through a reference.
MUSTER_NOT_CHECKED void WriteQueue::tell_over(MutexLock& lock) {
  went_.notify_all();
  if (!over_) return;
  lock.unlock();
  over_();
  lock.lock();
}

void WriteQueue::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (waiting_.empty() && (step_ ? step_waits_ : !ends_)) came_.wait(lock);
    if (!waiting_.empty()) {
      Work work = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
      if (work.step) {
        step_ = std::move(work.step);
      } else {
        working_ = true;
        lock.unlock();
        work.f();
        work.f = nullptr;  // destroy the function's captures before notifying waiting threads
        lock.lock();
        working_ = false;
        bytes_ -= work.bytes;
        tell_over(lock);
      }
    } else if (!step_) {
      return;
    }
    if (step_) {
      goes_on_ = false;
      lock.unlock();
      const StepResult said = step_();
      lock.lock();
      step_waits_ = said == StepResult::wait && !goes_on_;
      if (said == StepResult::over) {
        step_ = nullptr;
        tell_over(lock);
      }
    }
  }
}

}  // namespace muster
