// What sessions leave behind: ids that timers need, texts that somebody knows, and how much all of it is.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "registry/apply/timers.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "server/edits/budgets.h"
#include "server/edits/text_sweep.h"
#include "server/edits/timer_ids.h"
#include "tests/server/arena.h"
#include "tests/server/made_session.h"

using namespace muster;

namespace {

/// Ids that are granted, and timers that create some of them.
struct Timed {
  explicit Timed(std::uint32_t ids) {
    first = registry.host().grant(ids, 7).index;
    count = ids;
  }
  TimerId later(std::uint64_t due_ns, const std::set<std::uint32_t>& made) {
    BatchBuilder inner, timed;
    for (const std::uint32_t id : made) inner.append({id, 1}, Create{});
    timed.append_timed(due_ns, 0, inner.front());
    const TimerId timer = registry.host().next_timer();
    registry.host().push_batch(timed.bytes(), {.session = 7, .request = 1});
    return timer;
  }
  void cancel(TimerId timer, TimerIds* told) {
    BatchBuilder builder;
    builder.append_world(CancelTimer{.timer = timer});
    if (told) told->on_input(builder.front());
    registry.host().push_batch(builder.bytes());
  }
  std::set<std::uint32_t> granted() const {
    std::set<std::uint32_t> all;
    for (std::uint32_t id = first; id < first + count; ++id)
      if (registry.host().storage().in_state({id, 1}, IdState::granted)) all.insert(id);
    return all;
  }
  EntityRegistry registry;
  std::uint32_t first = 0, count = 0;
};

void tell(EntityRegistry& registry, const std::string& text) {
  BatchBuilder builder;
  session::append(builder, InternText{.text = text});
  registry.host().push_batch(builder.bytes(), {.session = 7, .request = 1});
}
bool knows(const EntityRegistry& registry, const std::string& text) { return !registry.text(text_of(text)).empty(); }

}  // namespace

TEST_CASE("an id stays granted exactly as long as a timer that was kept waits and names it, however that ends",
          "[desk]") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  std::mt19937_64 random(seed);
  Timed world(60);
  std::optional<TimerIds> ids(world.registry);
  std::map<TimerId, std::set<std::uint32_t>> waiting, kept;
  std::set<std::uint32_t> touched;  // by a timer that was kept
  for (int step = 0; step < 400; ++step) {
    const auto some = [&](const auto& of) {
      auto at = of.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % of.size()));
      return at->first;
    };
    switch (random() % 6) {
      case 0:
      case 1: {
        std::set<std::uint32_t> made;
        const auto granted = world.granted();
        if (granted.empty()) break;
        for (std::uint64_t n = random() % 5 + 1; n > 0; --n) {
          auto at = granted.begin();
          std::advance(at, static_cast<std::ptrdiff_t>(random() % granted.size()));
          made.insert(*at);
        }
        waiting[world.later(world.registry.now_ns() + random() % 50, made)] = made;
        break;
      }
      case 2: {  // its session ends
        if (waiting.empty()) break;
        std::vector<TimerId> own;
        for (std::uint64_t n = random() % 3 + 1; n > 0; --n) own.push_back(some(waiting));
        own.push_back(12'345'678);  // none that waits
        std::vector<Entity> named;
        for (const TimerId timer : own)
          if (world.registry.host().timers().waits(timer))
            for (const std::uint32_t id : waiting[timer])
              if (world.registry.host().storage().in_state({id, 1}, IdState::granted)) named.push_back({id, 1});
        std::ranges::sort(named);
        CHECK(ids->named_by(own) == named);
        ids->keep(own);
        for (const TimerId timer : own) {
          if (!world.registry.host().timers().waits(timer)) continue;
          auto& of = kept[timer];
          if (!of.empty()) continue;
          for (const std::uint32_t id : waiting[timer])
            if (world.registry.host().storage().in_state({id, 1}, IdState::granted)) of.insert(id);
          touched.insert(of.begin(), of.end());
        }
        break;
      }
      case 3:
        if (!waiting.empty()) world.cancel(some(waiting), random() % 2 ? &*ids : nullptr);
        break;
      case 4: world.registry.advance(random() % 30); break;
      case 5: world.cancel(random() % 1000 + 1'000'000, &*ids); break;  // none that waits
    }
    std::erase_if(waiting, [&](const auto& each) { return !world.registry.host().timers().waits(each.first); });
    const auto before = world.granted();
    ids->give_back();
    std::set<std::uint32_t> expected;
    for (const std::uint32_t id : before) {
      bool named = !touched.contains(id);
      for (const auto& [timer, of] : kept)
        named = named || (world.registry.host().timers().waits(timer) && of.contains(id));
      if (named) expected.insert(id);
    }
    REQUIRE(world.granted() == expected);
    std::erase_if(kept, [&](const auto& each) { return !world.registry.host().timers().waits(each.first); });
  }
  // Of a world that was loaded all timers are kept.
  std::set<std::uint32_t> all = world.granted();
  if (all.empty()) return;
  const TimerId last = world.later(world.registry.now_ns() + 1000, all);
  TimerIds loaded(world.registry);
  loaded.give_back();
  CHECK(world.granted() == all);
  for (const auto& [timer, made] : waiting) world.cancel(timer, &loaded);
  loaded.give_back();
  CHECK(world.granted() == all);
  world.cancel(last, &loaded);
  loaded.give_back();
  CHECK(world.granted().empty());
}

