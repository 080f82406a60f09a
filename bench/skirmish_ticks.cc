// What a tick of the demo costs: a battle of its own, no server, no file.
//
//   skirmish_ticks [--workers N] [--spread] [--split] [--record] [--trace FILE] [--json FILE] [UNITS [TICKS [DISTANCE]]]
//                                     100000 units, 1200 ticks (20 s of the world), lines 90 m apart
//
// Prints the processor time to deploy, and, of each fifth of the ticks, median and worst, with the messages delivered per tick.
// With several workers it is the time of all their processors together; what became of passes is printed too. With --split the
// registry is observed, and the time of a tick is split by handler and by message; --trace writes what the last ticks did, for
// ui.perfetto.dev. --record has the inputs recorded, groups of them taken every 100 ms of the world, and the state listed every
// 2 s, of which columns are copied that change within the next half second, as a server has it done on the world thread (writing it is another's). --spread spreads every pass over the workers, also where other programs have the processors. --json writes the
// figures for tools/battle_report.py: of each fifth wall time and, apart, the processor time of the registry's thread and of
// the other workers (the mean of theirs).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "examples/skirmish/skirmish.h"
#include "messages/json_writer.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/observe/figures.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
#include "schema/skirmish.h"
#include "server/world/journal/journal_recorder.h"
#include "server/world/rows/state_copy.h"

namespace {

double ms_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// What the clocks say. Of processor time other programs on the machine are no part.
struct Clocks {
  double wall_ms = ms_of(CLOCK_MONOTONIC), all_ms = ms_of(CLOCK_PROCESS_CPUTIME_ID),
         own_ms = ms_of(CLOCK_THREAD_CPUTIME_ID);
};

/// A fifth of the ticks; ms, of each tick.
struct Part {
  long first = 0, last = 0;
  std::vector<double> wall = {}, all = {}, own = {},
                      others = {};  // others: the mean of the workers but the registry's thread
  double messages = 0;              // per tick
  std::uint32_t lost = 0;

  void add(const Clocks& before, const Clocks& after, std::uint32_t workers) {
    wall.push_back(after.wall_ms - before.wall_ms);
    all.push_back(after.all_ms - before.all_ms);
    own.push_back(after.own_ms - before.own_ms);
    others.push_back(workers > 1 ? std::max(all.back() - own.back(), 0.0) / (workers - 1) : 0);
  }
  void sort() {
    for (std::vector<double>* each : {&wall, &all, &own, &others}) std::ranges::sort(*each);
  }
};
double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }
double most_of_99(const std::vector<double>& sorted) { return sorted[sorted.size() * 99 / 100]; }
/// Every 16th tick looks for contacts, and takes longest: the one in the middle of those.
double median_looking(const std::vector<double>& sorted) { return sorted[sorted.size() * 31 / 32]; }

double per(std::uint64_t sum, long ticks) { return static_cast<double>(sum) / static_cast<double>(ticks); }

/// As tables in Markdown.
void print_split(const muster::EntityRegistry& registry, long ticks) {
  std::vector<muster::HandlerFigures> handlers = registry.profile().handler_figures();
  std::ranges::sort(handlers, std::greater{}, &muster::HandlerFigures::ns);
  std::uint64_t sum = 0;
  for (const muster::HandlerFigures& h : handlers) sum += h.ns;
  std::printf(
      "\n| handler | message | rows per tick | ms per tick | ns per row | share |\n|---|---|--:|--:|--:|--:|\n");
  for (const muster::HandlerFigures& h : handlers) {
    const muster::TypeDescriptor* message = registry.types().find(h.message);
    std::printf("| %s | %s | %.0f | %.3f | %.1f | %.1f %% |\n", h.name.c_str(),
                message ? message->name.c_str() : "change", per(h.rows, ticks), per(h.ns, ticks) / 1e6,
                static_cast<double>(h.ns) / static_cast<double>(std::max<std::uint64_t>(h.rows, 1)),
                100 * static_cast<double>(h.ns) / static_cast<double>(std::max<std::uint64_t>(sum, 1)));
  }
  std::printf("| all handlers | | | %.3f | | |\n", per(sum, ticks) / 1e6);
  std::vector<muster::MessageFigures> messages = registry.profile().message_figures();
  std::ranges::sort(messages, std::greater{}, &muster::MessageFigures::ns);
  std::printf(
      "\n| message | pushed | caused | handled | dropped | carried | ms per tick |\n|---|--:|--:|--:|--:|--:|--:|\n");
  for (const muster::MessageFigures& m : messages)
    std::printf("| %s | %.1f | %.1f | %.1f | %.2f | %llu | %.3f |\n", m.name.c_str(), per(m.pushed, ticks),
                per(m.caused, ticks), per(m.handled, ticks), per(m.dead, ticks),
                static_cast<unsigned long long>(m.carried), per(m.ns, ticks) / 1e6);
}

