// What a tick of the demo costs: a battle of its own, no server, no file.
//
//   skirmish_ticks [--workers N] [--split] [--trace FILE] [UNITS [TICKS [DISTANCE]]]
//                                     100000 units, 1200 ticks (20 s of the world), lines 90 m apart
//
// Prints the processor time to deploy, and, of each fifth of the ticks, median and worst, with the messages delivered per tick.
// With several workers it is the time of all their processors together; what became of passes is printed too. With --split the
// registry is observed, and the time of a tick is split by handler and by message; --trace writes what the last ticks did, for
// ui.perfetto.dev.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>
#include <vector>

#include "examples/skirmish/skirmish.h"
#include "registry/entity_registry.h"
#include "registry/thread_pool.h"
#include "schema/skirmish.h"

namespace {

/// Processor time, not wall time: other programs on the machine do not count.
double ms_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) * 1000 / static_cast<double>(CLOCKS_PER_SEC);
}

double per(std::uint64_t sum, long ticks) { return static_cast<double>(sum) / static_cast<double>(ticks); }

/// As tables in Markdown.
void print_split(const muster::EntityRegistry& registry, long ticks) {
  std::vector<muster::HandlerFigures> handlers = registry.handler_figures();
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
  std::vector<muster::MessageFigures> messages = registry.message_figures();
  std::ranges::sort(messages, std::greater{}, &muster::MessageFigures::ns);
  std::printf(
      "\n| message | pushed | caused | handled | dropped | carried | ms per tick |\n|---|--:|--:|--:|--:|--:|--:|\n");
  for (const muster::MessageFigures& m : messages)
    std::printf("| %s | %.1f | %.1f | %.1f | %.2f | %llu | %.3f |\n", m.name.c_str(), per(m.pushed, ticks),
                per(m.caused, ticks), per(m.handled, ticks), per(m.dead, ticks),
                static_cast<unsigned long long>(m.carried), per(m.ns, ticks) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t workers = 1;
  bool split = false;
  const char* trace_file = nullptr;
  int plain = 1;  // arguments that are no options move to the front
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--workers" && i + 1 < argc)
      workers = static_cast<std::uint32_t>(std::clamp(std::strtol(argv[++i], nullptr, 10), 1l, 64l));
    else if (word == "--trace" && i + 1 < argc)
      trace_file = argv[++i];
    else if (word == "--split")
      split = true;
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
  muster::EntityRegistry registry({.executor = &pool});
  const muster::Handlers handlers = skirmish::install(registry);
  skirmish::define_squads(registry);
  auto start = std::clock();
  // A squad is an entity, each of its eight units two; the two armies have two towers each at least.
  registry.push(skirmish::Deploy{.entities = 2 + 4 + (units + 15) / 16 * 2 * 17, .distance = distance});
  std::printf("%u units, %llu entities deployed in %.1f ms\n", units,
              static_cast<unsigned long long>(registry.entity_count()), ms_since(start));
  muster::Trace trace;
  if (trace_file) registry.set_trace(&trace);
  registry.observe(split || trace_file);
  const auto wall = std::chrono::steady_clock::now();
  for (int part = 0; part < 5; ++part) {
    std::vector<double> ms;
    const std::uint64_t messages = registry.counters().messages;
    for (long i = 0; i < ticks / 5; ++i) {
      start = std::clock();
      registry.advance(1'000'000'000 / 60);
      registry.push(muster::Update{.dt = 1.0f / 60});
      ms.push_back(ms_since(start));
    }
    std::ranges::sort(ms);
    std::uint32_t lost = 0;
    registry.each<skirmish::Army>([&](const skirmish::Army& army) { lost += army.lost; });
    std::printf(
        "ticks %5ld..%5ld  median %7.3f ms  99%% %7.3f ms  worst %7.3f ms  %7.0f messages per tick  %u units lost\n",
        part * (ticks / 5), (part + 1) * (ticks / 5) - 1, ms[ms.size() / 2], ms[ms.size() * 99 / 100], ms.back(),
        static_cast<double>(registry.counters().messages - messages) / static_cast<double>(ms.size()), lost);
  }
  const muster::PassCounters& passes = registry.pass_counters();
  if (workers > 1)
    std::printf("%llu passes on several workers in %llu tasks, %llu on one\n",
                static_cast<unsigned long long>(passes.spread), static_cast<unsigned long long>(passes.tasks),
                static_cast<unsigned long long>(passes.alone));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - wall;
  const long done = ticks / 5 * 5;
  std::printf("%.3f ms of wall time per tick\n", took.count() / static_cast<double>(done));
  if (split) print_split(registry, done);
  if (!trace_file) return 0;
  std::FILE* const file = std::fopen(trace_file, "wb");
  if (!file) return std::perror(trace_file), 1;
  trace.write([&](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), file); });
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written) return std::perror(trace_file), 1;
  std::printf("%zu slices in %s, %llu left out\n", trace.slices(), trace_file,
              static_cast<unsigned long long>(trace.left_out()));
}
