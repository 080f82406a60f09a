// A small job system, in the place of an engine's own. It knows nothing of Muster.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace engine {

class Jobs {
 public:
  explicit Jobs(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Jobs() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }

  /// Calls f(0), f(1) ... f(count - 1) on its threads and the caller's, and returns when all have returned.
  void parallel(unsigned count, const std::function<void(unsigned)>& f) {
    unsigned left = count;
    std::unique_lock lock(mutex_);
    for (unsigned i = 0; i < count; ++i)
      jobs_.push([this, &f, &left, i] {
        f(i);
        const std::lock_guard done(mutex_);
        if (--left == 0) changed_.notify_all();
      });
    changed_.notify_all();
    while (left > 0) {
      if (jobs_.empty())
        changed_.wait(lock);
      else
        run_one(lock);
    }
  }

 private:
  void run_one(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop();
    lock.unlock();
    job();
    lock.lock();
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (jobs_.empty())
        changed_.wait(lock);
      else
        run_one(lock);
    }
  }

  std::mutex mutex_;  // of the following
  std::condition_variable changed_;
  std::queue<std::function<void()>> jobs_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace engine
