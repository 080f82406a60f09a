// A simple executor whose threads sleep until there are jobs.
#pragma once

#include <memory>

#include "registry/delivery/executor.h"

namespace muster {

/// May be shared by registries on several threads; their runs then take place one after another.
class ThreadPool final : public Executor {
 public:
  /// The thread that calls run() is one of the workers, so the pool starts one thread fewer. If
  /// `workers` is 0, there is one worker per processor.
  explicit ThreadPool(std::uint32_t workers);
  /// Must not be called while run() is executing.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::uint32_t workers() const noexcept override;
  /// Calls job 0 on the caller's thread, and then any jobs that no other thread has started yet.
  void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
