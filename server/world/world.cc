#include "server/world/world.h"
#include "registry/delivery/thread_pool.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "server/world/time/wake.h"
#include "server/world/time/work_time.h"
#include "server/world/world_file.h"

namespace muster {
namespace {

using Clock = Wake::Clock;

WorldFile open_file(const std::string& path, const WorldOptions& options) {
  auto file = WorldFile::open(path, {.mode = options.open});
  if (!file) throw WorldError(std::move(file.error()));
  return std::move(*file);
}

}  // namespace

namespace {

std::unique_ptr<ThreadPool> make_pool(WorldOptions& options) {
  if (options.workers == 1 || options.registry.executor) return nullptr;
  auto pool = std::make_unique<ThreadPool>(options.workers);
  options.registry.executor = pool.get();
  return pool;
}

}  // namespace

namespace {

/// A commit that another thread writes.
struct Saving {
  Saving(StateCopy rows, CheckpointStamp of, World::Committed told)
      : copied(std::move(rows)), types(of.types.begin(), of.types.end()), stamp(std::move(of)), then(std::move(told)) {
    stamp.types = types;
  }
  StateCopy copied;
  std::vector<const TypeDescriptor*> types;  // of the stamp: the registry may learn more meanwhile, and keeps those
  CheckpointStamp stamp;
  World::Committed then;
  std::expected<std::optional<CheckpointReport>, WorldError> written;
  std::atomic<bool> done = false;
  std::thread thread = {};
};

}  // namespace

struct World::Impl {
  // The file goes last, with its lock; handlers end before the registry.
  WorldFile file;
  WorldOptions options;
  std::unique_ptr<ThreadPool> pool;  // null: one worker, or the host's own executor
  EntityRegistry registry;
  Handlers handlers;
  std::shared_ptr<Wake> wake = std::make_shared<Wake>();  // shared with arrivals on other threads
  std::vector<FlushVisitor*> visitors;
  LoadReport load_report;
  std::vector<std::pair<Entity, std::uint32_t>> left_grants;  // of sessions and threads before the load

  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> durable{0};
  static_assert(std::atomic<bool>::is_always_lock_free);  // stop() is called by signal handlers

  std::uint64_t tick = 0;
  double period_ns = 0;  // of a tick; 0 without hz
  double carry_ns = 0;   // the part of a tick below one ns, so that 60 ticks are a second
  Pacer pacer;
  TimeCounts tick_times;
  std::optional<std::uint64_t> tick_begun_ns;  // processor time
  bool timers_wait = false;                    // without hz: whether the registry's clock was left running
  std::unique_ptr<Saving> saving;              // meanwhile nobody else touches the file

  Impl(const std::string& path, WorldOptions given)
      : file(open_file(path, given)),
        options(std::move(given)),
        pool(make_pool(options)),
        registry(options.registry),
        pacer(options.hz) {
    if (options.hz > 0) period_ns = 1e9 / options.hz;
  }

