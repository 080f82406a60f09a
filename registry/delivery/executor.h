// Provides a registry with threads in addition to the caller's. registry/delivery/thread_pool.h has
// a plain executor; a host with its own job system implements this interface on top of it.
#pragma once

#include <cstdint>

namespace muster {

class Executor {
 public:
  virtual ~Executor() = default;
  /// The number of jobs that can run at the same time; at least 1, and constant.
  virtual std::uint32_t workers() const noexcept = 0;
  /// Calls job(context, i) once for each i below `count`, on any threads, including or excluding
  /// the caller's. Returns when all calls have returned and their writes are visible. `count` is at
  /// most workers(). Jobs do not throw. A job may wait for a job that has been started, but never
  /// for one that has not, so all jobs end even if they run one after another.
  virtual void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) = 0;
};

/// Statistics of passes while a registry had an executor with more than one worker; no decision
/// depends on them.
struct PassCounters {
  std::uint64_t spread = 0;  ///< passes that ran on several workers

  /// Passes that were too light to be spread, or had nothing to run in parallel.
  std::uint64_t alone = 0;
  std::uint64_t tasks = 0;     ///< work items of the passes that were spread
  std::uint64_t barriers = 0;  ///< times that a handler's rows waited for rows of a smaller depth
  std::uint64_t branches = 0;  ///< tasks that were whole branches of the hierarchy
  std::uint64_t turns = 0;     ///< tasks that waited for all earlier ones to set a timer, or add a text or type
  std::uint64_t steps = 0;     ///< handlers and pairs of waiting handlers visited while tasks were put in order
};

}  // namespace muster
