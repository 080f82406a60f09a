// A thread for work that may wait for the disk, so that the listener's thread never does.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace muster {

/// Runs pieces of work in order, on a thread that is started with the first one.
class DiskThread {
 public:
  DiskThread();
  /// Drops the work that has not begun, and waits at most a second for the current piece. If that
  /// piece takes longer, because the disk hangs, the thread outlives this object.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// Calls `work`, and then `done`, both on this object's thread. `done` is not called once the
  /// destructor has begun. `work` must own what it uses.
  void run(std::move_only_function<void()> work, std::move_only_function<void()> done);

 private:
  struct State;
  static void serve(State& state);

  std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace muster
