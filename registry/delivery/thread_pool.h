// A plain executor: threads that sleep until there are jobs.
#pragma once

#include <memory>

#include "registry/delivery/executor.h"

namespace muster {

/// May be shared by registries of several threads: their runs go one after another.
class ThreadPool final : public Executor {
 public:
  /// The caller of run() is one worker, so this starts one thread less. 0: as many workers as the machine has processors.
  explicit ThreadPool(std::uint32_t workers);
  /// No run may be under way.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::uint32_t workers() const noexcept override;
  /// Job 0 is called on the caller's thread, and those that no other thread has begun by then.
  void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
