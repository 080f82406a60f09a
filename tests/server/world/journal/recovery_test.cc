// What was recorded is done again: exactly by the same code, the edits alone by other code.
#include "server/world/journal/recovery.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "schema/scene.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;
using namespace muster::test;

namespace {

/// Does something with a game that has sessions 5 and 6, both of user 2; every call draws the same from the same seed.
struct Player {
  explicit Player(RecordedGame& of, std::uint64_t seed) : game(of), random(seed) {
    lanes = {of.registry.host().inbox().open_lane(5, 1u << 20, 2),
             of.registry.host().inbox().open_lane(6, 1u << 20, 2)};
  }
  std::uint64_t draw(std::uint64_t below) { return random() % below; }
  Entity some() {
    const Entity e = made.empty() ? Entity{} : made[draw(made.size())];
    return e;
  }
  void step() {
    EntityRegistry& r = game.registry;
    switch (draw(14)) {
      case 0: made.push_back(r.create(game::Health{.value = static_cast<float>(draw(100))})); break;
      case 1: r.push(some(), game::Damage{.amount = static_cast<float>(draw(9))}); break;
      case 2: r.push(some(), game::Ping{.hops = static_cast<std::uint32_t>(draw(30))}); break;
      case 3: r.post(some(), game::Ping{.hops = static_cast<std::uint32_t>(draw(5))}); break;
      case 4: r.post(some(), game::Spawn{.children = static_cast<std::uint32_t>(draw(3))}); break;
      case 5: r.post_at(r.now_ns() + draw(100), some(), game::Damage{.amount = 1}); break;
      case 6:
        r.advance(draw(50));
        game.recorder->made_tick(++tick);
        break;
      case 7: r.flush(); break;
      case 8: r.intern("text " + std::to_string(draw(1000))); break;
      case 9: {
        BatchBuilder edit;
        edit.append(some(), game::Damage{.amount = 2});
        (void)lanes[draw(2)]->put(edit.bytes(), ++request);
        break;
      }
      case 10: {
        const Entity first = r.host().grant(4, 5);
        BatchBuilder edit;
        edit.append_rows(first, Create{}, game::Health{.value = 7});
        r.host().push_batch(edit.bytes(), {.session = 5, .user = 2, .request = ++request});
        made.push_back(first);
        break;
      }
      case 11:
        if (draw(4) == 0) r.destroy(some());
        break;
      case 12: (void)r.spawn("nothing of that name"); break;
      case 13: r.push(game::Ping{.hops = 1}); break;
    }
  }
  RecordedGame& game;
  std::mt19937_64 random;
  std::vector<std::shared_ptr<InboxLane>> lanes;
  std::vector<Entity> made;
  std::uint64_t request = 0, tick = 0;
};

std::unique_ptr<RecordedGame> loaded(const naive::StateRows& rows, RegistryOptions options = {}) {
  auto game = std::make_unique<RecordedGame>(options);
  game->load(rows);
  return game;
}

std::string of_session(float amount, Entity e, EntityRegistry& r, std::uint64_t session = 5, std::uint64_t user = 0) {
  BatchBuilder edit;
  edit.append(e, game::Damage{.amount = amount});
  r.host().push_batch(edit.bytes(), {.session = session, .user = user, .request = 1});
  return {};
}

}  // namespace

