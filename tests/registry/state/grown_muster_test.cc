// A world that was saved before muster.fbs, whose messages the program itself is made with, gained messages and fields; and one that was
// saved after.
#include <catch2/catch.hpp>
#include <cstring>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/state/layouts.h"

namespace grown_muster_test {

using namespace muster;
using layouts::Edits;
using layouts::World;

namespace {

constexpr const char* game = "struct Health (component) { value:int; }";

/// Rows of today's program as one with another muster.fbs would have written them: its schemas stand in them.
naive::StateRows saved_with(const Edits& edits, naive::StateRows rows) {
  rows.at({StateSection::schema, 0, 0}) = layouts::muster_schema(edits);
  rows.at({StateSection::schema, 1, 0}) = layouts::schema_of(game, edits);
  return rows;
}

/// A timer whose message has the layout that it has in these types; `fill` is given its payload.
template <class F>
void add_timer(naive::StateRows& rows, const TypeTable& types, const std::string& message, Entity target, F&& fill) {
  const TypeDescriptor* const type = types.find(message);
  REQUIRE(type != nullptr);
  BatchBuilder inner, timed;
  std::byte* const payload = inner.append(PayloadShape::of(*type), target);
  std::memset(payload, 0, type->size);
  fill(*type, payload);
  timed.append_timed(1000, 1, inner.front());
  const auto bytes = timed.bytes();
  rows[{StateSection::timers, 1, 0}].assign(bytes.begin(), bytes.end());
}

/// Where a field of the type is in a value of it.
std::byte* field(const TypeDescriptor& type, const std::string& name, std::byte* value) {
  const auto at = std::ranges::find(type.fields, name, &FieldDescriptor::name);
  REQUIRE(at != type.fields.end());
  return value + at->offset;
}

/// A world in which something is, and one timer waits, which saved_with() and add_timer() exchange.
struct Saved {
  World world{{game}};
  Entity top, fresh;
  naive::StateRows rows;

  Saved() {
    top = world.create("top", "Health", {{"value", 41}});
    const Entity below = world.create("below", "Health", {});
    REQUIRE(world.registry.reparent(below, top).handled == 1);
    TemplateTree camp("camp");
    const TypeDescriptor& health = *world.registry.types().find("game.Health");
    camp.set(camp.root(), health.id, health.fingerprint, world.bytes("Health", {{"value", 7}}));
    world.registry.define_template(camp);
    fresh = world.registry.host().grant(1, 9);
    BatchBuilder inner, timed;
    inner.append(fresh, Create{.parent = top});
    timed.append_timed(1000, 0, inner.front());
    REQUIRE(world.registry.host().push_batch(timed.bytes()).refused == 0);
    rows = world.rows();
    REQUIRE(rows.contains({StateSection::timers, 1, 0}));
    REQUIRE(rows.contains({StateSection::schema, 1, 0}));
    REQUIRE_FALSE(rows.contains({StateSection::schema, 2, 0}));
  }
  void check(World& opened) const {
    CHECK(opened.value("/top", "Health", "value") == 41);
    CHECK(opened.has("/top/below", "Health"));
    REQUIRE(opened.registry.spawn("camp", {.name = "south"}));
    CHECK(opened.value("/south", "Health", "value") == 7);
    opened.registry.advance(1000);
    CHECK(opened.registry.alive(fresh));
    CHECK(opened.registry.parent(fresh) == top);
  }
};

}  // namespace

TEST_CASE("a world opens after muster.fbs gained messages and fields") {
  // As it was before: no DropTexts, no clash in Create, no texts in templates.
  const Edits before{
      {"table DropTexts (message, remote: \"none\") {\n  /// The texts' hashes.\n  texts:[ulong];\n}\n", ""},
      {"  /// Empty for no name.\n  name:ulong (text);\n  clash:NameClash;\n}", "  name:ulong (text);\n}"},
      {"  /// The contents of `text` fields in the values.\n  texts:[string];\n", ""}};
  const Saved saved;
  naive::StateRows rows = saved_with(before, saved.rows);
  TypeTable then;
  REQUIRE(then.add_schema(rows.at({StateSection::schema, 0, 0})));
  REQUIRE(then.find("muster.DropTexts") == nullptr);
  REQUIRE(then.find("muster.Create")->size < sizeof(Create));
  add_timer(rows, then, "muster.Create", saved.fresh, [&](const TypeDescriptor& create, std::byte* payload) {
    std::memcpy(field(create, "parent", payload), &saved.top, sizeof saved.top);
  });
  World after({game}), again({game});
  REQUIRE(after.load(rows) == "");
  CHECK(after.report.converted == std::vector<std::string>{"muster.Create: clash is new"});
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.report.converted.empty());
  CHECK(again.registry.hash() == after.registry.hash());
  saved.check(after);
  saved.check(again);
}