TEST_CASE("of very many timers one that was cancelled by nobody who said so is found in some flushes", "[desk]") {
  constexpr std::uint32_t count = 2500;
  Timed world(count);
  std::vector<TimerId> timers;
  for (std::uint32_t i = 0; i < count; ++i) timers.push_back(world.later(1'000'000 + i, {world.first + i}));
  TimerIds ids(world.registry);
  ids.give_back();
  for (int i = 0; i < 5; ++i) ids.give_back();
  world.cancel(timers[2400], nullptr);
  CHECK(world.granted().size() == count);
  for (int i = 0; i < 3; ++i) ids.give_back();
  CHECK(world.granted().size() == count - 1);
  CHECK_FALSE(world.granted().contains(world.first + 2400));
  // What is told is found at once, however many are kept; ids in a row go back by one input.
  for (int i = 0; i < 5; ++i) ids.give_back();
  for (const std::uint32_t n : {2202u, 2200u, 2201u, 2300u}) world.cancel(timers[n], &ids);
  const std::uint64_t sequence = world.registry.sequence();
  ids.give_back();
  CHECK(world.granted().size() == count - 5);
  CHECK(world.registry.sequence() == sequence + 2);
}

TEST_CASE("a sweep drops the texts that nobody needs, piece by piece, each text looked at once", "[desk]") {
  for (const std::size_t at_once : {1u, 3u, 4u, 100u}) {
    CAPTURE(at_once);
    EntityRegistry registry;
    registry.add_type<arena::Label>();
    std::vector<std::shared_ptr<Session>> sessions;
    for (int i = 0; i < 3; ++i) sessions.push_back(testing::made_session());
    const std::size_t before = registry.host().texts().size();
    for (int i = 0; i < 10; ++i) tell(registry, "t" + std::to_string(i));
    registry.intern("the host's");
    registry.create("", arena::Label{.title = text_of("t7")}).or_stop();
    sessions[0]->seat()->texts_sent.tell(text_of("t1").hash, false, [] {});
    sessions[2]->seat()->texts_told.insert(text_of("t5").hash);
    const std::size_t count = registry.host().texts().size();
    TextSweep sweep(registry, at_once);
    std::size_t pieces = 1;
    while (sweep.go_on(sessions)) REQUIRE(++pieces <= count + 1);
    CHECK(pieces >= (count + at_once - 1) / at_once);
    CHECK(sweep.dropped() == 7);
    CHECK(registry.host().texts().size() == count - 7);
    CHECK(registry.host().texts().size() - before == 4);
    for (const char* kept : {"t1", "t5", "t7", "the host's"}) CHECK(knows(registry, kept));
    for (const char* gone : {"t0", "t2", "t3", "t4", "t6", "t8", "t9"}) CHECK_FALSE(knows(registry, gone));
  }
}