TEST_CASE(
    "a journal that is done again by the same code gives the same state, sequence, tick and clock from any checkpoint "
    "on") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  const std::size_t group_bytes = seed % 2 ? 1u << 20 : 512;
  CAPTURE(seed);
  // In the later ones time cuts every cascade, and the rest is bounded. A recovery needs no clock.
  const bool timed = seed > 8;
  const RegistryOptions options{.cascade_messages_max = seed % 3 ? 10'000'000u : 6u,
                                .carried_messages_max = timed && seed % 2 ? 9u : 10'000'000u,
                                .on_warning = [](const std::string&) {}};
  RegistryOptions live_options = options;
  live_options.cascade_ns_max = timed ? 1 : 0;
  RecordedGame live(live_options);
  live.record(group_bytes);
  Player player(live, seed);
  naive::StateRows checkpoint;
  std::uint64_t checkpoint_tick = 0;
  std::size_t groups_before = 0;
  int recovered = 0;
  for (int step = 0; step < 600; ++step) {
    player.step();
    if (player.draw(60) == 0) {  // posts may wait
      groups_before = live.journal().size();
      checkpoint = naive::saved_rows(live.registry);
      checkpoint_tick = player.tick;
    }
    // What was posted is no input yet; a flush settles it.
    if (checkpoint.empty() || player.draw(40) != 0) continue;
    live.registry.flush();
    const auto& groups = live.journal();
    auto again = loaded(checkpoint, options);
    Recovery recovery(again->registry, {.code = RecordedGame::code, .tick = checkpoint_tick});
    for (std::size_t i = groups_before; i < groups.size(); ++i) {
      const auto taken = recovery.take(groups[i]);
      if (!taken) FAIL(taken.error());
    }
    REQUIRE(recovery.report().exact());
    REQUIRE(again->registry.sequence() == live.registry.sequence());
    REQUIRE(recovery.tick() == player.tick);
    REQUIRE(again->registry.now_ns() == live.registry.now_ns());
    REQUIRE(again->registry.host().next_timer() == live.registry.host().next_timer());
    REQUIRE(again->registry.hash() == live.registry.hash());
    REQUIRE(again->registry.host().counters().dropped == live.registry.host().counters().dropped);
    if (timed) continue;
    // Both go on alike.
    again->registry.flush();
    live.registry.flush();
    REQUIRE(again->registry.advance(100).sequence == live.registry.advance(100).sequence);
    live.recorder->made_tick(++player.tick);
    REQUIRE(again->registry.hash() == live.registry.hash());
    ++recovered;
  }
  CHECK(recovered > (timed ? -1 : 3));
  if (timed) CHECK(live.registry.host().counters().carried > 10);
}

TEST_CASE("an input that another sink refuses is not in the journal") {
  struct Full final : InputSink {
    void on_input(const Envelope&, std::span<const std::byte>) override {
      if (full) throw 1;
    }
    bool full = false;
  } sink;
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{.value = 9});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  live.registry.host().add_sink(sink);
  live.registry.push(e, game::Damage{.amount = 1});
  sink.full = true;
  CHECK_THROWS(live.registry.push(e, game::Damage{.amount = 100}));
  sink.full = false;
  live.registry.push(e, game::Damage{.amount = 2});
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = RecordedGame::code});
  for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
  CHECK(again->registry.get<game::Health>(e).value == 6);
  CHECK(again->registry.hash() == live.registry.hash());
  live.registry.host().remove_sink(sink);
}

TEST_CASE("types that a registry learns are in the journal, before the first message that needs them") {
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{.value = 9});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  live.registry.push(e, game::Damage{.amount = 2});
  live.registry.set(e, scene::Shape{});  // learned by this very input
  live.registry.push(e, game::Damage{.amount = 1});
  const auto& groups = live.journal();
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = RecordedGame::code});
  for (const JournalGroup& group : groups) {
    const auto taken = recovery.take(group);
    if (!taken) FAIL(taken.error());
  }
  CHECK(recovery.report().exact());
  CHECK(again->registry.types().fingerprint() == live.registry.types().fingerprint());
  CHECK(again->registry.hash() == live.registry.hash());
}

TEST_CASE(
    "by other code the edits of sessions alone are applied, each under its number, and what is left out is told") {
  RecordedGame live;
  EntityRegistry& r = live.registry;
  const Entity e = r.create(game::Health{.value = 100}), f = r.create(game::Health{.value = 100});
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  r.push(e, game::Damage{.amount = 50});  // the host's own
  of_session(3, e, r);
  r.advance(1000);
  live.recorder->made_tick(12);
  r.push(f, game::Spawn{.children = 2});  // draws ids
  const Entity granted = r.host().grant(3, 5);
  BatchBuilder create;
  create.append_rows({granted.index + 1, 1}, Create{.parent = e}, game::Health{.value = 4});
  r.host().push_batch(create.bytes(), {.session = 5, .request = 2});
  const Entity child = r.first_child(f);
  of_session(1, child, r, 6);
  of_session(5, f, r, 6);
  const std::uint64_t last = r.sequence();
  JournalGroup group = live.journal().at(0);

  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = "game 2", .tick = 11});
  const auto taken = recovery.take(group);
  if (!taken) FAIL(taken.error());
  const RecoveryReport& report = recovery.report();
  CHECK_FALSE(report.exact());
  CHECK(again->registry.sequence() == last);
  CHECK(again->registry.get<game::Health>(e).value == 97);
  CHECK(again->registry.get<game::Health>(f).value == 95);
  CHECK(again->registry.get<game::Health>({granted.index + 1, 1}).value == 4);
  CHECK(again->registry.parent({granted.index + 1, 1}) == e);
  CHECK(again->registry.now_ns() == 0);
  CHECK(recovery.tick() == 11);
  CHECK(report.edits == 4);
  CHECK(report.ticks_lost == 1);
  CHECK(report.left_out == 3);
  CHECK(report.failed == 1);
  CHECK(report.listed.at(0) ==
        "journal group 1, input " + std::to_string(last - 1) + ": game.Damage is to an entity that is not alive");
  CHECK(report.text().starts_with(
      "of 1 group of the journal the edits alone were applied, because other code wrote it (game 1; "));
  CHECK(report.text().ends_with("): 4 edits applied, 3 inputs and 1 tick left out. 1 edit could not be applied."));
}

