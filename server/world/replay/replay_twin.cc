#include "server/world/replay/replay_twin.h"

#include <sched.h>

#include <thread>
#include <utility>

#include "system/mutex.h"

namespace muster {
namespace {

/// Keeps the calling thread away from a processor, if it may use another one.
void leave_processor(int processor) {
  cpu_set_t allowed;
  if (processor < 0 || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_CLR(static_cast<std::size_t>(processor), &allowed);
  if (CPU_COUNT(&allowed) > 0) (void)::sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Collects the rows of a registry.
class RowsOfSlice final : public StateSink {
 public:
  explicit RowsOfSlice(Slice& slice) : slice_(slice) {}
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    slice_.rows.push_back({.key = key, .bytes = {bytes.begin(), bytes.end()}});
  }

 private:
  Slice& slice_;
};

}  // namespace

/// A thread that does one thing at a time, for which the caller waits.
class ReplayTwin::OwnThread {
 public:
  OwnThread() : thread_([this] { work(); }) {}
  ~OwnThread() {
    run({});
    thread_.join();
  }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Calls `act` on the thread, and waits until it has returned. An empty function ends the thread.
  void run(const std::function<void()>& act) {
    MutexLock lock(mutex_);
    act_ = &act;
    callers_processor_ = ::sched_getcpu();
    changed_.notify_all();
    while (act_) changed_.wait(lock);
  }

 private:
  void work() {
    cpu_set_t all;
    const bool is_known = ::sched_getaffinity(0, sizeof all, &all) == 0;
    int left = -1;
    MutexLock lock(mutex_);
    for (;;) {
      while (!act_) changed_.wait(lock);
      const std::function<void()>& act = *act_;
      if (act && std::exchange(left, callers_processor_) != callers_processor_) {
        if (is_known) (void)::sched_setaffinity(0, sizeof all, &all);
        leave_processor(left);
      }
      lock.unlock();
      if (act) act();
      const bool ends = !act;
      lock.lock();
      act_ = nullptr;
      changed_.notify_all();
      if (ends) return;
    }
  }

  Mutex mutex_;
  Condition changed_;
  const std::function<void()>* act_ MUSTER_GUARDED_BY(mutex_) = nullptr;
  int callers_processor_ MUSTER_GUARDED_BY(mutex_) = -1;
  std::thread thread_;
};

ReplayTwin::ReplayTwin(ReplayInstall install, InstallAgain install_again, bool any_code)
    : install_(std::move(install)),
      install_again_(std::move(install_again)),
      any_code_(any_code),
      thread_(std::make_unique<OwnThread>()) {}
ReplayTwin::~ReplayTwin() { end(); }

void ReplayTwin::end() {
  acts_.clear();
  thread_->run([&] {
    world_.reset();
    installed_ = {};
  });
}

Replayed ReplayTwin::begin(const Slice& slice) {
  end();
  Replayed loaded;
  thread_->run([&] {
    try {
      installed_ = install_again_ ? install_again_() : install_;
    } catch (const std::exception& error) {
      loaded = replay_fault(WorldErrorCode::setup, std::string("its handlers cannot be loaded again: ") + error.what());
      return;
    }
    world_ = std::make_unique<ReplayWorld>(1);
    loaded = world_->load(slice, installed_, any_code_);
    if (!loaded) world_.reset();
  });
  return loaded;
}

Replayed ReplayTwin::begin_like(const ReplayWorld& other) {
  Slice now;
  RowsOfSlice rows(now);
  other.registry.save(rows);
  now.steps = other.history.all();
  return begin(now);
}

void ReplayTwin::do_all() {
  if (acts_.empty()) return;
  thread_->run([&] {
    for (const Act& act : acts_) act(world_->registry);
  });
  acts_.clear();
}

}  // namespace muster
