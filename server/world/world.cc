#include "registry/delivery/thread_pool.h"
#include "server/world/world_impl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "registry/apply/timers.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "schema/hash.h"
#include "schema/muster.h"
#include "server/world/file/file_beside.h"
#include "server/world/file/world_file.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/work_mark.h"
#include "server/world/saving/saver.h"
#include "server/world/time/host_calls.h"
#include "server/world/time/polling.h"
#include "server/world/time/stop_signals.h"
#include "server/world/time/wake.h"
#include "server/world/time/watchdog.h"
#include "server/world/time/work_time.h"
#include "system/random_id.h"
#include "system/standard_descriptors.h"

namespace muster {
namespace {

/// Returns the earlier of two times. An empty value means never.
using Clock = Wake::Clock;
std::optional<Clock::time_point> earlier(std::optional<Clock::time_point> a, std::optional<Clock::time_point> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

std::unique_ptr<Store> open_store(const std::string& path, const WorldOptions& options) {
  const StoreOptions of = {.mode = options.open, .merge_bytes = options.merge_bytes, .past_bytes = options.past_bytes};
  if (options.open_store) {
    auto store = options.open_store(path, of);
    if (!store) throw WorldError(std::move(store.error()));
    return std::move(*store);
  }
  auto file = WorldFile::open(path, {.mode = of.mode, .merge_bytes = of.merge_bytes, .past_bytes = of.past_bytes});
  if (!file) throw WorldError(std::move(file.error()));
  return std::make_unique<WorldFile>(std::move(*file));
}

}  // namespace

namespace {

/// Returns the registry's options. Unless those options have an on_warning of their own, the
/// registry's warnings go to the world's on_warning.
RegistryOptions registry_options(const WorldOptions& options) {
  RegistryOptions made = options.registry;
  if (!made.on_warning) made.on_warning = options.on_warning;
  return made;
}

std::unique_ptr<ThreadPool> make_pool(WorldOptions& options) {
  if (options.workers == 1 || options.registry.executor) return nullptr;
  auto pool = std::make_unique<ThreadPool>(options.workers);
  options.registry.executor = pool.get();
  return pool;
}

}  // namespace

namespace {

/// Passes on the rows of another source, and keeps the schemas among them.
class SchemasKept final : public StateSource {
 public:
  explicit SchemasKept(StateSource& source) : source_(source) {}
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    source_.rows(section, [&](const StateKey& key, std::span<const std::byte> bytes) {
      if (section == StateSection::schema) schemas.emplace_back(bytes.begin(), bytes.end());
      take(key, bytes);
    });
  }
  std::vector<std::vector<std::byte>> schemas;

