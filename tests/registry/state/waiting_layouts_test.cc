// Messages that wait in a world that was saved with older schemas: posted, carried over, timers, templates. What they become is what a
// world of the newer schema has that was given the same.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "messages/batch_builder.h"
#include "registry/apply/timers.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "schema/hash.h"
#include "tests/registry/state/layouts.h"

using namespace muster;
using Catch::Matchers::Contains;
using layouts::Values;
using layouts::World;

namespace {

/// What waits, and templates.
naive::StateRows waiting(const World& world) {
  naive::StateRows rows = world.rows();
  std::erase_if(rows, [](const auto& row) {
    const StateSection section = row.first.section;
    return section != StateSection::pending && section != StateSection::timers && section != StateSection::templates;
  });
  return rows;
}

const TypeDescriptor& type(const World& world, const std::string& name) {
  const TypeDescriptor* const found = world.registry.types().find("game." + name);
  if (!found) FAIL("no type game." << name);
  return *found;
}

/// Puts messages of a game into batches: what its types are called differs, what they hold does not.
struct Maker {
  World& world;
  std::string component, message;
  BatchBuilder made = BatchBuilder();

  void put(std::byte* payload, const std::string& name, const Values& values) const {
    const std::vector<std::byte> bytes = world.bytes(name, values);
    std::memcpy(payload, bytes.data(), bytes.size());
  }
  void rows(std::byte* payload, const RowSet& set, int i) const {
    put(payload + set.offset(type(world, component).id), component, {{"value", i}, {"at.x", 2 * i}});
    put(payload + set.offset(type(world, "Other").id), "Other", {{"n", -i}});
  }
  void every_kind(std::span<const Entity> targets) {
    const PayloadShape shape = PayloadShape::of(type(world, message));
    const std::array components{&type(world, component), &type(world, "Other")};
    const RowSet set(*world.registry.types().find(TypeTraits<Set>::id), components);
    int i = 0;
    for (const Entity target : targets)
      put(made.append(shape, target), message, {{"amount", ++i}, {"who", target.index}});
    put(made.append_world(shape), message, {{"amount", -1}});
    put(made.append_subtree(shape, targets[0], subtree_self | subtree_descendants), message, {{"amount", 7}});
    put(made.append_shared(shape, targets), message, {{"amount", 8}});
    for (const Entity target : targets) rows(made.append_rows(set, target), set, ++i);
    rows(made.append_rows_shared(set, targets), set, ++i);
  }
};

constexpr const char* then_text =
    "struct At { x:int; } struct Other (component) { n:short; }"
    "struct Life (component) { value:int; at:At; gone:int; }"
    "struct Hit (message) { amount:short; who:muster.Entity; }"
    "table Say (message) { text:string; }";
constexpr const char* now_text =
    "struct At { y:int (default: \"6\"); x:long; } struct Other (component) { n:short; }"
    "struct Health (component, was: \"game.Life\") { at:At; value:double; fresh:int (default: \"3\"); }"
    "struct Blow (message, was: \"game.Hit\") { who:muster.Entity; kind:int (default: \"4\"); amount:double; }"
    "table Say (message) { text:string; volume:float = 1; }";

/// One world of the older game and one of the newer, with the same entities.
struct Pair {
  World before, after, alike;
  std::array<Entity, 2> targets;
  Maker old_maker{before, "Life", "Hit"}, new_maker{alike, "Health", "Blow"};

  Pair() : before({then_text}), after({now_text}), alike({now_text}) {
    for (int i = 0; i < 2; ++i) {
      const std::string name = "e" + std::to_string(i);
      targets[static_cast<std::size_t>(i)] = before.create(name, "Life", {{"value", i}});
      CHECK(alike.create(name, "Health", {{"value", i}}) == targets[static_cast<std::size_t>(i)]);
    }
  }
  void check_alike() {
    REQUIRE(after.load(before.rows()) == "");
    CHECK(waiting(after) == waiting(alike));
    // What was read is what another program reads of it.
    World again({now_text});
    REQUIRE(again.load(after.rows()) == "");
    CHECK(again.report.converted.empty());
    CHECK(again.registry.hash() == after.registry.hash());
  }
};

}  // namespace

