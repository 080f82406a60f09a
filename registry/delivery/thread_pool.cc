#include "registry/delivery/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "registry/delivery/look_awhile.h"
#include "system/mutex.h"

namespace muster {

struct ThreadPool::Impl {
  Mutex running;  // held during a run
  Mutex mutex;
  Condition begin, end;
  void (*job)(void*, std::uint32_t) MUSTER_GUARDED_BY(mutex) = nullptr;
  void* context MUSTER_GUARDED_BY(mutex) = nullptr;
  std::uint32_t count MUSTER_GUARDED_BY(mutex) = 0;
  // Written under the mutex, but also read without it by threads that poll before sleeping.
  std::atomic<std::uint32_t> left = 0;       // number of jobs not yet started; these have the
                                             // highest numbers
  std::atomic<std::uint32_t> under_way = 0;  // number of jobs that have started on one of the
                                             // threads
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;

  /// Takes the next job and returns its number.
  std::uint32_t take() noexcept MUSTER_REQUIRES(mutex) { return count - left--; }
  void loop() {
    while (true) {
      look_awhile([&] { return stop || left > 0; });
      MutexLock lock(mutex);
      while (!stop && left == 0) begin.wait(lock);
      if (stop) return;
      const std::uint32_t i = take();
      ++under_way;
      const auto work = job;
      void* const of = context;
      lock.unlock();
      work(of, i);
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
    const MutexLock lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->begin.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

std::uint32_t ThreadPool::workers() const noexcept { return static_cast<std::uint32_t>(impl_->threads.size()) + 1; }

void ThreadPool::run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) {
  if (count == 0) return;
  if (count == 1) return job(context, 0);
  const MutexLock one_run(impl_->running);
  {
    const MutexLock lock(impl_->mutex);
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
  MutexLock lock(impl_->mutex);
  while (impl_->left > 0) {
    const std::uint32_t i = impl_->take();
    lock.unlock();
    job(context, i);
    lock.lock();
  }
  lock.unlock();
  look_awhile([&] { return impl_->under_way == 0; });
  lock.lock();
  while (impl_->under_way > 0) impl_->end.wait(lock);
}

}  // namespace muster
