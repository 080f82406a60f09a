// What saving costs a world that runs, and what coming back costs.
//
//   saving_costs ticks ENTITIES [TICKS]      60 ticks a second, one in ten of which writes every row of a tenth of the chunks, one edit in each;
//                                            a save is begun every 2 s. Processor time of the world thread per tick, and how long edits
//                                            wait until they are durable, while a save is under way and while none is
//   saving_costs battle UNITS [TICKS]        the demo's battle likewise: what each save writes beside the bytes of the columns that changed
//   saving_costs recovery ENTITIES MESSAGES  processor time to open a world whose journal has so many messages behind its state
//   saving_costs memory ENTITIES             memory of a world at rest, and at most while it is saved in the background, and loaded
//
// The file is in the working directory (a folder in memory says nothing). Of processor time other programs on the machine are no part, but
// caches and memory are shared with them.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "examples/skirmish/skirmish.h"
#include "registry/host.h"
#include "schema/skirmish.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

constexpr int ticks_a_save = 120;  // 2 s
const char* const path = "saving_costs.muster";

double cpu_ms(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Pages that the system made for this thread because it wrote to fresh memory.
double fresh_pages() {
  rusage used;
  ::getrusage(RUSAGE_THREAD, &used);
  return static_cast<double>(used.ru_minflt);
}

double at(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(place));
  return values[place];
}

void print(const char* what, const char* unit, std::vector<double>& values) {
  std::printf("%-48s %7zu   median %8.3f   99.9 %% %8.3f   longest %8.3f %s\n", what, values.size(), at(values, 0.5),
              at(values, 0.999), at(values, 1), unit);
}

void remove_files() {
  for (const char* part : {"", "-wal", "-shm", "-lock", "-work"}) std::filesystem::remove(std::string(path) + part);
}

Handlers install(EntityRegistry& registry) {
  Handlers all;
  registry.add_type<bench::Mass>();
  all.add(registry.subscribe("hit", [](const bench::Hit& hit, bench::Spot& spot) { spot.x += hit.amount; }));
  all.add(registry.subscribe("push", [](const bench::Push1& push, bench::Velocity& v) { v.x += push.amount; }));
  return all;
}

std::vector<Entity> populate(EntityRegistry& registry, std::uint32_t count) {
  return registry.create_many(count, bench::Position{}, bench::Spot{}, bench::Velocity{});
}