 private:
  StateSource& source_;
};

/// Describes how the loaded state differs from the saved one. Returns an empty string if it does
/// not differ.
std::string not_as_saved(const LoadReport& report) {
  if (report.mended > 0) return "values of the checkpoint were put right";
  if (!report.converted.empty()) return "the checkpoint was converted to other types";
  if (report.lost_requests > 0) return "handlers were to begin or end that belonged to another process";
  return {};
}

}  // namespace

World::Impl::Impl(const std::string& path, WorldOptions given)
    : signals(given.stop_on_signals ? std::make_unique<StopSignals>(stopped, *wake) : nullptr),
      file(open_store(path, given)),
      options(std::move(given)),
      pool(make_pool(options)),
      registry(registry_options(options)),
      history(registry, options.history_bytes),
      pacer(options.hz),
      saver(*file, registry,
            {.stamp = [this] { return stamp(); },
             .wake = [wake = wake] { wake->signal(); },
             .durability = options.durability,
             .epoch = epoch,
             .mark = &mark,
             .history = &history,
             .autosave = options.autosave,
             .journal_bytes_max = options.journal_bytes_max,
             .preserved_bytes_max = options.preserved_bytes_max,
             .disk_lags = options.disk_lags,
             .waiting_bytes_max = options.waiting_bytes_max,
             .warn = options.on_warning,
             .fail = options.on_failure ? options.on_failure : options.on_warning}) {}

void World::Impl::flush() {
  saver.look();
  registry.host().begin_turn();
  for (const auto& act : std::exchange(acts, {})) act();
  // The grants are not returned while loading, because sinks must see the resulting inputs, and
  // the host adds its sinks only after the world has been opened.
  for (const auto& [first, count] : std::exchange(left_grants, {})) registry.host().return_grant(first, count);
  for (FlushVisitor* visitor : visitors) visitor->before_flush();
  registry.flush();
  if (stands.empty()) {
    history.release_ids();
    mark.end(registry.sequence(), tick);
  }
  for (FlushVisitor* visitor : visitors) visitor->after_flush(registry);
  const bool was_new = !saver.is_saving() && file->is_new();
  saver.write_due(Clock::now());
  if (was_new) begin_marking();
  if (options.registry.cascade_ns_max != 0 && registry.host().carries() && stands.empty()) wake->signal();
}

bool World::Impl::sleep(std::optional<Clock::time_point> until) {
  for (;;) {
    const auto look = saver.next_look();
    const bool woken = wake->wait(earlier(until, look));
    const Clock::time_point now = Clock::now();
    if (woken || !look || (until && now >= *until)) return woken;
    saver.look_at_file(now);
  }
}

World::World(std::string path, const Install& install, WorldOptions options, std::uint32_t arithmetic) {
  const auto refuse = [&](WorldErrorCode code, const std::string& detail) -> void {
    throw WorldError(code, path, detail);
  };
  if (const int error = occupy_standard_descriptors(); error != 0)
    refuse(WorldErrorCode::io,
           std::string("standard input, output or error is closed, and /dev/null cannot be opened: ") +
               std::strerror(error));
  if (!(options.hz == 0 || (options.hz >= 1e-3 && options.hz <= 1e6)))
    refuse(WorldErrorCode::setup, "hz must be 0, or from 0.001 to 1000000");
  warn_of_arithmetic(arithmetic, options.on_warning);
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
  impl_->code_mark = impl_->marked_code();
  if (impl_->options.watchdog.count() > 0)
    impl_->watchdog.emplace(
        impl_->options.watchdog,
        Watchdog::Host{.at_work = [&registry = impl_->registry] { return registry.host().at_work(); },
                       .hangs = [&mark = impl_->mark](bool on) { mark.hang(on); },
                       .told = impl_->options.on_hang});
  auto loaded = impl_->file->load([&](StateSource& source) -> std::expected<void, StateError> {
    // A load would silently discard everything that `install` has created.
    if (!impl_->registry.host().is_new()) return std::unexpected(StateError{{}, "the registry is not new"});
    SchemasKept kept(source);
    auto read = impl_->registry.load(kept);
    impl_->saved_schemas = std::move(kept.schemas);
    if (!read) return std::unexpected(std::move(read.error()));
    impl_->load_report = std::move(*read);
    return {};
  });
  if (!loaded) throw WorldError(std::move(loaded.error()));
  if (!impl_->file->is_new()) {
    impl_->read_history();
    impl_->recover();
    if (const auto& warn = impl_->options.on_warning)
      for (const std::string& sentence :
           newer_rescued(impl_->file->beside(), impl_->file->meta().world, impl_->registry.sequence()))
        warn(sentence);
  }
  if (impl_->file->is_new()) impl_->set_bounds();
  if (impl_->stands.empty()) impl_->saver.opened();
  if (impl_->options.level) {
    (void)impl_->pacer.set({.paused = true}, Impl::Clock::now());
    if (impl_->run) {
      if (auto ended = impl_->stop_playing(); !ended) throw WorldError(std::move(ended.error()));
      if (auto saved = impl_->saver.save(); !saved) throw WorldError(std::move(saved.error()));
      if (const auto& warn = impl_->options.on_warning)
        warn("a run was on, and has been ended: the world is the level. Its edits can be kept until the next run");
    }
  }
  impl_->registry.host().inbox().on_arrival([wake = impl_->wake] { wake->signal(); });
}

World::~World() { impl_->registry.host().inbox().on_arrival({}); }

EntityRegistry& World::registry() noexcept { return impl_->registry; }
EditHistory& World::history() noexcept { return impl_->history; }
const EntityRegistry& World::registry() const noexcept { return impl_->registry; }
const std::string& World::path() const noexcept { return impl_->file->path(); }
const std::string& World::beside() const noexcept { return impl_->file->beside(); }
bool World::is_new() const noexcept { return !impl_->saver.is_saving() && impl_->file->is_new(); }
std::uint64_t World::tick() const noexcept { return impl_->tick; }
double World::hz() const noexcept { return impl_->options.hz; }
const Pace& World::pace() const noexcept { return impl_->pacer.pace(); }
std::expected<void, PaceFault> World::set_pace(const Pace& pace) {
  if (!impl_->stands.empty() && (!pace.paused || pace.steps > 0))
    return std::unexpected(
        PaceFault{pace.paused ? "steps" : "paused", "stopped", "the clock stays paused: " + impl_->stands});
  return impl_->pacer.set(pace, Clock::now());
}
const TimeCounts& World::tick_times() const noexcept { return impl_->tick_times; }
const LoadReport& World::load_report() const noexcept { return impl_->load_report; }
const RecoveryReport& World::recovery_report() const noexcept { return impl_->recovery; }
std::string World::hang() const {
  const std::string text = impl_->watchdog ? impl_->watchdog->text() : std::string();
  return text.empty() ? impl_->calls.absence() : text;
}
const std::string* World::stopped() const noexcept { return impl_->stands.empty() ? nullptr : &impl_->stands; }
std::uint64_t World::stopped_before() const noexcept { return impl_->stands_before; }
void World::set_code(std::string code) {
  impl_->saver.set_code(code);
  impl_->options.code = std::move(code);
  if (impl_->stands.empty()) impl_->mark.set_code(impl_->marked_code());
}
std::string World::id() const { return impl_->file->meta().world; }
std::uint64_t World::epoch() const noexcept { return impl_->epoch.load(std::memory_order_acquire); }
AppliedRequests& World::applied_requests() noexcept { return impl_->applied; }
std::uint64_t World::lineage() const noexcept {
  const std::uint64_t first = impl_->run_steps ? impl_->run_steps->first : 0;
  return 1 + 2 * first + (impl_->run ? 1 : 0);
}
std::uint64_t World::durable_sequence() const noexcept { return impl_->saver.durable(); }
std::uint64_t World::saved_sequence() const noexcept { return impl_->saver.saved(); }
std::uint64_t World::journal_bytes() const noexcept { return impl_->saver.journal_bytes(); }
std::uint64_t World::held_bytes() const noexcept { return impl_->saver.held_bytes(); }
std::string World::size_warning() const { return impl_->saver.size_warning(); }
Durability World::durability() const noexcept { return impl_->options.durability; }
std::chrono::nanoseconds World::autosave() const noexcept { return impl_->options.autosave; }
const std::string* World::autosave_error() const noexcept { return impl_->saver.autosave_error(); }
const std::string* World::displaced() const noexcept { return impl_->file->displaced(); }
const std::string* World::recording_error() const noexcept { return impl_->saver.error(); }

std::expected<CheckpointReport, WorldError> World::try_save() {
  auto report = impl_->saver.save();
  impl_->begin_marking();
  return report;
}

bool World::begin_save(Saved then) {
  const bool begun = impl_->saver.begin(std::move(then));
  if (!impl_->saver.is_saving()) impl_->begin_marking();
  return begun;
}

std::string World::Impl::marked(const WorkSuspect& at) const {
  const TypeDescriptor* const type = registry.types().find(at.type);
  std::string text = "input " + std::to_string(at.sequence) + " (" + (type ? type->name : std::string("a message")) +
                     (at.session == 0 ? ", of the server)" : ", of session " + std::to_string(at.session) + ")");
  if (at.tick != 0) text += " in tick " + std::to_string(at.tick);
  return text;
}

bool World::Impl::comes_again(const WorkSuspect& at) const {
  return at.session == 0 && (at.tick != 0 || at.type == TypeTraits<Advance>::id);
}

std::string World::Impl::due_in(const WorkSuspect& at) const {
  const auto& waiting = registry.host().timers().waiting();
  if (waiting.empty()) return {};
  std::uint64_t until = waiting.begin()->first.due_ns;
  if (options.hz > 0 && at.tick > tick) {
    until = registry.now_ns();
    // The tick number comes from a file, which may contain anything.
    const std::uint64_t last = std::min(at.tick, tick + 100'000);
    for (std::uint64_t each = tick + 1; each <= last; ++each) until = later(until, tick_ns(each));
  }
  std::string text, first;
  std::size_t count = 0;
  for (auto timer = waiting.begin(); timer != waiting.end() && timer->first.due_ns <= until; ++timer) {
    if (++count > 8) return text + ", and more. `muster timers` lists them, and `" + first + "` takes one back";
    const std::string number = std::to_string(timer->first.id);
    const TypeDescriptor* const type = registry.types().find(BatchView(timer->second.batch).type());
    text += (count == 1 ? "timer " : ", timer ") + number + " (" + (type ? type->name : "a message") + ")";
    if (count == 1) first = "muster push @world CancelTimer timer=" + number;
  }
  return text.empty() ? text : text + ". `" + first + "` takes " + (count == 1 ? "it" : "the first one") + " back";
}

void World::Impl::stop_before(const WorkSuspect& at) {
  const bool in_journal = !recovery.stopped.empty();
  stands_before = at.sequence;
  stands = "it stands before " + (in_journal ? recovery.stopped : marked(at)) + ": " +
           (at.hung ? std::string("a handler did not return from it")
                    : "its process died " + std::to_string(at.deaths) + " times while it was handled");
  if (!in_journal)
    stands += ". That input is not in the file, which ends with input " + std::to_string(registry.sequence());
  stands += ". Nothing is written, and the clock is paused. To go on without that input, start with --skip " +
            std::to_string(at.sequence);
  if (comes_again(at)) {
    stands += " --paused: the tick comes again when the clock runs, so mend by an edit what ends it before that";
    if (const std::string due = due_in(at); !due.empty()) stands += "; by then these are due: " + due;
    stands += ". To try it again as it is, remove ";
  } else {
    stands += "; to try it again, remove ";
  }
  stands += file->beside() + "-work. A program with a World of its own sets WorldOptions::skip instead of --skip";
  saver.opened_stopped(stands);
  (void)pacer.set({.paused = true}, Clock::now());
}

void World::Impl::read_history() {
  if (file->is_older()) {
    // When the journal was recorded, ids were not parked, so the replay must not park them either.
    registry.host().set_edit_log(nullptr);
    return;
  }
  run_steps = file->meta().run_steps;
  const auto is_of_run = [&](std::uint64_t number) {
    return run_steps && number >= run_steps->first && (run_steps->last == 0 || number <= run_steps->last);
  };
  std::vector<EditHistory::Saved> steps, of_run;
  auto read = file->steps([&](std::uint64_t number, std::span<const std::byte> bytes) {
    (is_of_run(number) ? of_run : steps).push_back({.number = number, .bytes = {bytes.begin(), bytes.end()}});
  });
  if (!read) throw WorldError(std::move(read.error()));
  const auto load = [&](std::vector<EditHistory::Saved>& saved) {
    const auto loaded = history.load(saved);
    if (loaded) return;
    if (options.on_warning) options.on_warning("the history cannot be read, and is empty now: " + loaded.error());
    for (EditHistory::Saved& step : saved) step.bytes.clear();
    history.put_back(std::move(saved));
  };
  load(steps);
  if (const std::optional<FileLevel>& level = file->meta().level) {
    run = Run{.sequence = level->sequence, .tick = level->tick};
    level_pace.paused = true;
    history.begin_run();
    load(of_run);
  } else {
    last_run.load(of_run);
  }
}

void World::Impl::recover() {
  tick = file->meta().tick;
  begin_marking();
  const std::optional<WorkSuspect> died = mark.suspect();
  const auto is_left_out = [&](std::uint64_t sequence) {
    return std::ranges::find(mark.left_out(), sequence) != mark.left_out().end();
  };
  // Do not stop before an input that is already left out.
  const WorkSuspect at = died && died->is_sure() && !is_left_out(died->sequence) ? *died : WorkSuspect{};
  if (options.skip != 0 && options.skip != at.sequence && !is_left_out(options.skip))
    throw WorldError(WorldErrorCode::stopped, file->path(),
                     "input " + std::to_string(options.skip) +
                         " cannot be left out: the world does not stand before it" +
                         (at.sequence == 0 ? std::string() : ", but before input " + std::to_string(at.sequence)));
  if (options.skip != 0 && !mark.leave_out(options.skip))
    throw WorldError(WorldErrorCode::stopped, file->path(),
                     "input " + std::to_string(options.skip) +
                         " cannot be left out: " + std::to_string(WorkMark::left_out_max) + " others are already");
  (void)applied.read(file->meta().requests);
  Recovery journal(registry, {.code = options.code,
                              .tick = tick,
                              .not_exact = not_as_saved(load_report),
                              .schemas = std::exchange(saved_schemas, {}),
                              .stop_before = options.skip == at.sequence ? 0 : at.sequence,
                              .skip = {mark.left_out().begin(), mark.left_out().end()},
                              .mark = &mark,
                              .applied = &applied});
  auto read = file->journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (auto taken = journal.take(group); !taken) return std::unexpected(std::move(taken.error()));
    return !journal.has_stopped();
  });
  if (!read && (!options.level || !run)) throw WorldError(std::move(read.error()));
  if (!read) {
    // The level does not depend on the journal of the run, and replaces the state.
    file->give_up_journal();
    tick = journal.tick();
    if (options.on_warning)
      options.on_warning("what was done in the run after its last save is lost: " + read.error().detail());
    registry.host().set_edit_log(&history);
    return mark.forget();
  }
  saver.found_journal(read->bytes);
  recovery = journal.report();
  tick = journal.tick();
  mark.end(registry.sequence(), tick);
  if (died && died->by_the_last) recovery.died = marked(*died);
  // If an input from a session never reached the disk, it returns only if the session sends it
  // again.
  if (journal.has_stopped() || (options.skip != at.sequence && at.sequence != 0 && at.session == 0 && mark.suspect()))
    return stop_before(at);
  if (options.skip != 0 && options.skip == at.sequence && recovery.skipped.empty())
    recovery.not_there = marked(at) + " is not in the file, so nothing was left out" +
                         (comes_again(at) ? ": it comes again with the clock" : "");
  left_grants = registry.host().left_grants();
  registry.host().set_edit_log(&history);
  // Later inputs are recorded relative to this state, using the current types and with a history.
  if (set_bounds() || !recovery.exact() ||
      (options.durability != Durability::checkpoint && (journal.types_differ() || file->is_older())))
    if (auto report = saver.save(); !report) throw WorldError(std::move(report.error()));
  mark.forget_left_out();
  if (died && died->is_sure()) mark.forget();
}

