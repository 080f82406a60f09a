// A schedule and a pass of many handlers: as few edges as say the same, and steps that grow with the handlers.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "registry/delivery/executor.h"
#include "registry/delivery/schedule.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

void writes(const Update&, game::Health& health) { health.value += 1; }
void reads(const Update&, const game::Health&) {}

/// Two workers, one after the other on the caller's thread.
class OneThread final : public Executor {
 public:
  std::uint32_t workers() const noexcept override { return 2; }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    for (std::uint32_t i = 0; i < count; ++i) job(context, i);
  }
};

Handler random_handler(std::mt19937& random, unsigned types) {
  Handler made;
  for (unsigned terms = random() % 4; terms > 0; --terms) {
    Term term{.type = static_cast<TypeId>(1 + random() % types), .access = random() % 3 ? Access::read : Access::write};
    const unsigned source = random() % 8;
    term.source = source < 5 ? Source::self : source == 5 ? Source::parent : source == 6 ? Source::any : Source::other;
    if (term.source == Source::self && random() % 4 == 0) {
      term.access = Access::read;
      term.value = false;
      term.presence = random() % 2 ? Presence::excluded : Presence::required;
    }
    made.terms.push_back(term);
  }
  const auto resource = [&] { return "r" + std::to_string(random() % 4); };
  if (random() % 8 == 0) made.options.external_reads = {resource()};
  if (random() % 8 == 0) made.options.external_writes = {resource(), resource()};
  if (random() % 12 == 0) made.options.on_begin = [] { return true; };
  made.has_state = random() % 12 == 0;
  made.spawns = random() % 12 == 0;
  return made;
}

struct Spent {
  std::uint64_t making = 0, passing = 0, edges = 0;
};
/// What a pass of so many handlers of one component takes, all of which write it, or all but some only read it.
Spent spent(std::uint32_t count, bool all_write, bool begins) {
  OneThread executor;
  EntityRegistry registry({.executor = &executor, .pass_serial_below_ns = 0});
  const Entity e = registry.create(game::Health{.value = 0});
  std::vector<Subscription> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = "h" + std::to_string(i);
    HandlerOptions options;
    if (begins) options.on_begin = [] { return true; };
    if (begins) options.external_reads = {"nothing"};
    if (all_write || i % 50 == 0)
      all.push_back(registry.subscribe(name, writes, options));
    else
      all.push_back(registry.subscribe(name, reads, options));
  }
  const PassSchedule schedule = make_schedule(registry.host().handlers().route(TypeTraits<Update>::id)->active);
  Spent result{.making = schedule.steps};
  for (const PassSchedule::Node& node : schedule.nodes) result.edges += node.earlier.size();
  registry.push(Update{});
  const std::uint64_t before = registry.profile().pass_counters().steps,
                      spread = registry.profile().pass_counters().spread;
  registry.push(Update{});
  REQUIRE(registry.profile().pass_counters().spread == spread + 1);
  result.passing = registry.profile().pass_counters().steps - before;
  CHECK(registry.get<game::Health>(e).value == float(2 * (all_write ? count : (count + 49) / 50)));
  return result;
}

}  // namespace

TEST_CASE("a schedule's edges, over however many, say of each pair what comparing the two says") {
  std::mt19937 random(21);
  std::size_t left_out = 0;
  for (int program = 0; program < 1500; ++program) {
    const auto types = static_cast<unsigned>(1 + random() % 6);
    std::vector<Handler> handlers(2 + random() % 14);
    std::vector<Handler*> active;
    for (Handler& handler : handlers) {
      handler = random_handler(random, types);
      active.push_back(&handler);
    }
    const PassSchedule schedule = make_schedule(active);
    REQUIRE(schedule.nodes.size() == active.size());
    // By number: whom it waits for, over others too, as the schedule has it and as all pairs have it.
    std::vector<std::set<std::uint32_t>> here(active.size()), there(active.size());
    std::vector<std::uint32_t> group(active.size(), 0);
    std::uint32_t groups = 0;
    for (std::uint32_t i = 0; i < active.size(); ++i) {
      REQUIRE(std::ranges::is_sorted(schedule.nodes[i].earlier));
      for (const std::uint32_t e : schedule.nodes[i].earlier) {
        REQUIRE(e < i);
        REQUIRE_FALSE(conflicts(*active[e], *active[i]).empty());
        REQUIRE(std::ranges::count(schedule.nodes[e].later, i) == 1);
        here[i].insert(e);
        here[i].insert(here[e].begin(), here[e].end());
      }
      for (std::uint32_t e = 0; e < i; ++e) {
        if (conflicts(*active[e], *active[i]).empty()) continue;
        left_out += std::ranges::count(schedule.nodes[i].earlier, e) == 0;
        there[i].insert(e);
        there[i].insert(there[e].begin(), there[e].end());
        group[i] = std::max(group[i], group[e] + 1);
      }
      groups = std::max(groups, group[i] + 1);
      REQUIRE(here[i] == there[i]);
      REQUIRE(schedule.nodes[i].group == group[i]);
    }
    REQUIRE(schedule.groups == groups);
  }
  CHECK(left_out > 1000);
}

TEST_CASE(
    "a pass of many handlers that wait for each other takes steps that grow with their number, not with its square") {
  for (const bool begins : {false, true})
    for (const bool all_write : {true, false}) {
      CAPTURE(begins, all_write);
      const Spent small = spent(100, all_write, begins), large = spent(1000, all_write, begins);
      CHECK(large.edges < 1000 * 2);
      CHECK(large.making < 1000 * 4);
      CHECK(large.passing < 1000 * 16);
      CHECK(large.passing < small.passing * 20);
      CHECK(small.passing > 100);
    }
}
