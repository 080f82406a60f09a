// Who lends a registry more threads than the caller's. registry/delivery/thread_pool.h has a plain one; a host with a job system of
// its own implements this interface over it.
#pragma once

#include <cstdint>

namespace muster {

class Executor {
 public:
  virtual ~Executor() = default;
  /// How many jobs it can run at the same time, at least 1; never another number.
  virtual std::uint32_t workers() const noexcept = 0;
  /// Calls job(context, i) once for each i below `count`, on whatever threads, the caller's among them or not, and returns
  /// when all calls have returned and what they wrote can be read. `count` is at most workers(). A job throws nothing, and
  /// may wait for what another job does that was begun, never for one that was not: run one after another, all end.
  virtual void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) = 0;
};

/// What became of passes while a registry had an executor of more than one worker; decides nothing.
struct PassCounters {
  std::uint64_t spread = 0;    ///< passes that ran on several workers
  std::uint64_t alone = 0;     ///< passes that were too light for that, or had nothing to run beside each other
  std::uint64_t tasks = 0;     ///< pieces of work that the spread ones were cut into
  std::uint64_t barriers = 0;  ///< times that a handler's rows waited for those of a lesser depth
  std::uint64_t branches = 0;  ///< tasks that were whole branches of the hierarchy
  std::uint64_t turns =
      0;  ///< tasks that waited for all before them, because they asked for a timer or named something
  std::uint64_t steps =
      0;  ///< handlers, and pairs of which one waits for the other, that were looked at to order tasks
};

}  // namespace muster