TEST_CASE("by other code sessions have the ids that came back and were granted again") {
  RecordedGame live;
  EntityRegistry& r = live.registry;
  const Entity first = r.host().grant(100, 5), second = r.host().grant(100, 6);
  REQUIRE(second.index == first.index + 100);
  r.host().return_grant(first, 100);
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  r.host().return_grant(second, 100);  // joins what came back before
  const Entity both = r.host().grant(150, 7);
  REQUIRE(both == first);
  const Entity made[] = {both, {both.index + 120, 1}};
  for (const Entity e : made) {
    BatchBuilder create;
    create.append_rows(e, Create{}, game::Health{.value = 4});
    REQUIRE(r.host().push_batch(create.bytes(), {.session = 7, .request = 1}).refused == 0);
  }
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = "game 2"});
  for (const JournalGroup& group : live.journal()) {
    const auto taken = recovery.take(group);
    if (!taken) FAIL(taken.error());
  }
  CAPTURE(recovery.report().text());
  CHECK(recovery.report().failed == 0);
  for (const Entity e : made) CHECK(again->registry.alive(e));
  CHECK(again->registry.host().returned_ids() == r.host().returned_ids());
  CHECK(again->registry.hash() == r.hash());
}

TEST_CASE("whose doing an input was is known after a recovery, by the same code and by other code") {
  struct Senders final : InputSink {
    void on_input(const Envelope& envelope, std::span<const std::byte>) override {
      told.push_back({envelope.sequence, envelope.session, envelope.user});
    }
    std::vector<std::array<std::uint64_t, 3>> told;
  };
  const bool same_code = GENERATE(true, false);
  RecordedGame live;
  EntityRegistry& r = live.registry;
  r.add_type<DefineTemplate>();
  const Entity e = r.create(game::Health{.value = 100});
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  Senders before, after;
  r.host().add_sink(before);
  const std::uint64_t first = r.sequence() + 1;
  of_session(1, e, r, 5, 2);
  of_session(1, e, r, 6, 2);  // another session of that user
  of_session(1, e, r, 7);     // one with the host's own token
  r.push(e, game::Damage{.amount = 1});
  TemplateTree tree("squad");
  tree.set("", game::Health{.value = 9});
  BatchBuilder define;
  define.append_table(TypeTraits<DefineTemplate>::id, Entity{}, encode(tree.compile().value()));
  REQUIRE(r.host().push_batch(define.bytes(), {.user = 3}).refused == 0);  // the host, for a user
  r.host().remove_sink(before);

  const auto again = loaded(checkpoint);
  again->registry.host().add_sink(after);
  Recovery recovery(again->registry, {.code = same_code ? RecordedGame::code : "game 2"});
  for (const JournalGroup& group : live.journal()) {
    const auto taken = recovery.take(group);
    if (!taken) FAIL(taken.error());
  }
  again->registry.host().remove_sink(after);
  CHECK(recovery.report().exact() == same_code);
  CHECK(before.told == std::vector<std::array<std::uint64_t, 3>>{
                           {first, 5, 2}, {first + 1, 6, 2}, {first + 2, 7, 0}, {first + 3, 0, 0}, {first + 4, 0, 3}});
  CHECK(after.told == before.told);
}

TEST_CASE("an input that recovery leaves out or stops before is named with its session and its user") {
  RecordedGame live;
  EntityRegistry& r = live.registry;
  const Entity e = r.create(game::Health{.value = 100});
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  of_session(1, e, r, 5, 2);
  of_session(1, e, r, 6);
  const std::uint64_t last = r.sequence();
  const auto named = [&](std::uint64_t skip) {
    const auto again = loaded(checkpoint);
    Recovery recovery(again->registry, {.code = RecordedGame::code, .skip = {skip}});
    for (const JournalGroup& group : live.journal()) REQUIRE(recovery.take(group));
    return recovery.report().skipped.at(0);
  };
  CHECK(named(last - 1).ends_with(", of session 5 of user 2)"));
  CHECK(named(last).ends_with(", of session 6)"));
}