TEST_CASE("texts are swept where they pass half of what is allowed, in number or bytes, and then an eighth more",
          "[desk]") {
  const bool by_bytes = GENERATE(false, true);
  EntityRegistry registry;
  ServerLimits limits;
  limits.world_texts_max = by_bytes ? 1'000'000 : 80;
  limits.world_texts_bytes_max = by_bytes ? 80 * 4 : 1'000'000;
  REQUIRE(registry.host().texts().size() == 0);
  const auto session = testing::made_session();
  const std::vector<std::shared_ptr<Session>> sessions{session};
  TextKeeper keeper(registry, limits);
  int told = 0;
  const auto grow_to = [&](std::size_t count, bool needed) {
    while (registry.host().texts().size() < count) {
      const std::string text = std::to_string(1000 + told++);  // 4 bytes
      tell(registry, text);
      if (needed) session->seat()->texts_told.insert(text_of(text).hash);
    }
  };
  grow_to(40, true);
  CHECK_FALSE(keeper.wanted());
  grow_to(41, true);
  CHECK(keeper.wanted());
  keeper.go_on(sessions);
  // All were needed: the next sweep waits for an eighth of the bound more.
  CHECK(registry.host().texts().size() == 41);
  CHECK_FALSE(keeper.wanted());
  grow_to(51, false);
  CHECK_FALSE(keeper.wanted());
  grow_to(52, false);
  CHECK(keeper.wanted());
  keeper.go_on(sessions);
  CHECK(registry.host().texts().size() == 41);
  CHECK_FALSE(keeper.wanted());
  grow_to(52, false);
  CHECK(keeper.wanted());
  // Where fewer are left than half, half is the bound again.
  session->seat()->texts_told.clear();
  keeper.go_on(sessions);
  CHECK(registry.host().texts().size() == 0);
  grow_to(40, false);
  CHECK_FALSE(keeper.wanted());
  grow_to(41, false);
  CHECK(keeper.wanted());
}

TEST_CASE("rows are counted when they are not known, when they would be too many, and every 64 questions", "[limits]") {
  EntityRegistry registry;
  for (int i = 0; i < 10; ++i) registry.create("", arena::Health{}).or_stop();
  const std::uint64_t rows = 10 * (16 + sizeof(arena::Health) + sizeof(Name));
  WorldBudget probe(registry);
  CHECK(probe.rows_exceed(0, 0));
  const std::uint64_t all = probe.rows();
  CHECK(all > 0);
  CHECK(all <= rows + 10 * 16);
  WorldBudget budget(registry);
  CHECK_FALSE(budget.rows_exceed(5, all + 5));
  CHECK(budget.rows() == all);
  CHECK(budget.rows_exceed(6, all + 5));
  CHECK_FALSE(budget.rows_exceed(5, all + 5));
  budget.add(100, 0);
  CHECK(budget.rows() == all + 100);
  CHECK_FALSE(budget.rows_exceed(0, all + 100));
  CHECK(budget.rows() == all + 100);
  CHECK_FALSE(budget.rows_exceed(0, all + 99));  // counted anew: it was less
  CHECK(budget.rows() == all);
  // What others make is overlooked for 63 questions.
  for (int i = 0; i < 10; ++i) registry.create("", arena::Health{}).or_stop();
  for (int i = 0; i < 63; ++i) {
    CHECK_FALSE(budget.rows_exceed(0, all));
    CHECK(budget.steps() == 0);
  }
  CHECK(budget.rows_exceed(0, all));
  CHECK(budget.rows() == 2 * all);
  // Counting costs a quarter of a step for each archetype.
  registry.create("", arena::Position{}).or_stop();
  registry.create("", arena::Label{}).or_stop();
  registry.create("", arena::Target{}).or_stop();
  registry.create("", arena::Hidden{}).or_stop();
  registry.create("", arena::Hidden{}, arena::Target{}).or_stop();
  registry.create("", arena::Hidden{}, arena::Label{}).or_stop();
  registry.create("", arena::Hidden{}, arena::Position{}).or_stop();
  CHECK(budget.rows_exceed(0, 0));
  CHECK(budget.steps() == registry.host().storage().archetypes().size() / 4);
  CHECK(budget.steps() >= 2);
}

