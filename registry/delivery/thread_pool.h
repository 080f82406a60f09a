// A plain executor: threads that sleep until there are jobs.
#pragma once

#include <memory>

#include "registry/delivery/executor.h"

namespace muster {

/// May be shared by registries on several threads: their runs are serialized.
class ThreadPool final : public Executor {
 public:
  /// The caller of run() is one of the workers, so the pool starts one thread fewer. 0 means one
  /// worker per processor.
  explicit ThreadPool(std::uint32_t workers);
  /// Must not be called during a run.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::uint32_t workers() const noexcept override;
  /// Calls job 0, and jobs that no other thread has started by then, on the caller's thread.
  void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