CheckpointReport World::save() {
  auto report = try_save();
  if (!report) throw WorldError(std::move(report.error()));
  return *report;
}

Frame World::next_frame() {
  const HostCalls::Call call(impl_->calls, "World::next_frame", impl_->registry);
  if (impl_->options.hz > 0) return impl_->next_tick_frame();
  impl_->run_until_stopped();
  return {};
}

Frame World::poll() {
  const HostCalls::Call call(impl_->calls, "World::poll", impl_->registry);
  return impl_->poll(std::nullopt);
}

Frame World::poll(std::chrono::duration<double, std::nano> elapsed) {
  require(impl_->options.hz == 0,
          "World::poll: the ticks of a world with hz have one length, so it takes no elapsed time: call poll()");
  const HostCalls::Call call(impl_->calls, "World::poll", impl_->registry);
  return impl_->poll(elapsed);
}

bool World::has_ended() const noexcept { return impl_->ended; }

Frame World::Impl::make_tick(std::uint64_t ns, float dt, std::uint64_t late_ns) {
  mark.begin_tick(tick + 1, registry.sequence() + 1);
  registry.advance(ns);
  saver.made_tick(++tick);
  return {.dt = dt, .tick = tick, .now_ns = registry.now_ns(), .late_ns = late_ns};
}

