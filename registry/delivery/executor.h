// Provides a registry with threads in addition to the caller's. registry/delivery/thread_pool.h
// provides a simple executor. A host with its own job system implements this interface on top of
// it.
#pragma once

#include <cstdint>

namespace muster {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Returns the number of jobs that can run at the same time. Must be at least 1 and must not
  /// change.
  virtual std::uint32_t workers() const noexcept = 0;
  /// Calls job(context, i) once for each i below `count`, on any threads, which may or may not
  /// include the caller's. Returns when all calls have returned and their writes are visible to the
  /// caller. `count` is at most workers(). Jobs do not throw. A job may wait for a job that has
  /// started, but never for one that has not, so all jobs finish even if they run one after
  /// another.
  virtual void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) = 0;
};

/// Statistics about passes, collected while a registry has an executor with more than one worker.
/// The registry does not use them for any decision.
struct PassCounters {
  std::uint64_t spread = 0;  ///< number of passes that ran on several workers

  /// Number of passes that were too small to be spread, or that had nothing to run in parallel.
  std::uint64_t alone = 0;
  std::uint64_t tasks = 0;     ///< number of tasks in the passes that were spread
  std::uint64_t barriers = 0;  ///< number of times that a handler's rows waited for rows at a
                               ///< smaller depth
  std::uint64_t branches = 0;  ///< number of tasks that were whole branches of the hierarchy
  std::uint64_t turns = 0;     ///< number of tasks that waited for all earlier ones, to set a timer
                               ///< or to add a text or type
  std::uint64_t steps = 0;     ///< number of handlers, and of pairs of dependent handlers, visited
                               ///< to order tasks
};

}  // namespace muster
