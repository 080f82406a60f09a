// Values of older layouts that only the game knows how to convert.
#include <catch2/catch.hpp>
#include <cstring>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "registry/state/conversion.h"
#include "registry/templates/template_tree.h"
#include "schema/hash.h"
#include "tests/registry/state/converted.h"
#include "tests/registry/state/layouts.h"

namespace conversion_test {

using namespace muster;
using layouts::World;

namespace {

constexpr const char* then_text =
    "enum Way:ubyte { closed, open, locked }"
    "struct Door (component) { state:Way; width_cm:int; name:ulong (text); }"
    "struct Turn (message) { angle:int; by:muster.Entity; }";

// guide: conversion
/// The door's state became two fields, and its width is in metres now.
void door_of_older(const muster::OldValue& then, game::Door& now) {
  if (then.has("width_cm")) now.width = static_cast<float>(then.number("width_cm")) / 100;
  if (then.has("state")) {
    now.open = then.name("state") == "open";
    now.locked = then.name("state") == "locked";
  }
}

muster::Handlers install(muster::EntityRegistry& registry) {
  muster::add_conversion<game::Door, door_of_older>(registry);
  return {};
}
// guide: end

void turn_of_older(const OldValue& then, game::Turn& now) {
  now.angle = static_cast<std::int16_t>(then.integer("angle") % 360);
}

struct After : World {
  After() : World(std::vector<std::string>()) {
    (void)install(registry);
    registry.add_type<game::Turn>();
  }
  const game::Door& door(const std::string& path) const { return registry.get<game::Door>(registry.find_path(path)); }
};

}  // namespace

TEST_CASE("a game's own conversion makes two fields of one and changes a unit, in every row") {
  World before({then_text});
  for (int i = 0; i < 3000; ++i)
    before.create("d" + std::to_string(i), "Door", {{"state", i % 3}, {"width_cm", i}, {"name", 7}});
  After after;
  REQUIRE(after.load(before.rows()) == "");
  for (int i = 0; i < 3000; ++i) {
    const game::Door& door = after.door("/d" + std::to_string(i));
    REQUIRE(door.width == static_cast<float>(i) / 100);
    REQUIRE(door.open == (i % 3 == 1));
    REQUIRE(door.locked == (i % 3 == 2));
    REQUIRE(door.name.hash == 7);  // as the rules have it
  }
  After again;
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.report.converted.empty());
  CHECK(again.registry.hash() == after.registry.hash());
  CHECK(again.door("/d120").width == 1.2f);
}

TEST_CASE("templates and messages that wait are converted by the game too") {
  World before({then_text});
  const Entity it = before.create("it", "Door", {});
  const TypeDescriptor& door = *before.registry.types().find("game.Door");
  TemplateTree gate("gate");
  TemplateTree::Value& value =
      gate.set(gate.root(), door.id, door.fingerprint, before.bytes("Door", {{"state", 2}, {"width_cm", 250}}));
  std::fill(value.given.begin() + 1, value.given.end(), std::uint8_t{0});  // its state alone
  before.registry.define_template(gate);
  const TypeDescriptor& turn = *before.registry.types().find("game.Turn");
  BatchBuilder inner, timed, field, later;
  const std::vector<std::byte> turned = before.bytes("Turn", {{"angle", 365}, {"by", it.index}});
  std::memcpy(inner.append(PayloadShape::of(turn), it), turned.data(), turned.size());
  timed.append_timed(1000, 0, inner.front());
  REQUIRE(before.registry.host().push_batch(timed.bytes()).refused == 0);

  After refusing;
  CHECK(refusing.load(before.rows()) ==
        "timers 1: game.Turn.angle: was int and is now short, which cannot be converted");

  After after;
  add_conversion<game::Turn, turn_of_older>(after.registry);
  game::Turn heard;
  const Subscription hears =
      after.registry.subscribe("hear", [&](const game::Turn& told, const game::Door&) { heard = told; });
  REQUIRE(after.load(before.rows()) == "");
  after.registry.advance(1000);
  CHECK(heard.angle == 5);
  CHECK(heard.by == it);
  REQUIRE(after.registry.spawn("gate", {.name = "g"}));
  CHECK(after.door("/g").locked);
  CHECK(after.door("/g").width == 2.5f);
  CHECK(after.report.converted ==
        std::vector<std::string>{"game.Door: width is new, open is new, locked is new, state is gone, width_cm is gone",
                                 "game.Turn: angle was int and is short"});
}

TEST_CASE("an older value says what it has by dotted paths, and zero of what it has not") {
  World before(
      {"enum Way:byte { back = -1, none, on } struct At { x:float; way:Way (default: \"on\"); }"
       "struct Old (component) { at:[At:2]; flag:bool; big:ulong; who:muster.Entity; name:ulong (text); }"});
  const TypeDescriptor& type = *before.registry.types().find("game.Old");
  const std::vector<std::byte> bytes =
      before.bytes("Old", {{"at[1].x", 2.5}, {"at[1].way", -1}, {"flag", 1}, {"big", 1e15}, {"who", 9}, {"name", 77}});
  const OldValue::Find find = [&](TypeId id) { return before.registry.types().find(id); };
  const OldValue old(type, bytes, find);
  CHECK(old.number("at[1].x") == 2.5);
  CHECK(old.integer("at[1].way") == -1);
  CHECK(old.name("at[1].way") == "back");
  CHECK(old.integer("flag") == 1);
  CHECK(old.number("flag") == 1);
  CHECK(old.integer("big") == 1'000'000'000'000'000);
  CHECK(old.entity("who").index == 9);
  CHECK(old.integer("name") == 77);
  CHECK(old.has("at[0]"));
  for (const char* none : {"at[2].x", "at[1].y", "flag.x", "", "more", "at[", "who.index[3]"}) {
    CAPTURE(none);
    CHECK_FALSE(old.has(none));
    CHECK(old.number(none) == 0);
    CHECK(old.integer(none) == 0);
    CHECK_FALSE(old.entity(none));
    CHECK(old.name(none).empty());
  }
}

}  // namespace conversion_test