/// Tells when edits become durable, by a thread that looks every tenth of a millisecond.
class DurableWatch {
 public:
  explicit DurableWatch(const World& world) : world_(world), thread_([this] { run(); }) {}
  ~DurableWatch() {
    ends_ = true;
    thread_.join();
  }
  DurableWatch(const DurableWatch&) = delete;
  DurableWatch& operator=(const DurableWatch&) = delete;
  void edited(std::uint64_t sequence, bool saving) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({sequence, saving, Clock::now()});
  }
  std::vector<double> while_saving, otherwise;  // ms; to be read when this has ended its work

 private:
  struct Edit {
    std::uint64_t sequence;
    bool saving;
    Clock::time_point at;
  };
  void run() {
    while (!ends_) {
      const std::uint64_t durable = world_.durable_sequence();
      const auto now = Clock::now();
      {
        const std::lock_guard lock(mutex_);
        for (; !waiting_.empty() && waiting_.front().sequence <= durable; waiting_.pop_front())
          (waiting_.front().saving ? while_saving : otherwise)
              .push_back(std::chrono::duration<double, std::milli>(now - waiting_.front().at).count());
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  const World& world_;
  std::mutex mutex_;
  std::deque<Edit> waiting_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Begins a save every 2 s, where none is under way, and adds up what they report.
class Saves {
 public:
  explicit Saves(World& world) : world_(world) {}
  /// Whether one was begun.
  bool tick() {
    if (++ticks_ % ticks_a_save != 0 || under_way) return false;
    under_way = world_.begin_save([this](std::expected<CheckpointReport, WorldError> report) {
      under_way = false;
      if (!report) {
        std::fprintf(stderr, "%s\n", report.error().what());
        std::exit(1);
      }
      bytes += report->bytes_written;
      rows += report->rows_written;
      ++done;
    });
    return under_way;
  }
  bool under_way = false;
  std::uint64_t done = 0, bytes = 0, rows = 0;

 private:
  World& world_;
  int ticks_ = 0;
};

int ticks(std::uint32_t count, int ticks) {
  World world(
      path, install,
      {.hz = 60, .durability = Durability::each_flush, .autosave = {}, .on_warning = [](const std::string& what) {
         std::printf("%s\n", what.c_str());
       }});
  const std::vector<Entity> all = populate(world.registry(), count);
  world.save();
  std::vector<double> times[2][2];  // writes, a save is under way
  std::vector<double> pages;        // of ticks that write while a save is under way
  std::vector<double> begins;
  Saves saves(world);
  DurableWatch durable(world);
  const std::span<const Entity> entities(all);
  for (int tick = -2 * ticks_a_save; tick < ticks; ++tick) {
    const bool was_saving = saves.under_way;
    const double before = cpu_ms(CLOCK_THREAD_CPUTIME_ID), pages_before = fresh_pages();
    world.next_frame();
    const bool writes = tick % 10 == 0;
    if (writes) {
      const std::size_t share = all.size() / 10, nth = static_cast<std::size_t>(tick + 2 * ticks_a_save) / 10 * 7 % 10;
      world.registry().push(entities.subspan(nth * share, share), bench::Hit{.amount = 1});
    }
    world.registry().push(all[static_cast<std::size_t>(tick + 2 * ticks_a_save) * 7919 % all.size()],
                          bench::Push1{.amount = 1});
    if (tick >= 0) durable.edited(world.registry().sequence(), was_saving);
    const bool began = saves.tick();
    const double used = cpu_ms(CLOCK_THREAD_CPUTIME_ID) - before;
    if (tick < 0) continue;
    if (began) begins.push_back(used);
    times[writes][was_saving || began].push_back(used);
    if (writes && was_saving) pages.push_back(fresh_pages() - pages_before);
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::printf("%u entities, %llu saves, %.1f MiB each\n", count, static_cast<unsigned long long>(saves.done),
              static_cast<double>(saves.bytes) / 1048576 / static_cast<double>(std::max<std::uint64_t>(saves.done, 1)));
  print("ticks that write, no save under way", "ms", times[1][0]);
  print("ticks that write, a save under way", "ms", times[1][1]);
  print("fresh memory of those", "pages", pages);
  print("ticks that do not, no save under way", "ms", times[0][0]);
  print("ticks that do not, a save under way", "ms", times[0][1]);
  print("ticks in which a save was begun", "ms", begins);
  print("edit until it is durable, no save under way", "ms", durable.otherwise);
  print("edit until it is durable, a save under way", "ms", durable.while_saving);
  std::printf("edits: a save under way %.2f times the others (goal 3)\n",
              at(durable.while_saving, 0.5) / std::max(at(durable.otherwise, 0.5), 1e-6));
  for (const bool writes : {true, false})
    std::printf(
        "ticks that %s: 99.9 %% with a save under way %.2f ms (goal %.2f: twice the median of the others and 2)\n",
        writes ? "write" : "do not", at(times[writes][1], 0.999), 2 * at(times[writes][0], 0.5) + 2);
  return 0;
}

/// Counts bytes of columns that changed after a version, and of managers that did since the last time.
class Changed final : public StateSink {
 public:
  Changed(std::uint64_t since, std::map<StateKey, std::vector<std::byte>>& known) : since_(since), known_(known) {}
  bool has(const StateKey& key, std::uint64_t version) override {
    return (key.section == StateSection::chunks || key.section == StateSection::columns) && version <= since_;
  }
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    if (key.section == StateSection::columns) columns += bytes.size();
    if (key.section != StateSection::managers && key.section != StateSection::manager_parts) return;
    std::vector<std::byte>& last = known_[key];
    if (std::ranges::equal(last, bytes)) return;
    managers += bytes.size();
    last.assign(bytes.begin(), bytes.end());
  }
  std::uint64_t columns = 0, managers = 0;

 private:
  const std::uint64_t since_;
  std::map<StateKey, std::vector<std::byte>>& known_;
};

int battle(std::uint32_t units, int ticks) {
  World world(path, skirmish::install, {.hz = 60, .durability = Durability::batched, .autosave = {}});
  EntityRegistry& registry = world.registry();
  skirmish::define_squads(registry);
  registry.push(skirmish::Deploy{.entities = 2 + 4 + (units + 15) / 16 * 2 * 17, .distance = 90});
  world.save();
  std::uint64_t since = registry.host().begin_version(), columns = 0, managers = 0;
  std::map<StateKey, std::vector<std::byte>> known;
  Changed deployed(0, known);
  registry.save(deployed);
  Saves saves(world);
  for (int tick = 0; tick < ticks; ++tick) {
    world.next_frame();
    registry.push(Update{.dt = 1.0f / 60});
    if (!saves.tick()) continue;
    Changed changed(since, known);
    registry.save(changed);
    since = registry.host().begin_version();
    columns += changed.columns;
    managers += changed.managers;
  }
  while (saves.under_way) world.next_frame();
  const double mib = 1048576, rest = static_cast<double>(saves.bytes) - static_cast<double>(managers);
  std::printf(
      "%llu entities, %llu saves: columns that changed %.2f MiB, managers that did %.2f MiB, written %.2f MiB: %.3f of "
      "the columns (goal 1.2), %.3f without managers\n",
      static_cast<unsigned long long>(registry.entity_count()), static_cast<unsigned long long>(saves.done),
      static_cast<double>(columns) / mib, static_cast<double>(managers) / mib, static_cast<double>(saves.bytes) / mib,
      static_cast<double>(saves.bytes) / static_cast<double>(std::max<std::uint64_t>(columns, 1)),
      rest / static_cast<double>(std::max<std::uint64_t>(columns, 1)));
  return 0;
}

/// In a process of its own, so that time and memory are of nothing else.
rusage in_child(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  if (status != 0) std::exit(1);
  return used;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

int recovery(std::uint32_t count, std::uint32_t messages) {
  in_child([&] {
    World world(path, install, {.durability = Durability::each_flush, .autosave = {}});
    const std::vector<Entity> all = populate(world.registry(), count);
    world.save();
    constexpr std::uint32_t a_batch = 1'000;  // as frames of a client have them
    for (std::uint32_t i = 0; i < messages; ++i) {
      world.registry().post(all[std::uint64_t{i} * 7919 % all.size()], bench::Hit{.amount = 1});
      if (i % a_batch == a_batch - 1) world.registry().flush();
    }
    world.registry().flush();
    while (world.durable_sequence() < world.registry().sequence()) {
      world.wake();
      world.stop();
      (void)world.next_frame();
    }
    std::printf("%u entities, %llu messages, hash %016llx, journal %.1f MiB\n", count,
                static_cast<unsigned long long>(world.registry().host().counters().messages),
                static_cast<unsigned long long>(world.registry().hash()),
                static_cast<double>(world.journal_bytes()) / 1048576);
  });
  for (int time = 0; time < 3; ++time) {
    const rusage used = in_child([&] {
      const World world(path, install,
                        {.open = OpenMode::open_existing, .durability = Durability::checkpoint, .autosave = {}});
      const double own = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
      std::printf("back with %llu messages, hash %016llx, replayed to %llu, %.3f s of processor time\n",
                  static_cast<unsigned long long>(world.registry().host().counters().messages),
                  static_cast<unsigned long long>(world.registry().hash()),
                  static_cast<unsigned long long>(world.registry().sequence()), own / 1e3);
    });
    std::printf("the whole process: user %.3f s, system %.3f s\n", seconds(used.ru_utime), seconds(used.ru_stime));
  }
  return 0;
}

double resident_mib(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::atof(line.c_str() + std::string_view(field).size()) / 1024;
  return 0;
}

/// From here on VmHWM is the most that is resident from here on.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

int memory(std::uint32_t count) {
  in_child([&] {
    World world(path, install, {.hz = 60, .durability = Durability::checkpoint, .autosave = {}});
    {
      const auto made = populate(world.registry(), count);
    }
    const double rest = resident_mib("VmRSS:");
    forget_peak();
    world.save();
    const double first = resident_mib("VmHWM:");
    world.registry().push(Update{.dt = 0});
    Saves saves(world);
    while (saves.done < 2) {
      world.next_frame();
      saves.tick();
    }
    std::printf("%u entities: at rest %.0f MiB; at most %.0f (%.2f) in the first save, %.0f (%.2f) in two later ones\n",
                count, rest, first, first / rest, resident_mib("VmHWM:"), resident_mib("VmHWM:") / rest);
  });
  in_child([&] {
    World world(path, install,
                {.hz = 60, .open = OpenMode::open_existing, .durability = Durability::checkpoint, .autosave = {}});
    const double loaded = resident_mib("VmRSS:"), most = resident_mib("VmHWM:");
    Saves saves(world);
    while (saves.done < 2) {
      world.next_frame();
      saves.tick();
    }
    std::printf("loaded: at rest %.0f MiB; at most %.0f (%.2f) while it was, %.0f (%.2f) with two saves after it\n",
                loaded, most, most / loaded, resident_mib("VmHWM:"), resident_mib("VmHWM:") / loaded);
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int place, std::uint32_t otherwise) {
    return argc > place ? static_cast<std::uint32_t>(std::strtoul(argv[place], nullptr, 10)) : otherwise;
  };
  const std::string_view what = argc > 1 ? argv[1] : "";
  remove_files();
  int result = 2;
  if (what == "ticks") result = ticks(number(2, 1'000'000), static_cast<int>(number(3, 6000)));
  if (what == "battle") result = battle(number(2, 100'000), static_cast<int>(number(3, 1200)));
  if (what == "recovery") result = recovery(number(2, 1'000'000), number(3, 1'000'000));
  if (what == "memory") result = memory(number(2, 10'000'000));
  remove_files();
  if (result == 2) std::fprintf(stderr, "saving_costs ticks | battle | recovery | memory NUMBER [NUMBER]\n");
  return result;
}