TEST_CASE("posts of every kind are converted: messages, components that travel with them, what they are called") {
  Pair pair;
  const bool causes = GENERATE(false, true);
  CAPTURE(causes);
  for (Maker* maker : {&pair.old_maker, &pair.new_maker}) {
    maker->made.set_causes(causes);
    maker->made.set_cause(77);
    maker->every_kind(pair.targets);
    maker->world.registry.host().post_batch(maker->made.bytes());
  }
  pair.check_alike();
  CHECK(pair.after.report.converted ==
        std::vector<std::string>{"game.Blow: was called game.Hit, kind is new, amount was short and is double",
                                 "game.Health: was called game.Life, at.y is new, at.x was int and is long, value was "
                                 "int and is double, fresh is new, gone is gone"});
}

TEST_CASE("timers are converted, whatever they hold, and fall due when they would have") {
  Pair pair;
  for (Maker* maker : {&pair.old_maker, &pair.new_maker}) {
    maker->every_kind(pair.targets);
    BatchBuilder timed;
    std::uint64_t due = 0;
    maker->made.for_each([&](const BatchView& inner) { timed.append_timed(due += 1000, 0, inner); });
    REQUIRE(maker->world.registry.host().push_batch(timed.bytes()).refused == 0);
  }
  pair.check_alike();
  for (World* world : {&pair.after, &pair.alike}) world->registry.advance(10'000);
  CHECK(pair.after.registry.host().timers().empty());
  CHECK(pair.after.value("/e1", "Health", "value") == 5);
  CHECK(pair.after.value("/e1", "Health", "at.x") == 10);
  CHECK(pair.after.value("/e1", "Health", "at.y") == 6);
  CHECK(pair.after.registry.hash() == pair.alike.registry.hash());
}

TEST_CASE("tables wait on under another name, and with more fields") {
  World before({"table Say (message) { text:string; } struct Mark (component) { n:int; }"});
  World after(
      {"table Shout (message, was: \"game.Say\") { text:string; volume:float = 1; }"
       "struct Mark (component) { n:int; }"});
  const Entity it = before.create("it", "Mark", {});
  // As flatc lays it out: { text: "hi" }.
  const std::uint8_t table[] = {12, 0, 0, 0, 0, 0, 6, 0, 8, 0, 4,   0,   6, 0,
                                0,  0, 4, 0, 0, 0, 2, 0, 0, 0, 'h', 'i', 0, 0};
  BatchBuilder posts;
  posts.append_table(type(before, "Say").id, it, std::as_bytes(std::span(table)));
  before.registry.host().post_batch(posts.bytes());
  REQUIRE(after.load(before.rows()) == "");
  BatchBuilder same;
  same.append_table(type(after, "Shout").id, it, std::as_bytes(std::span(table)));
  const naive::StateRows rows = waiting(after);
  REQUIRE(rows.size() == 1);
  const auto batch = std::span(rows.begin()->second).subspan(32);
  CHECK(std::ranges::equal(batch, same.bytes()));
}

TEST_CASE("a table that holds a struct of another layout, or an enum that counts otherwise, is refused by name") {
  const auto error = [](const std::string& parts_then, const std::string& parts_now) {
    World before({parts_then + "table Say (message) { at:At; team:Team; all:[At]; }"});
    World after({parts_now + "table Say (message) { at:At; team:Team; all:[At]; }"});
    const std::uint8_t table[] = {8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0};  // nothing in it
    BatchBuilder posts;
    posts.append_table(type(before, "Say").id, {}, std::as_bytes(std::span(table)));
    before.registry.host().post_batch(posts.bytes());
    return after.load(before.rows());
  };
  const std::string then = "struct At { x:int; } enum Team : ubyte { none, red }";
  CHECK(error(then, then) == "");
  CHECK_THAT(error(then, "struct At { y:int; x:int; } enum Team : ubyte { none, red }"),
             Contains("game.Say.at: holds a game.At that changed (y is new), which cannot be converted in a table"));
  CHECK_THAT(
      error(then, "struct At { x:int; } enum Team : ubyte { none, blue, red }"),
      Contains("game.Say.team: has an enum whose values have different numbers, which cannot be converted in a table"));
  CHECK(error(then, "struct At { x:int; } enum Team : ubyte { none, red, blue }") == "");
}

TEST_CASE("messages that name a component or a field name what it is called now, with the value converted") {
  const std::string then = "struct At { x:int; z:int; } struct Life (component) { value:int; at:At; gone:int; }";
  const std::string now =
      "struct At { y:int (default: \"6\"); x:long; z:int; }"
      "struct Health (component, was: \"game.Life\") { place:At (was: \"at\"); value:double; }";
  World before({then}), after({now});
  const Entity it = before.create("it", "Life", {{"value", 1}});
  const TypeDescriptor& life = type(before, "Life");
  const auto field = [&](const std::string& path, std::initializer_list<std::int32_t> numbers) {
    SetField set{.component = life.id, .field = hash32(path), .bytes = static_cast<std::uint32_t>(4 * numbers.size())};
    std::memcpy(set.value.data(), std::data(numbers), set.bytes);
    return set;
  };
  const auto later = [&](std::uint64_t due, const auto& message) {
    BatchBuilder inner, timed;
    inner.append(it, message);
    timed.append_timed(due, 0, inner.front());
    REQUIRE(before.registry.host().push_batch(timed.bytes()).refused == 0);
  };
  later(1000, field("value", {41}));
  later(2000, field("at.x", {-2}));
  later(3000, field("at", {7, 8}));
  later(4000, field("gone", {7}));
  SetFieldIf unless{.set = field("value", {5})}, indeed{.set = field("value", {50})};
  const std::int32_t expected[] = {40, 41};
  std::memcpy(unless.expected.data(), &expected[0], 4);
  std::memcpy(indeed.expected.data(), &expected[1], 4);
  later(5000, unless);
  later(6000, indeed);
  later(7000, Remove{.component = life.id});
  REQUIRE(after.load(before.rows()) == "");
  const auto value = [&](const std::string& path) { return after.value("/it", "Health", path); };
  const auto refused = [&] {
    const std::uint64_t before_it = after.registry.host().counters().refused;
    after.registry.advance(1000);
    return after.registry.host().counters().refused - before_it;
  };
  CHECK(refused() == 0);
  CHECK(value("value") == 41);
  CHECK(refused() == 0);
  CHECK(value("place.x") == -2);
  CHECK(refused() == 0);
  CHECK(value("place.x") == 7);
  CHECK(value("place.z") == 8);
  CHECK(value("place.y") == 6);
  CHECK(refused() == 1);  // the field is gone
  CHECK(refused() == 1);  // another value was expected
  CHECK(value("value") == 41);
  CHECK(refused() == 0);
  CHECK(value("value") == 50);
  CHECK(refused() == 0);
  CHECK_FALSE(after.has("/it", "Health"));
}

TEST_CASE("values of enums that wait, and those in templates, are found again by their names once") {
  const std::string then =
      "enum Team : ubyte { none, red, blue } struct Side (component) { team:Team; }"
      "struct Join (message) { team:Team; }";
  const std::string now =
      "enum Team : ubyte { none, blue, red } struct Side (component) { team:Team; }"
      "struct Join (message) { team:Team; }";
  World before({then}), after({now}), alike({now});
  int team = 1;
  for (World* world : {&before, &alike}) {
    const TypeDescriptor& side = type(*world, "Side");
    const Entity it = world->create("it", "Side", {});
    TemplateTree camp("camp");
    camp.set(camp.root(), side.id, side.fingerprint, world->bytes("Side", {{"team", team}}));
    world->registry.define_template(camp);
    BatchBuilder posts;
    const std::vector<std::byte> join = world->bytes("Join", {{"team", team}});
    std::memcpy(posts.append(PayloadShape::of(type(*world, "Join")), it), join.data(), join.size());
    world->registry.host().post_batch(posts.bytes());
    team = 2;
  }
  REQUIRE(after.load(before.rows()) == "");
  CHECK(waiting(after) == waiting(alike));
  REQUIRE(after.registry.spawn("camp", {.name = "south"}));
  CHECK(after.value("/south", "Side", "team") == 2);
}

TEST_CASE("a template that waits to be defined is converted like one that is") {
  World before({then_text}), after({now_text});
  const TypeDescriptor& life = type(before, "Life");
  TemplateTree camp("camp");
  camp.set(camp.root(), life.id, life.fingerprint, before.bytes("Life", {{"value", 41}}));
  BatchBuilder inner, timed;
  inner.append_table(TypeTraits<DefineTemplate>::id, {}, encode(camp.compile().value()));
  timed.append_timed(1000, 0, inner.front());
  before.registry.add_type<DefineTemplate>();
  REQUIRE(before.registry.host().push_batch(timed.bytes()).refused == 0);
  REQUIRE(after.load(before.rows()) == "");
  after.registry.advance(1000);
  REQUIRE(after.registry.spawn("camp", {.name = "south"}));
  CHECK(after.value("/south", "Health", "value") == 41);
}

TEST_CASE("a message that waits and cannot be converted refuses the world by type and field") {
  const std::string then = "struct Health (component) { value:int; } struct Hit (message) { amount:int; }";
  const auto error = [&](const std::string& now, bool with_component) {
    World before({then}), after({now});
    const Entity it = before.create("it", "Health", {});
    BatchBuilder inner, timed;
    if (with_component) {
      const std::array components{&type(before, "Health")};
      inner.append_rows(RowSet(*before.registry.types().find(TypeTraits<Set>::id), components), it);
    } else {
      const std::int32_t amount = 3;
      std::memcpy(inner.append(PayloadShape::of(type(before, "Hit")), it), &amount, sizeof amount);
    }
    timed.append_timed(1000, 0, inner.front());
    REQUIRE(before.registry.host().push_batch(timed.bytes()).refused == 0);
    if (with_component) REQUIRE(before.registry.destroy(it).refused == 0);
    return after.load(before.rows());
  };
  CHECK(error(then + "struct More (message) { amount:int; }", false) == "");
  CHECK_THAT(error("struct Health (component) { value:int; } struct Hit (message) { amount:short; }", false),
             Contains("timers 1: game.Hit.amount: was int and is now short, which cannot be converted"));
  CHECK_THAT(error("struct Health (component) { value:bool; } struct Hit (message) { amount:int; }", true),
             Contains("game.Health.value: was int and is now bool, which cannot be converted"));
}

TEST_CASE("rows of waiting messages with any bit another are read or refused, whatever layouts they have now") {
  Pair pair;
  pair.old_maker.every_kind(pair.targets);
  pair.before.registry.host().post_batch(pair.old_maker.made.bytes());
  const naive::StateRows whole = pair.before.rows();
  const auto first = std::ranges::find(whole, StateSection::pending, [](const auto& row) { return row.first.section; });
  REQUIRE(first != whole.end());
  const std::vector<std::byte> now = layouts::schema_of(now_text);
  std::mt19937_64 random(5);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    naive::StateRows rows = whole;
    auto at = rows.find(first->first);
    for (std::uint64_t i = random() % 6; i > 0 && std::next(at)->first.section == StateSection::pending; --i) ++at;
    std::byte& byte = at->second[random() % at->second.size()];
    byte = static_cast<std::byte>(static_cast<int>(byte) ^ (1 << random() % 8));
    EntityRegistry registry;
    registry.add_type<Set>();
    REQUIRE(registry.types().add_schema(now));
    naive::RowsSource source(rows);
    const auto loaded = registry.load(source);
    refused += !loaded;
    if (loaded) registry.flush();
  }
  CHECK(refused > 50);
}
