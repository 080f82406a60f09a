// Who is told first where not all can be told: within a watch, between those of a session, and within a byte budget.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "registry/observe/clock.h"
#include "server/watches/watches.h"
#include "tests/server/arena.h"
#include "tests/server/large.h"
#include "tests/server/made_session.h"
#include "tests/server/queued_frames.h"

namespace fair_turns_test {

using namespace muster;

namespace {

constexpr TypeId health = TypeTraits<arena::Health>::id, position = TypeTraits<arena::Position>::id;
constexpr std::uint64_t second_ns = 1'000'000'000;

struct Viewer {
  explicit Viewer(OutgoingLimits limits = {.data_bytes_max = 64u << 20}) : session(testing::made_session(limits)) {}
  void follow(Watches& watches, std::uint64_t request, session::Follow what) {
    what.values = true;
    if (const auto fault = watches.follow(session, request, what, 64)) FAIL(fault->text);
  }
  /// Calls frame(WireFrame) for one write's worth. False: there is none.
  template <class F>
  bool read_some(F&& frame) {
    return testing::take_frames(*session->outgoing(), decoder, frame);
  }
  /// For each row of values that came: told(request, component, entity, its bytes).
  template <class F>
  void rows(F&& told) {
    while (read_some([&](const WireFrame& frame) {
      const BatchView batch(frame.batch);
      if (batch.type() != TypeTraits<session::Values>::id) return;
      const auto values = session::read<session::Values>(batch);
      for (std::size_t i = 0; i < values.entities.size(); ++i)
        told(frame.header.request, values.component, values.entities[i], &values.values[i * values.value_bytes]);
    })) {
    }
  }
  std::vector<std::vector<std::byte>> batches() {
    std::vector<std::vector<std::byte>> all;
    while (read_some([&](const WireFrame& frame) { all.emplace_back(frame.batch.begin(), frame.batch.end()); })) {
    }
    return all;
  }
  std::size_t count_rows() {
    std::size_t count = 0;
    rows([&](auto&&...) { ++count; });
    return count;
  }
  const std::shared_ptr<Session> session;
  FrameDecoder decoder{256u << 20, true};
};

session::Follow everyone(std::vector<TypeId> components = {health}) {
  session::Follow what;
  what.world = true;
  what.components = std::move(components);
  return what;
}

std::vector<Entity> fill(EntityRegistry& registry, std::uint32_t count) {
  registry.add_type<arena::Damage>();
  registry.add_type<Set>();
  return registry.create_many(count, arena::Health{}, arena::Position{});
}

void change(EntityRegistry& registry, std::span<const Entity> entities, float value) {
  for (const Entity e : entities) registry.set(e, arena::Health{.value = value}, arena::Position{.x = value});
}

}  // namespace

TEST_CASE(
    "of components that change all the time each has its turn, and whoever waits is told in this round or the next",
    "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 20'000);
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  Viewer viewer;
  viewer.follow(watches, 9, everyone({health, position}));
  for (std::uint64_t turn = 1; viewer.count_rows() > 0; ++turn) watches.after_flush(turn, 50'000'000);
  std::map<std::pair<TypeId, Entity>, std::uint64_t> last;
  std::uint64_t longest = 0, turn = 1000, in_a_turn = 0;
  for (const std::uint64_t until = turn + 200; turn < until; ++turn) {
    change(registry, entities, static_cast<float>(turn));
    watches.after_flush(turn, 150'000);
    std::uint64_t now = 0;
    viewer.rows([&](std::uint64_t, TypeId component, Entity e, const std::uint8_t*) {
      ++now;
      const auto [at, is_new] = last.try_emplace({component, e}, turn);
      longest = std::max(longest, turn - at->second);
      at->second = turn;
    });
    in_a_turn = std::max(in_a_turn, now);
  }
  CHECK(in_a_turn < entities.size());  // a round takes many turns
  CHECK(last.size() == 2 * entities.size());
  // A round is the same for all, up to a turn that began or ended with less.
  std::uint64_t round = 0;
  for (const auto& [of, at] : last) round = std::max(round, turn - at);
  INFO("longest " << longest << ", round " << round << ", rows in a turn " << in_a_turn);
  CHECK(longest <= 2 * entities.size() * 2 / std::max<std::uint64_t>(in_a_turn / 2, 1));
}

TEST_CASE(
    "of a session's watches the one of the greatest priority is told first, equal ones in turn; another session's is "
    "not held up",
    "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 5000);
  Watches watches(registry);
  Viewer slow({.data_bytes_max = 100'000}), other;
  session::Follow what = everyone();
  slow.follow(watches, 1, what);
  what.priority = 3;
  slow.follow(watches, 2, what);
  what.priority = 1;
  slow.follow(watches, 3, what);
  slow.follow(watches, 4, what);
  what.priority = 0;
  other.follow(watches, 5, what);
  std::uint64_t turn = 0;
  const auto drain = [&](std::size_t quiet) {
    std::vector<std::uint64_t> order;
    for (std::size_t none = 0; none < quiet;) {
      watches.after_flush(++turn);
      const std::size_t before = order.size();
      slow.rows([&](std::uint64_t request, TypeId, Entity, const std::uint8_t*) { order.push_back(request); });
      none = order.size() == before ? none + 1 : 0;
    }
    return order;
  };
  drain(3);
  other.count_rows();
  change(registry, entities, 7);
  watches.after_flush(++turn);
  CHECK(other.count_rows() == entities.size());
  const std::vector<std::uint64_t> order = drain(3);
  REQUIRE(order.size() == 4 * entities.size());
  std::map<std::uint64_t, std::size_t> first, last;
  for (std::size_t i = 0; i < order.size(); ++i) {
    first.try_emplace(order[i], i);
    last[order[i]] = i;
  }
  CHECK(last[2] < first[3]);
  CHECK(last[2] < first[4]);
  CHECK(last[3] < first[1]);
  CHECK(last[4] < first[1]);
  // Those two take turns.
  CHECK(std::max(first[3], first[4]) < std::min(last[3], last[4]));
}

TEST_CASE("a watch tells no more bytes in a second than its budget, and everything in the end", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 2000);
  Watches watches(registry);
  Viewer viewer, other;
  session::Follow what = everyone();
  other.follow(watches, 1, what);
  what.bytes_max = 8000;
  viewer.follow(watches, 1, what);
  const std::uint64_t begun_ns = steady_ns();
  std::uint64_t now_ns = begun_ns + 1;
  std::set<Entity> told;
  std::size_t rows = 0;
  const auto turn = [&] {
    const std::uint64_t due_in = watches.after_flush(now_ns);
    viewer.rows([&](std::uint64_t, TypeId, Entity e, const std::uint8_t*) {
      ++rows;
      told.insert(e);
    });
    const std::uint64_t bytes = viewer.session->outgoing()->taken();
    INFO("after " << (now_ns - begun_ns) / 1'000'000 << " ms: " << bytes);
    // One piece may have been told ahead; frames have headers.
    REQUIRE(bytes <= 3000 + (now_ns - begun_ns) * 9500 / second_ns);
    return due_in;
  };
  // It says itself when it goes on.
  int turns = 0;
  while (told.size() < entities.size()) {
    const std::uint64_t due_in = turn();
    REQUIRE((due_in > 0 || told.size() == entities.size()));
    now_ns += due_in;
    REQUIRE(++turns < 1000);
  }
  CHECK(rows == entities.size());
  CHECK(turns >= 20);
  CHECK(now_ns - begun_ns >= 2 * second_ns);  // 24,000 bytes and more
  CHECK(other.count_rows() == entities.size());
  // What changes meanwhile is told once, as it is then.
  told.clear();
  rows = 0;
  for (int i = 0; i < 50; ++i) {
    change(registry, entities, static_cast<float>(i));
    turn();
    now_ns += second_ns / 50;
  }
  CHECK(rows < entities.size());
  CHECK(rows > 200);
  // The budget is the watch's own, and another may be given it.
  what.watch = 1;
  what.bytes_max = 0;
  what.values = true;
  const auto fault = watches.follow(viewer.session, 2, what, 64);
  REQUIRE_FALSE(fault.has_value());
  now_ns += second_ns;
  watches.after_flush(now_ns);
  told.clear();
  viewer.rows([&](std::uint64_t, TypeId, Entity e, const std::uint8_t*) { told.insert(e); });
  CHECK(told.size() == entities.size());
}

TEST_CASE("texts that go with the values of a watch are spent from its budget", "[watch]") {
  EntityRegistry registry;
  registry.add_type<Set>();
  constexpr std::size_t count = 1000, text_bytes = 1000;
  for (std::size_t i = 0; i < count; ++i)
    registry.create(arena::Label{.title = registry.intern(std::to_string(i) + std::string(text_bytes, 'x'))});
  Watches watches(registry);
  Viewer viewer;
  session::Follow what = everyone({TypeTraits<arena::Label>::id});
  what.bytes_max = 100'000;
  viewer.follow(watches, 1, what);
  const std::uint64_t begun_ns = steady_ns();
  std::uint64_t now_ns = begun_ns + 1;
  std::size_t rows = 0;
  for (int turns = 0; rows < count; ++turns) {
    REQUIRE(turns < 1000);
    now_ns += watches.after_flush(now_ns);
    rows += viewer.count_rows();
  }
  CHECK(now_ns - begun_ns >= 6 * second_ns);  // a million bytes; what was told at once was not waited for
}

TEST_CASE("while a watch waits for its budget nobody looks for what changed", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 2000);
  Watches watches(registry);
  Viewer viewer;
  session::Follow what = everyone();
  what.bytes_max = 1000;
  const std::uint64_t before_ns = steady_ns();
  viewer.follow(watches, 1, what);  // its first piece is spent by then
  watches.record(true);
  (void)watches.take_slices();
  std::uint64_t due_in = 0;
  for (int i = 0; i < 10; ++i) {
    change(registry, entities, static_cast<float>(i));
    due_in = watches.after_flush(before_ns);
    CHECK(due_in > 0);
  }
  CHECK(watches.take_slices().empty());
  watches.after_flush(before_ns + due_in);
  CHECK(watches.take_slices().size() == 1);
}

TEST_CASE("events over a watch's budget are lost, and a gap says how many", "[watch]") {
  EntityRegistry registry;
  fill(registry, 1);
  Watches watches(registry);
  Viewer viewer;
  session::Follow what;
  what.world = true;
  what.inputs = true;
  what.bytes_max = 100;
  if (const auto fault = watches.follow(viewer.session, 1, what, 64)) FAIL(fault->text);
  viewer.batches();
  BatchBuilder builder;
  builder.append_world(arena::Damage{});
  for (std::uint64_t i = 1; i <= 5; ++i) watches.on_input({.sequence = i}, builder.bytes(), 0);
  watches.after_flush(steady_ns());
  CHECK(viewer.batches().size() == 1);
  CHECK(viewer.session->outgoing()->taken() < 400);
}

TEST_CASE("watches that tell the same rows have them encoded once, and each is told what is so", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 3000);
  Watches watches(registry);
  Viewer viewers[3], some;
  for (Viewer& viewer : viewers) viewer.follow(watches, 9, everyone({health, position}));
  session::Follow part = everyone();
  part.world = false;
  part.entities.assign(entities.begin() + 10, entities.begin() + 500);
  some.follow(watches, 9, part);
  std::uint64_t turn = 0;
  const auto told = [&](Viewer& viewer) {
    auto all = viewer.batches();
    return all;
  };
  const auto settle = [&] {
    for (int i = 0; i < 20; ++i) watches.after_flush(++turn);
  };
  settle();
  for (Viewer& viewer : viewers) told(viewer);
  told(some);
  for (float value = 1; value < 5; ++value) {
    // The same entities each time, with other values.
    change(registry, std::span(entities).first(2000), value);
    registry.remove<arena::Position>(entities[static_cast<std::size_t>(value)]);
    const std::uint64_t before = watches.equal_rows();
    settle();
    CHECK(watches.equal_rows() > before);
    const auto first = told(viewers[0]);
    REQUIRE_FALSE(first.empty());
    CHECK(told(viewers[1]) == first);
    CHECK(told(viewers[2]) == first);
    std::size_t rows = 0;
    some.rows([&](std::uint64_t, TypeId, Entity e, const std::uint8_t* bytes) {
      ++rows;
      arena::Health is;
      std::memcpy(&is, bytes, sizeof is);
      REQUIRE(is.value == registry.get<arena::Health>(e).value);
    });
    CHECK(rows == 490);
    // The first session received the actual values.
    for (const auto& bytes : first) {
      const BatchView batch{std::span<const std::byte>(bytes)};
      if (batch.type() != TypeTraits<session::Values>::id) continue;
      const auto values = session::read<session::Values>(batch);
      if (values.component != health) continue;
      for (std::size_t i = 0; i < values.entities.size(); ++i) {
        arena::Health is;
        std::memcpy(&is, &values.values[i * sizeof is], sizeof is);
        REQUIRE(is.value == value);
      }
    }
  }
  for (Viewer& viewer : viewers) watches.close_all(*viewer.session);
  // A session that watches alone does not use shared rows.
  const std::uint64_t before = watches.equal_rows();
  change(registry, entities, 9);
  settle();
  CHECK(some.count_rows() == 490);
  CHECK(watches.equal_rows() == before);
}

TEST_CASE("what equal watches are told lies in memory once, until the last of them has sent it", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 3000);
  Watches watches(registry);
  Viewer viewers[3];
  for (Viewer& viewer : viewers) viewer.follow(watches, 9, everyone({health}));
  std::uint64_t turn = 0;
  const auto settle = [&] {
    for (int i = 0; i < 20; ++i) watches.after_flush(++turn);
  };
  settle();
  for (Viewer& viewer : viewers) viewer.batches();
  change(registry, entities, 5);
  settle();
  // The first sends all of it before the others send any.
  std::vector<std::pair<const std::byte*, std::vector<std::byte>>> sent;
  for (Viewer& viewer : viewers) {
    std::size_t shared = 0, all = 0;
    OutgoingPiece piece;
    while (viewer.session->outgoing()->take(piece)) {
      for (const std::span<const std::byte> part : piece.parts()) {
        all += part.size();
        if (part.size() < 4096) continue;
        if (&viewer == viewers) sent.emplace_back(part.data(), std::vector<std::byte>(part.begin(), part.end()));
        REQUIRE(shared < sent.size());
        CHECK(part.data() == sent[shared].first);
        CHECK(std::ranges::equal(part, sent[shared].second));
        ++shared;
      }
      viewer.session->outgoing()->sent();
    }
    CHECK(shared == sent.size());
    CHECK(shared > 0);
    CHECK(all > entities.size() * sizeof(arena::Health));
  }
}