  CheckpointStamp stamp() const {
    return {.sequence = registry.sequence(),
            .tick = tick,
            .code = options.code,
            .types_fingerprint = registry.types().fingerprint(),
            .types = registry.types().types()};
  }
  std::expected<CheckpointReport, WorldError> commit() {
    // What changes after this save must differ in version from what this save writes.
    registry.begin_version();
    auto report = file.checkpoint(stamp(), [&](StateSink& sink) { registry.save(sink); });
    if (report) durable.store(report->sequence, std::memory_order_release);
    return report;
  }
  void begin_saving(Committed then);
  /// Waits for it where it is not done.
  void end_saving();
  void flush() {
    if (saving && saving->done) end_saving();
    // Not while loading: an input is for sinks to see, which the host adds when the world is there.
    for (const auto& [first, count] : std::exchange(left_grants, {})) registry.return_grant(first, count);
    for (FlushVisitor* visitor : visitors) visitor->before_flush();
    registry.flush();
    for (FlushVisitor* visitor : visitors) visitor->after_flush(registry);
  }
  Frame next_tick_frame();
  void run_until_stopped();
};

World::World(std::string path, const Install& install, WorldOptions options) {
  const auto refuse = [&](WorldErrorCode code, const std::string& detail) -> void {
    throw WorldError(code, path, detail);
  };
  if (!(options.hz == 0 || (options.hz >= 1e-3 && options.hz <= 1e6)))
    refuse(WorldErrorCode::setup, "hz must be 0, or from 0.001 to 1000000");
  try {
    impl_ = std::make_unique<Impl>(path, std::move(options));
  } catch (const std::system_error& error) {
    refuse(WorldErrorCode::io, error.what());
  }
  try {
    if (install) impl_->handlers = install(impl_->registry);
  } catch (const std::exception& error) {
    refuse(WorldErrorCode::setup, std::string("its handlers cannot be installed: ") + error.what());
  }
  auto loaded = impl_->file.load([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = impl_->registry.load(source);
    if (!read) return std::unexpected(std::move(read.error()));
    impl_->load_report = std::move(*read);
    impl_->left_grants = impl_->registry.left_grants();
    return {};
  });
  if (!loaded) throw WorldError(std::move(loaded.error()));
  if (!impl_->file.is_new()) {
    impl_->tick = impl_->file.meta().tick;
    impl_->durable = impl_->registry.sequence();
  }
  impl_->registry.inbox().on_arrival([wake = impl_->wake] { wake->signal(); });
}

World::~World() {
  impl_->registry.inbox().on_arrival({});
  if (impl_->saving) impl_->saving->thread.join();
}

EntityRegistry& World::registry() noexcept { return impl_->registry; }
const EntityRegistry& World::registry() const noexcept { return impl_->registry; }
const std::string& World::path() const noexcept { return impl_->file.path(); }
bool World::is_new() const noexcept { return !impl_->saving && impl_->file.is_new(); }
std::uint64_t World::tick() const noexcept { return impl_->tick; }
double World::hz() const noexcept { return impl_->options.hz; }
const Pace& World::pace() const noexcept { return impl_->pacer.pace(); }
std::expected<void, PaceFault> World::set_pace(const Pace& pace) { return impl_->pacer.set(pace, Clock::now()); }
const TimeCounts& World::tick_times() const noexcept { return impl_->tick_times; }
const LoadReport& World::load_report() const noexcept { return impl_->load_report; }
void World::set_code(std::string code) { impl_->options.code = std::move(code); }
std::uint64_t World::durable_sequence() const noexcept { return impl_->durable.load(std::memory_order_acquire); }

std::expected<CheckpointReport, WorldError> World::try_commit() {
  if (impl_->saving) impl_->end_saving();
  return impl_->commit();
}

bool World::begin_commit(Committed then) {
  if (impl_->saving) return false;
  if (impl_->file.is_new())
    then(impl_->commit());
  else
    impl_->begin_saving(std::move(then));
  return true;
}

void World::Impl::begin_saving(Committed then) {
  registry.begin_version();
  saving = std::make_unique<Saving>(file.copy([&](StateSink& sink) { registry.save(sink); }), stamp(), std::move(then));
  const auto write = [this, &own = *saving] {
    own.written = file.checkpoint(own.stamp, own.copied);
    if (own.written && *own.written) durable.store((*own.written)->sequence, std::memory_order_release);
    own.done = true;
    wake->signal();
  };
  try {
    saving->thread = std::thread(write);
  } catch (const std::system_error&) {  // there are no threads left
    const std::unique_ptr<Saving> alone = std::move(saving);
    alone->then(commit());
  }
}

void World::Impl::end_saving() {
  saving->thread.join();
  const std::unique_ptr<Saving> over = std::move(saving);
  if (!over->written) return over->then(std::unexpected(std::move(over->written.error())));
  // Another program wrote to the file: all of it is written, of the state as it is by now.
  over->then(*over->written ? std::expected<CheckpointReport, WorldError>(**over->written) : commit());
}

CheckpointReport World::commit() {
  auto report = try_commit();
  if (!report) throw WorldError(std::move(report.error()));
  return *report;
}

Frame World::next_frame() {
  if (impl_->period_ns > 0) return impl_->next_tick_frame();
  impl_->run_until_stopped();
  return {};
}

Frame World::Impl::next_tick_frame() {
  const auto processor_ns = [clock = ProcessorClock::of_this_thread()] { return clock.now_ns(); };
  if (!tick_begun_ns) tick_begun_ns = processor_ns();
  (void)pacer.next_tick(Clock::now());
  // Between the ticks of a slower clock there is more time for what arrives, so theirs say nothing.
  bool counts = true;
  for (;;) {
    counts = counts && pacer.pace().speed >= 1;
    flush();
    if (stopped.load(std::memory_order_acquire)) return {};
    const Clock::time_point now = Clock::now();
    const auto due = pacer.next_tick(now);
    // Sleeping ends early on every arrival; what arrived is handled at once, not at the tick.
    if (due && (now >= *due || !wake->wait(due))) break;
    if (due) continue;
    wake->wait(std::nullopt);
    tick_begun_ns = processor_ns();  // what was done while it was paused belongs to no tick
  }
  Frame frame{.dt = static_cast<float>(1 / options.hz), .late_ns = pacer.begin_tick(Clock::now())};

  carry_ns += period_ns;
  const double whole = std::floor(carry_ns);
  carry_ns -= whole;
  registry.advance(static_cast<std::uint64_t>(whole));
  frame.tick = ++tick;
  frame.now_ns = registry.now_ns();
  const std::uint64_t used_ns = processor_ns();
  if (counts) tick_times.add(used_ns - *tick_begun_ns);
  tick_begun_ns = used_ns;
  return frame;
}

void World::Impl::run_until_stopped() {
  pacer.begin_following(Clock::now());
  timers_wait = false;
  for (;;) {
    if (const std::uint64_t passed = pacer.passed(Clock::now(), timers_wait)) registry.advance(passed);
    flush();
    if (stopped.load(std::memory_order_acquire)) return;
    std::uint64_t due = 0;
    timers_wait = registry.next_due(due);
    const std::uint64_t now = registry.now_ns();
    wake->wait(timers_wait ? pacer.when(due > now ? due - now : 0) : std::nullopt);
  }
}

void World::stop() noexcept {
  impl_->stopped.store(true, std::memory_order_release);
  impl_->wake->signal();
}

void World::wake() noexcept { impl_->wake->signal(); }

void World::add_visitor(FlushVisitor& visitor) { impl_->visitors.push_back(&visitor); }

void World::remove_visitor(FlushVisitor& visitor) noexcept { std::erase(impl_->visitors, &visitor); }

}  // namespace muster
