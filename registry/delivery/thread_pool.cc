#include "registry/delivery/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "registry/delivery/look_awhile.h"

namespace muster {

struct ThreadPool::Impl {
  std::mutex running;  // held during a run
  std::mutex mutex;    // of what follows
  std::condition_variable begin, end;
  void (*job)(void*, std::uint32_t) = nullptr;
  void* context = nullptr;
  std::uint32_t count = 0;
  // Read without the mutex by those who look before they sleep.
  std::atomic<std::uint32_t> left = 0;       // not yet begun: the last ones of them
  std::atomic<std::uint32_t> under_way = 0;  // begun by one of the threads
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;

  /// The next job; somebody holds the mutex.
  std::uint32_t take() noexcept { return count - left--; }
  void loop() {
    while (true) {
      look_awhile([&] { return stop || left > 0; });
      std::unique_lock lock(mutex);
      begin.wait(lock, [&] { return stop || left > 0; });
      if (stop) return;
      const std::uint32_t i = take();
      ++under_way;
      lock.unlock();
      job(context, i);
      lock.lock();
      if (--under_way == 0) end.notify_one();
    }
  }
};

ThreadPool::ThreadPool(std::uint32_t workers) : impl_(std::make_unique<Impl>()) {
  if (workers == 0) workers = std::max(std::thread::hardware_concurrency(), 1u);
  for (std::uint32_t i = 1; i < workers; ++i) impl_->threads.emplace_back([impl = impl_.get()] { impl->loop(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->begin.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

std::uint32_t ThreadPool::workers() const noexcept { return static_cast<std::uint32_t>(impl_->threads.size()) + 1; }

void ThreadPool::run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) {
  if (count == 0) return;
  if (count == 1) return job(context, 0);
  const std::lock_guard one_run(impl_->running);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->job = job;
    impl_->context = context;
    impl_->count = count;
    impl_->left = count - 1;
  }
  if (count == 2)
    impl_->begin.notify_one();
  else
    impl_->begin.notify_all();
  job(context, 0);
  std::unique_lock lock(impl_->mutex);
  while (impl_->left > 0) {
    const std::uint32_t i = impl_->take();
    lock.unlock();
    job(context, i);
    lock.lock();
  }
  lock.unlock();
  look_awhile([&] { return impl_->under_way == 0; });
  lock.lock();
  impl_->end.wait(lock, [&] { return impl_->under_way == 0; });
}

}  // namespace muster