Frame World::Impl::poll(std::optional<std::chrono::duration<double, std::nano>> elapsed) {
  const ProcessorClock processor = ProcessorClock::of_this_thread();
  if (tick_begun_ns) tick_times.add(processor.now_ns() - *std::exchange(tick_begun_ns, std::nullopt));
  pacer.begin_polling();
  if (!flush_and_go_on()) return {};
  const Clock::time_point now = Clock::now();
  if (options.hz > 0) {
    if (!polling.gives(pacer.next_tick(now), now)) return {};
    tick_begun_ns = processor.now_ns();
    return make_tick(tick_ns(tick + 1), static_cast<float>(1 / options.hz), pacer.begin_tick(now));
  }
  const std::uint64_t passed_ns = pacer.frame_ns(elapsed ? *elapsed : polling.since_last(now));
  if (passed_ns == 0) return {};
  tick_begun_ns = processor.now_ns();
  return make_tick(passed_ns, static_cast<float>(static_cast<double>(passed_ns) / 1e9), 0);
}

Frame World::Impl::next_tick_frame() {
  const auto processor_ns = [clock = ProcessorClock::of_this_thread()] { return clock.now_ns(); };
  if (!tick_begun_ns) tick_begun_ns = processor_ns();
  (void)pacer.next_tick(Clock::now());
  // At a speed below 1, more time passes between two ticks, so the measured times are not
  // meaningful.
  bool counts = true;
  for (;;) {
    counts = counts && pacer.pace().speed >= 1;
    if (!flush_and_go_on()) return {};
    const Clock::time_point now = Clock::now();
    const auto due = pacer.next_tick(now);
    // Every arrival ends the sleep early, so that it is handled immediately instead of at the next
    // tick.
    if (due && now >= *due) break;
    const auto until = earlier(due, saver.due());
    const bool woken = sleep(until);
    if (due && !woken && until == due) break;
    if (due) continue;
    // Work done while the clock was paused is not attributed to any tick.
    tick_begun_ns = processor_ns();
  }
  const Frame frame = make_tick(tick_ns(tick + 1), static_cast<float>(1 / options.hz), pacer.begin_tick(Clock::now()));
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
    if (!flush_and_go_on()) return;
    const Timers& timers = registry.host().timers();
    timers_wait = !timers.empty();
    const std::uint64_t due = timers_wait ? timers.next_due() : 0;
    const std::uint64_t now = registry.now_ns();
    sleep(earlier(timers_wait ? pacer.when(due > now ? due - now : 0) : std::nullopt, saver.due()));
  }
}

void World::stop() noexcept {
  impl_->stopped.store(true, std::memory_order_release);
  impl_->wake->signal();
}

void World::wake() noexcept { impl_->wake->signal(); }

void World::at_next_flush(std::function<void()> act) {
  impl_->acts.push_back(std::move(act));
  impl_->wake->signal();
}

void World::add_visitor(FlushVisitor& visitor) { impl_->visitors.push_back(&visitor); }

void World::remove_visitor(FlushVisitor& visitor) noexcept { std::erase(impl_->visitors, &visitor); }

}  // namespace muster