void write_json(const char* path, const muster::EntityRegistry& registry, std::uint32_t units, std::uint64_t entities,
                std::uint32_t workers, const std::vector<Part>& parts) {
  muster::JsonWriter json;
  json.open_object().member("units", units).member("entities", entities).member("workers", workers);
  json.member("spread", registry.profile().pass_counters().spread)
      .member("alone", registry.profile().pass_counters().alone);
  json.member("tasks", registry.profile().pass_counters().tasks).key("parts").open_array();
  for (const Part& part : parts) {
    json.open_object().member("first", part.first).member("last", part.last);
    json.member("messages", part.messages).member("lost", part.lost);
    const auto times = [&](std::string_view name, const std::vector<double>& ms) {
      json.key(name).open_object().member("median", median(ms)).member("looking", median_looking(ms));
      json.member("worst", ms.back()).close_object();
    };
    times("wall", part.wall), times("all", part.all), times("own", part.own), times("others", part.others);
    json.close_object();
  }
  json.close_array().key("handlers").open_array();
  for (const muster::HandlerFigures& h : registry.profile().handler_figures()) {
    const muster::TypeDescriptor* message = registry.types().find(h.message);
    json.open_object().member("name", h.name).member("message", message ? message->name : "change");
    json.member("calls", h.calls).member("rows", h.rows).member("ns", h.ns).close_object();
  }
  json.close_array().close_object();
  std::ofstream(path, std::ios::binary) << json.text() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t workers = 1;
  bool split = false, spread = false, record = false;
  const char *trace_file = nullptr, *json_file = nullptr;
  int plain = 1;  // arguments that are no options move to the front
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--workers" && i + 1 < argc)
      workers = static_cast<std::uint32_t>(std::clamp(std::strtol(argv[++i], nullptr, 10), 1l, 64l));
    else if (word == "--trace" && i + 1 < argc)
      trace_file = argv[++i];
    else if (word == "--json" && i + 1 < argc)
      json_file = argv[++i];
    else if (word == "--split")
      split = true;
    else if (word == "--record")
      record = true;
    else if (word == "--spread")
      spread = true;
    else if (word.starts_with("--"))
      return std::fprintf(stderr, "skirmish_ticks: unknown option %s\n", argv[i]), 2;
    else
      argv[plain++] = argv[i];
  }
  argc = plain;
  const auto number = [&](int i, long otherwise) { return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  const auto units = static_cast<std::uint32_t>(std::clamp(number(1, 100'000), 16l, 1'800'000l));
  const long ticks = std::max(number(2, 1200), 5l);
  const auto distance = static_cast<float>(number(3, 90));

  muster::ThreadPool pool(workers);
  muster::RegistryOptions options{.executor = &pool};
  if (spread) options.pass_serial_below_ns = 0;
  muster::EntityRegistry registry(options);
  const muster::Handlers handlers = skirmish::install(registry);
  skirmish::define_squads(registry);
  const Clocks deploying;
  // A squad is an entity, each of its eight units two; the two armies have two towers each at least.
  registry.push(skirmish::Deploy{.entities = 2 + 4 + (units + 15) / 16 * 2 * 17, .distance = distance});
  const std::uint64_t deployed = registry.entity_count();
  std::printf("%u units, %llu entities deployed in %.1f ms\n", units, static_cast<unsigned long long>(deployed),
              Clocks().all_ms - deploying.all_ms);
  muster::Trace trace;
  if (trace_file) registry.profile().set_trace(&trace);
  registry.profile().observe(split || trace_file);
  std::optional<muster::JournalRecorder> recorder;
  if (record)
    registry.host().add_sink(recorder.emplace(registry, muster::JournalRecorder::Start{.code = "skirmish_ticks"}));
  std::uint64_t tick = 0, recorded_bytes = 0, copied_rows = 0;
  std::optional<muster::StateCopy> copy;
  const auto keep = [&] {
    recorder->made_tick(++tick);
    if (tick % 6 == 0)
      for (const muster::JournalGroup& group : recorder->take()) recorded_bytes += group.records.size();
    if (copy && tick % 120 == 30) {
      registry.host().remove_preserver(*copy->preserver());
      copy.reset();
    }
    if (tick % 120 != 0) return;
    registry.host().begin_version();
    copy.emplace(nullptr, 0, std::uint64_t{1} << 30);
    registry.save(*copy);
    registry.host().add_preserver(*copy->preserver());
    copied_rows += copy->size();
  };
  std::vector<Part> parts;
  const Clocks battle;
  for (int fifth = 0; fifth < 5; ++fifth) {
    Part& part = parts.emplace_back(Part{.first = fifth * (ticks / 5), .last = (fifth + 1) * (ticks / 5) - 1});
    const std::uint64_t messages = registry.host().counters().messages;
    for (long i = 0; i < ticks / 5; ++i) {
      const Clocks before;
      registry.advance(1'000'000'000 / 60);
      registry.push(muster::Update{.dt = 1.0f / 60});
      if (recorder) keep();
      part.add(before, Clocks(), workers);
    }
    part.sort();
    registry.each<skirmish::Army>([&](const skirmish::Army& army) { part.lost += army.lost; });
    part.messages =
        static_cast<double>(registry.host().counters().messages - messages) / static_cast<double>(part.all.size());
    std::printf(
        "ticks %5ld..%5ld  median %7.3f ms  99%% %7.3f ms  worst %7.3f ms  %7.0f messages per tick  %u units lost\n",
        part.first, part.last, median(part.all), most_of_99(part.all), part.all.back(), part.messages, part.lost);
  }
  const muster::PassCounters& passes = registry.profile().pass_counters();
  if (workers > 1)
    std::printf("%llu passes on several workers in %llu tasks, %llu on one\n",
                static_cast<unsigned long long>(passes.spread), static_cast<unsigned long long>(passes.tasks),
                static_cast<unsigned long long>(passes.alone));
  const long done = ticks / 5 * 5;
  std::printf("%.3f ms of wall time per tick\n", (Clocks().wall_ms - battle.wall_ms) / static_cast<double>(done));
  if (recorder) {
    registry.host().remove_sink(*recorder);
    std::printf("%llu bytes of records, %llu rows copied\n", static_cast<unsigned long long>(recorded_bytes),
                static_cast<unsigned long long>(copied_rows));
  }
  if (split) print_split(registry, done);
  if (json_file) write_json(json_file, registry, units, deployed, workers, parts);
  if (copy) registry.host().remove_preserver(*copy->preserver());
  if (!trace_file) return 0;
  std::FILE* const file = std::fopen(trace_file, "wb");
  if (!file) return std::perror(trace_file), 1;
  trace.write([&](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), file); });
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written) return std::perror(trace_file), 1;
  std::printf("%zu slices in %s, %llu left out\n", trace.slices(), trace_file,
              static_cast<unsigned long long>(trace.left_out()));
}