TEST_CASE(
    "a world that was saved after muster.fbs gained messages and fields opens here, and keeps what nobody here knows") {
  const Edits later{{"/// Moves the target to a different parent,",
                     "/// Not known here.\nstruct Paint (message, remote: \"edit\") { color:uint; more:ulong; }\n"
                     "/// Neither.\nstruct Painted (component) { color:uint; }\n"
                     "/// Moves the target to a different parent,"},
                    {"  /// Empty for no name.\n  name:ulong (text);\n  clash:NameClash;\n}",
                     "  name:ulong (text);\n  color:uint;\n  clash:NameClash;\n}"}};
  const Saved saved;
  naive::StateRows rows = saved_with(later, saved.rows);
  TypeTable then;
  REQUIRE(then.add_schema(rows.at({StateSection::schema, 0, 0})));

  SECTION("a message that has more fields there loses them") {
    add_timer(rows, then, "muster.Create", saved.fresh, [&](const TypeDescriptor& create, std::byte* payload) {
      std::memcpy(field(create, "parent", payload), &saved.top, sizeof saved.top);
      *field(create, "color", payload) = std::byte{9};
    });
    World here({game});
    REQUIRE(here.load(rows) == "");
    CHECK(here.report.converted == std::vector<std::string>{"muster.Create: color is gone"});
    saved.check(here);
  }
  SECTION("a message that only later programs know waits on, and is saved back") {
    add_timer(rows, then, "muster.Paint", saved.top,
              [&](const TypeDescriptor& paint, std::byte* payload) { *field(paint, "color", payload) = std::byte{9}; });
    World here({game});
    REQUIRE(here.load(rows) == "");
    CHECK(here.report.converted.empty());
    const naive::StateRows back = here.rows();
    CHECK(back.at({StateSection::timers, 1, 0}) == rows.at({StateSection::timers, 1, 0}));
    TypeTable kept;
    for (std::uint64_t i = 0; back.contains({StateSection::schema, i, 0}); ++i)
      REQUIRE(kept.add_schema(back.at({StateSection::schema, i, 0})));
    CHECK(kept.find("muster.Paint")->fingerprint == then.find("muster.Paint")->fingerprint);
    CHECK(kept.find("muster.Painted")->fingerprint == then.find("muster.Painted")->fingerprint);
    World stranger({});
    REQUIRE(stranger.load(back) == "");
    CHECK(stranger.registry.hash() == here.registry.hash());
    here.registry.advance(1000);
    CHECK(here.registry.host().counters().unhandled > 0);
  }
}

TEST_CASE("a message of muster.fbs that waits and cannot be read here refuses the world by type and field") {
  const Edits later{
      {"/// Cancels a timed message, so that it is not delivered.\nstruct CancelTimer (message, remote: \"control\") "
       "{\n  timer:ulong;",
       "struct CancelTimer (message, remote: \"control\") {\n  timer:double;"}};
  const Saved saved;
  naive::StateRows rows = saved_with(later, saved.rows);
  World unconcerned({game});
  CHECK(unconcerned.load(rows) == "");
  TypeTable then;
  REQUIRE(then.add_schema(rows.at({StateSection::schema, 0, 0})));
  add_timer(rows, then, "muster.CancelTimer", saved.top, [](const TypeDescriptor&, std::byte*) {});
  World here({game});
  CHECK(here.load(rows) ==
        "timers 1: muster.CancelTimer.timer: was double and is now ulong, which cannot be converted");
}

}  // namespace grown_muster_test