TEST_CASE("what was posted when the checkpoint was made happens once, whoever reads the journal") {
  const bool same_code = GENERATE(true, false);
  RecordedGame live;
  EntityRegistry& r = live.registry;
  const Entity e = r.create(game::Health{.value = 100});
  r.post(e, game::Damage{.amount = 7});
  r.post(e, game::Ping{.hops = 2});
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  r.post(e, game::Ping{.hops = 1});  // in the batch that was saved
  of_session(10, e, r);
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = same_code ? RecordedGame::code : "game 2"});
  for (const JournalGroup& group : live.journal()) {
    const auto taken = recovery.take(group);
    if (!taken) FAIL(taken.error());
  }
  CHECK(recovery.report().exact() == same_code);
  CHECK(again->registry.sequence() == r.sequence());
  CHECK(again->registry.get<game::Health>(e).value == r.get<game::Health>(e).value);
  again->registry.flush();
  CHECK(again->registry.get<game::Health>(e).value == r.get<game::Health>(e).value);
}

TEST_CASE("by other code what the host posted behind an edit is left out, and what was saved as posted is not") {
  RecordedGame live;
  EntityRegistry& r = live.registry;
  const Entity e = r.create(game::Health{.value = 100});
  r.post(e, game::Damage{.amount = 7});
  const naive::StateRows checkpoint = naive::saved_rows(r);
  live.record();
  of_session(3, e, r);
  r.post(e, game::Damage{.amount = 50});
  r.flush();
  REQUIRE(r.get<game::Health>(e).value == 40);
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = "game 2"});
  for (const JournalGroup& group : live.journal()) {
    const auto taken = recovery.take(group);
    if (!taken) FAIL(taken.error());
  }
  CHECK(again->registry.get<game::Health>(e).value == 90);
  CHECK(recovery.report().edits == 1);
  CHECK(again->registry.sequence() == r.sequence());
}

TEST_CASE("a group during which handlers came or went is no code's, and the next one is of those that are there") {
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{});
  live.record();
  live.registry.push(e, game::Damage{});
  {
    const Subscription extra = live.registry.subscribe("extra", [](const game::Heal&, game::Health&) {});
    live.registry.push(e, game::Damage{});
    const auto with = live.recorder->take();
    CHECK(with.at(0).code.find(", then ") != std::string::npos);
  }
  live.registry.push(e, game::Damage{});
  CHECK(live.recorder->take().at(0).code.find(", then ") == std::string::npos);
  live.registry.set_handler_enabled("hit", false);  // a message, so it changes nobody's code
  live.registry.push(e, game::Damage{});
  CHECK(live.recorder->take().at(0).code.find(", then ") == std::string::npos);
}

TEST_CASE("another build's code begins a group") {
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{});
  live.record();
  live.registry.push(e, game::Damage{});
  live.recorder->set_code("game 2");
  live.registry.push(e, game::Damage{});
  const auto groups = live.recorder->take();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].code.starts_with("game 1; "));
  CHECK(groups[1].code.starts_with("game 2; "));
  CHECK(groups[1].first == groups[0].last + 1);
}

TEST_CASE("groups that do not follow one another are refused") {
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  live.registry.push(e, game::Damage{});
  (void)live.journal();
  live.registry.push(e, game::Damage{});
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = RecordedGame::code});
  CHECK(recovery.take(live.journal().at(1)).error() == "journal group 2: begins with input 3, where 2 comes next");
}

TEST_CASE("a state that is not the one that was recorded gets the edits alone, though the code is the same") {
  RecordedGame live;
  const Entity e = live.registry.create(game::Health{.value = 9});
  const naive::StateRows checkpoint = naive::saved_rows(live.registry);
  live.record();
  live.registry.push(e, game::Damage{.amount = 1});
  of_session(2, e, live.registry);
  const auto again = loaded(checkpoint);
  Recovery recovery(again->registry, {.code = RecordedGame::code, .not_exact = "values were put right"});
  REQUIRE(recovery.take(live.journal().at(0)));
  CHECK(again->registry.get<game::Health>(e).value == 7);
  CHECK(
      recovery.report().text() ==
      "of 1 group of the journal the edits alone were applied, because values were put right: 1 edit applied, 1 input "
      "and 0 ticks left out.");
}