TEST_CASE("templates are counted when they are not known, or would be too many", "[limits]") {
  EntityRegistry registry;
  for (const char* name : {"a", "b"}) {
    TemplateTree tree(name);
    tree.set("", arena::Health{});
    registry.define_template(tree);
  }
  CHECK(template_bytes(registry, "none") == 0);
  const std::uint64_t one = template_bytes(registry, "a"), all = one + template_bytes(registry, "b");
  CHECK(one > 0);
  WorldBudget budget(registry);
  CHECK_FALSE(budget.templates_exceed(5, 0, all + 5));
  CHECK(budget.templates() == all);
  CHECK(budget.steps() == 2);
  CHECK_FALSE(budget.templates_exceed(5, 0, all + 5));
  CHECK(budget.steps() == 0);
  CHECK(budget.templates_exceed(6, 0, all + 5));
  CHECK(budget.steps() == 2);
  CHECK_FALSE(budget.templates_exceed(6, 1, all + 5));
  budget.add(0, 10);
  CHECK(budget.templates() == all + 10);
  CHECK_FALSE(budget.templates_exceed(0, 0, all));  // counted anew
  CHECK(budget.templates() == all);
}

TEST_CASE("what waits for a span of the clock is known with its bytes, those of saved timers too, until it is over",
          "[limits]") {
  Timed world(1);
  constexpr std::uint64_t span = TimerBudget::span_ns;
  const auto bytes_of = [&](TimerId timer) { return world.registry.host().timers().find(timer).size(); };
  const TimerId saved = world.later(3 * span + 5, {world.first});
  TimerBudget budget(world.registry);
  const std::uint64_t bytes = bytes_of(saved);
  CHECK(budget.bytes() == bytes);
  CHECK(budget.due_with(3 * span).bytes == bytes);
  CHECK(budget.due_with(4 * span - 1).bytes == bytes);
  CHECK(budget.due_with(4 * span).bytes == 0);
  CHECK(budget.due_with(3 * span - 1).bytes == 0);
  CHECK(budget.due_with(3 * span).steps == 0);  // of those that were saved the cost is not known
  budget.add(3 * span + 1, {.steps = 7, .bytes = 10});
  budget.add(5 * span, {.steps = 8, .bytes = 20});
  CHECK(budget.due_with(3 * span).steps == 7);
  CHECK(budget.due_with(3 * span).bytes == bytes + 10);
  CHECK(budget.bytes() == bytes + 30);
  world.registry.advance(4 * span - 1);
  CHECK(budget.bytes() == bytes + 30);
  world.registry.advance(1);
  CHECK(budget.bytes() == 20);
  CHECK(budget.due_with(3 * span).steps == 0);
  // What should have been before is due now.
  budget.add(0, {.steps = 9, .bytes = 40});
  CHECK(budget.due_with(0).steps == 9);
  CHECK(budget.due_with(4 * span).steps == 9);
  CHECK(budget.bytes() == 60);
  world.registry.advance(span);
  CHECK(budget.due_with(0).steps == 8);
  CHECK(budget.bytes() == 20);
}