TEST_CASE("a session's figures say what its watches are of, what they told, and how old what they owe may be",
          "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 10'000);
  Watches watches(registry);
  Viewer viewer({.data_bytes_max = 1}), nobody;
  CHECK(watches.by_session().empty());
  viewer.follow(watches, 1, everyone());
  session::Follow part = everyone({position});
  part.world = false;
  part.entities = {entities[0], entities[1]};
  viewer.follow(watches, 2, part);
  const auto now = [&] { return watches.by_session().at(viewer.session.get()); };
  CHECK(now().watches == 2);
  CHECK(now().entities == entities.size() + 2);
  CHECK(now().oldest_ns > 0);
  CHECK(viewer.session->told_rows < entities.size());
  std::uint64_t turn = 0;
  while (viewer.count_rows() > 0) watches.after_flush(++turn);
  CHECK(viewer.session->told_rows == entities.size() + 2);
  CHECK(now().oldest_ns == 0);
  CHECK_FALSE(watches.by_session().contains(nobody.session.get()));
  watches.close_all(*viewer.session);
  CHECK(watches.by_session().empty());
  CHECK(viewer.session->told_rows == entities.size() + 2);  // a sum: it stays
}

TEST_CASE("each row that is told counts once, however often a round goes on where it was broken off", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 10'000);
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  Viewer viewer;
  viewer.follow(watches, 1, everyone({health, position}));
  std::uint64_t told = 0;
  for (std::uint64_t turn = 1; turn < 100; ++turn) {
    change(registry, entities, static_cast<float>(turn));
    watches.after_flush(turn, 150'000);
    told += viewer.count_rows();
  }
  CHECK(told < 99 * 2 * entities.size());  // a round takes more than a turn
  CHECK(viewer.session->told_rows == told);
}

TEST_CASE("what is owed is no older than the round before this one, however long there is something to tell",
          "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 20'000);
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 100'000; });
  Viewer viewer;
  viewer.follow(watches, 1, everyone({health, position}));
  const std::uint64_t begun_ns = steady_ns();
  // Turns a day apart: so what figures say is of them, and not of the time that this test takes.
  constexpr std::uint64_t day_ns = 86'400 * second_ns;
  std::uint64_t now_ns = begun_ns - 400 * day_ns;
  if (begun_ns < 400 * day_ns) now_ns = 1;
  const std::uint64_t step_ns = (begun_ns - now_ns) / 400;
  std::uint64_t longest = 0, turns = 0;
  for (; turns < 300; ++turns, now_ns += step_ns) {
    change(registry, entities, static_cast<float>(turns));
    watches.after_flush(now_ns, 150'000);
    viewer.count_rows();
    if (turns < 150) continue;
    const auto all = watches.by_session();
    const std::uint64_t since_ns = steady_ns() - all.at(viewer.session.get()).oldest_ns;
    if (all.at(viewer.session.get()).oldest_ns == 0) continue;
    longest = std::max(longest, (now_ns - std::min(now_ns, since_ns)) / step_ns);
  }
  INFO("longest " << longest << " turns");
  CHECK(longest > 0);
  CHECK(longest < 150);  // and not since the first turn
}

TEST_CASE("what is shared with equal watches is spent from the budget of each", "[watch]") {
  EntityRegistry registry;
  const std::vector<Entity> entities = fill(registry, 20'000);
  Watches watches(registry);
  Viewer viewers[2];
  session::Follow what = everyone();
  what.bytes_max = 100'000;
  for (Viewer& viewer : viewers) viewer.follow(watches, 1, what);
  std::uint64_t now_ns = steady_ns();
  const auto took_ns = [&] {
    const std::uint64_t begun_ns = now_ns;
    std::size_t rows[2] = {};
    for (int turns = 0; rows[0] < entities.size() || rows[1] < entities.size(); ++turns) {
      REQUIRE(turns < 1000);
      now_ns += watches.after_flush(now_ns);
      for (int i = 0; i < 2; ++i) rows[i] += viewers[i].count_rows();
    }
    return now_ns - begun_ns;
  };
  took_ns();
  now_ns += second_ns;
  change(registry, entities, 5);
  const std::uint64_t before = watches.equal_rows();
  // 240,000 bytes, of which what was told at once was not waited for.
  CHECK(took_ns() >= second_ns);
  CHECK(watches.equal_rows() > before);
}

TEST_CASE("equal watches are told all batches of a slice that fills several, and their end once", "[watch]") {
  EntityRegistry registry;
  fill(registry, 1);
  const std::vector<Entity> entities = registry.create_many(900, large::Map{});
  Watches watches(registry);
  Viewer viewers[2];
  for (Viewer& viewer : viewers) viewer.follow(watches, 9, everyone({TypeTraits<large::Map>::id}));
  std::uint64_t turn = 0;
  const auto settle = [&] {
    for (int i = 0; i < 50; ++i) watches.after_flush(++turn);
  };
  settle();
  for (Viewer& viewer : viewers) viewer.batches();
  registry.destroy(entities[0]);  // is told first, and not shared
  for (const Entity e : std::span(entities).subspan(1)) registry.set(e, large::Map{.cells = {7}});
  settle();
  CHECK(watches.equal_rows() > 0);
  for (Viewer& viewer : viewers) {
    std::set<Entity> told;
    std::size_t destroyed = 0, ends = 0;
    std::uint32_t last = frame_more;
    while (viewer.read_some([&](const WireFrame& frame) {
      last = frame.header.flags & frame_more;
      ends += last == 0;
      const BatchView batch(frame.batch);
      if (batch.type() == TypeTraits<Destroy>::id) destroyed += batch.count();
      if (batch.type() != TypeTraits<session::Values>::id) return;
      const auto rows = session::read<session::Values>(batch);
      told.insert(rows.entities.begin(), rows.entities.end());
    })) {
    }
    CHECK(told.size() == entities.size() - 1);
    CHECK(destroyed == 1);
    CHECK(ends == 1);
    CHECK(last == 0);
  }
}

}  // namespace fair_turns_test
