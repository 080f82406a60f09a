// Who must wait for whom in a pass on several workers, shown without luck: a row holds its worker until every other thread
// has found nothing more to do, and by then nobody may have been where they had to wait.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "registry/profile.h"
#include "tests/registry/delivery/busy_world.h"

namespace barriers_test {

using namespace muster;
using namespace busy;

namespace {

/// A thread for each job of a run, that can be asked whether they all rest.
class Watched final : public Executor {
 public:
  std::uint32_t workers() const noexcept override { return 4; }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    {
      const std::scoped_lock lock(mutex_);
      begun_ = 0;
      tids_.clear();
    }
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < count; ++i)
      threads.emplace_back([this, count, job, context, i] {
        {
          const std::scoped_lock lock(mutex_);
          tids_.push_back(static_cast<pid_t>(::syscall(SYS_gettid)));
        }
        // All are there before one begins, so that nobody is still on the way while a row waits for them.
        ++begun_;
        while (begun_.load() < count) std::this_thread::yield();
        job(context, i);
      });
  }
  /// Until each thread but the caller's sleeps or has ended, and still does after a while. False where that takes too long.
  bool others_rest() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int quiet = 0; quiet < 5;) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      quiet = all_sleep() ? quiet + 1 : 0;
    }
    return true;
  }

 private:
  bool all_sleep() {
    const std::scoped_lock lock(mutex_);
    for (const pid_t tid : tids_) {
      if (tid == static_cast<pid_t>(::syscall(SYS_gettid))) continue;
      std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
      std::string text;
      if (!std::getline(file, text)) continue;  // it has ended
      // "tid (name) state ...": the name may hold anything.
      const std::size_t state = text.rfind(')') + 2;
      if (state >= text.size() || (text[state] != 'S' && text[state] != 'Z' && text[state] != 'X')) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::vector<pid_t> tids_;
  std::atomic<std::uint32_t> begun_{0};
};

/// What the handlers here share: they are functions, so that their rows are split.
struct Scene {
  Watched workers;
  std::atomic<bool> slow_done{false}, rested{true};
  std::atomic<int> early{0}, called{0};
};
Scene* scene = nullptr;

constexpr std::uint32_t slow = 1'000'000;

/// Holds its worker at the one row that is slow; everybody else notes whether that row was done.
void hold(bool is_slow, bool must_wait) {
  ++scene->called;
  if (is_slow) {
    if (!scene->workers.others_rest()) scene->rested = false;
    scene->slow_done = true;
  } else if (must_wait && !scene->slow_done) {
    ++scene->early;
  }
}

/// Reads from its parent what it writes. All below the slow row's depth must wait for it.
void below_waits(const Update&, Count& count, Parent<const Count*> up) {
  const std::uint32_t depth = up ? up->hits % 100 + 1 : 0;
  hold(count.hits >= slow, depth > 0);
  count.hits = count.hits / 100 * 100 + depth;
}
/// The same, and pushes: so it goes by depths, not by branches.
void below_waits_and_pushes(const Update& update, Count& count, Parent<const Count*> up, Entity self, Outbox& out) {
  below_waits(update, count, up);
  if (self.index % 50 == 0) out.post(self, Heal{});
}
/// Waits for nobody but its own parents.
void branch(const Update&, Count& count, Parent<const Count*> up) {
  hold(count.hits >= slow, false);
  if (up) count.hits = count.hits / 100 * 100 + up->hits % 100 + 1;
}
/// Counts everybody else as early.
void all_others(const Update&, Count& count, Parent<const Count*> up) {
  hold(count.hits >= slow, static_cast<bool>(up));
}
/// Must wait for whoever writes counts, however many branches that is.
void after_all(const Update&, const Count& count, Health& health) {
  hold(false, true);
  health.value = static_cast<float>(count.hits % 100);
}

/// One root, 60 children of it, and a chain of `deep` below each: the branches begin below the root.
std::vector<Entity> grow(EntityRegistry& registry, int deep) {
  std::vector<Entity> all{registry.create(Count{}, Health{})};
  for (int i = 0; i < 60; ++i) {
    Entity up = all[0];
    for (int k = 0; k < deep; ++k) {
      up = registry.create_under(up, {}, Count{}, Health{});
      all.push_back(up);
    }
  }
  return all;
}

RegistryOptions options() { return {.executor = &scene->workers, .pass_serial_below_ns = 0}; }

}  // namespace

TEST_CASE("no row of a branch begins before the rows above the branches are done") {
  Scene here;
  scene = &here;
  EntityRegistry registry(options());
  const std::vector<Entity> all = grow(registry, 12);
  registry.set(all[0], Count{.hits = slow});
  const auto s = registry.subscribe<below_waits>("below_waits");
  registry.push(Update{});
  CHECK(registry.profile().pass_counters().branches > 0);
  CHECK(here.rested);
  CHECK(here.early == 0);
  CHECK(here.called == static_cast<int>(all.size()));
  CHECK(registry.get<Count>(all[12]).hits == 12);
}

TEST_CASE("no row of a depth begins before all rows of the depth above are done") {
  Scene here;
  scene = &here;
  EntityRegistry registry(options());
  const std::vector<Entity> all = grow(registry, 3);
  registry.set(all[0], Count{.hits = slow});
  const auto s = registry.subscribe<below_waits_and_pushes>("below_waits");
  registry.push(Update{});
  CHECK(registry.profile().pass_counters().branches == 0);
  CHECK(registry.profile().pass_counters().barriers >= 2);
  CHECK(here.rested);
  CHECK(here.early == 0);
  CHECK(here.called == static_cast<int>(all.size()));
  CHECK(registry.get<Count>(all[3]).hits == 3);
}

TEST_CASE("a handler that conflicts begins after the last branch of the one before, whichever that is") {
  for (const std::size_t which : {1u, 200u, 720u}) {
    CAPTURE(which);
    Scene here;
    scene = &here;
    EntityRegistry registry(options());
    const std::vector<Entity> all = grow(registry, 12);
    registry.set(all[which], Count{.hits = slow});
    Handlers handlers;
    handlers.add(registry.subscribe<branch>("a"));
    handlers.add(registry.subscribe<after_all>("b"));
    registry.push(Update{});
    CHECK(registry.profile().pass_counters().branches > 0);
    CHECK(here.rested);
    CHECK(here.early == 0);
    CHECK(here.called == 2 * static_cast<int>(all.size()));
    CHECK(registry.get<Health>(all[12]).value == 12);
  }
}

TEST_CASE("a row that holds its worker is seen by those who need not wait: the other branches go on") {
  Scene here;
  scene = &here;
  EntityRegistry registry(options());
  const std::vector<Entity> all = grow(registry, 12);
  registry.set(all[1], Count{.hits = slow});
  // Most must be early, or the tests above could not see anybody who is.
  const auto s = registry.subscribe<all_others>("a");
  registry.push(Update{});
  CHECK(here.rested);
  CHECK(here.early > static_cast<int>(all.size()) / 2);
}

}  // namespace barriers_test
