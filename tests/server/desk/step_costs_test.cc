// A Step is priced and bounded by all its batches, each judged after those before it.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "messages/step_batches.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "server/edits/edit_cost.h"
#include "tests/server/arena.h"

namespace step_costs_test {

using namespace muster;

namespace {

/// A line of five, a town, and a seat with ids of its own.
struct Court {
  EntityRegistry registry;
  ServerLimits limits;
  Seat from;
  std::vector<Entity> line, own;
  Entity town;

  Court() {
    for (int i = 0; i < 5; ++i) line.push_back(registry.create_under(i ? line.back() : Entity{}, ""));
    town = registry.create("town");
    TemplateTree pair("pair");
    pair.set("below", arena::Health{});
    registry.define_template(pair);
    registry.intern("known");
    const Entity first = registry.host().grant(100, 7);
    for (std::uint32_t i = 0; i < 100; ++i) own.push_back({first.index + i, 1});
    from.grants.push_back({.first = first.index, .count = 100});
  }
  using Write = std::function<void(Court&, BatchBuilder&)>;
  /// Judges a Step in which each part is in batches of its own.
  std::expected<EditCost, session::Fault> judge(const std::vector<Write>& parts) {
    BatchBuilder inside, batch;
    for (const Write& write : parts) {
      write(*this, inside);
      inside.seal();
    }
    session::append(batch, Step{.batches = step_bytes(inside.bytes())});
    return EditJudge(registry, limits).judge(from, batch.front());
  }
  void allowed(const std::vector<Write>& parts) {
    const auto found = judge(parts);
    INFO((found ? std::string() : found.error().text));
    CHECK(found.has_value());
  }
  void refused(const std::vector<Write>& parts, const std::string& reason, const std::string& text) {
    const auto found = judge(parts);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().reason == reason);
    CHECK(found.error().text == text);
  }
};
using Write = Court::Write;

Write create(std::size_t number, std::function<Entity(Court&)> parent) {
  return
      [=](Court& c, BatchBuilder& to) { to.append_rows(c.own[number], Create{.parent = parent(c)}, arena::Health{}); };
}
Write move(std::function<Entity(Court&)> which, std::function<Entity(Court&)> parent) {
  return [=](Court& c, BatchBuilder& to) { to.append(which(c), Reparent{.parent = parent(c)}); };
}
std::function<Entity(Court&)> own(std::size_t number) {
  return [=](Court& c) { return c.own[number]; };
}
std::function<Entity(Court&)> line(std::size_t number) {
  return [=](Court& c) { return c.line[number]; };
}
Entity nil(Court&) { return {}; }
Entity town(Court& c) { return c.town; }

}  // namespace

TEST_CASE("the costs of a Step are those of its batches, one after the other") {
  Court court;
  const std::vector<Write> parts{create(0, line(4)),
                                 [](Court& c, BatchBuilder& to) { to.append(c.line[2], Destroy{}); },
                                 [](Court&, BatchBuilder& to) { session::append(to, InternText{.text = "hey"}); }};
  std::uint64_t steps = 0, row_bytes = 0;
  for (const Write& write : parts) {
    BatchBuilder alone;
    write(court, alone);
    const auto cost = EditJudge(court.registry, court.limits).judge(court.from, alone.front());
    REQUIRE(cost.has_value());
    steps += cost->steps;
    row_bytes += cost->row_bytes;
  }
  const auto cost = court.judge(parts);
  REQUIRE(cost.has_value());
  CHECK(cost->steps >= steps);
  CHECK(cost->steps <= steps + 5);  // the way from the new entity to its root
  CHECK(cost->row_bytes == row_bytes);
  CHECK(cost->texts == 1);
  CHECK(cost->told.size() == 1);
  CHECK(cost->delivery == 0);
  court.limits.edit_steps_max = static_cast<std::uint32_t>(cost->steps);
  court.allowed(parts);
  court.limits.edit_steps_max = static_cast<std::uint32_t>(cost->steps - 1);
  CHECK(court.judge(parts).error().reason == "edit_steps_max");
}

TEST_CASE("a Step cannot nest deeper than the limit by what its own batches create and move") {
  Court court;
  court.limits.depth_max = 6;  // the end of the line is at depth 4
  court.allowed({create(0, line(4)), create(1, own(0)), create(2, own(0))});
  const std::string own3 = "#" + std::to_string(court.own[2].index) + ":1";
  court.refused({create(0, line(4)), create(1, own(0)), create(2, own(1))}, "depth_max",
                "batch 2 of the Step: " + own3 + " would be 7 levels below its root; 6 are allowed");
  // The town has two levels when it moves, and what is made below it later is deep.
  court.allowed({create(0, town), move(town, line(4))});
  CHECK(court.judge({create(0, town), create(1, own(0)), move(town, line(4))}).error().reason == "depth_max");
  CHECK(court.judge({move(town, line(4)), create(0, town), create(1, own(0))}).error().reason == "depth_max");
  court.allowed({move(town, line(4)), create(0, town)});
  // Two moves, of which each would be allowed by itself.
  court.limits.depth_max = 5;
  court.allowed({create(0, town), move(own(0), line(4))});
  CHECK(court.judge({create(0, town), move(own(0), line(4)), move(line(0), town)}).error().reason == "depth_max");
  // Up again.
  court.allowed({create(0, line(4)), move(line(4), nil), create(1, own(0)), create(2, own(1)), create(3, own(2))});
  const auto pair = [](std::size_t at, std::function<Entity(Court&)> parent) {
    return [=](Court& c, BatchBuilder& to) {
      append_spawn(to, std::vector{c.own[at], c.own[at + 1]}, Spawn{.what = text_of("pair"), .parent = parent(c)});
    };
  };
  court.allowed({pair(0, line(3)), create(2, own(0))});
  court.refused({pair(0, line(3)), create(2, own(1))}, "depth_max",
                "batch 1 of the Step: " + own3 + " would be 6 levels below its root; 5 are allowed");
}

TEST_CASE("what the world would refuse does not lead the judge in a circle") {
  Court court;
  court.allowed({create(0, own(1)), create(1, own(0)), create(0, own(1)), move(own(0), own(1)), move(own(1), own(0))});
  court.allowed({create(0, line(4)), move(line(0), own(0)), move(line(0), line(4)), create(1, line(4))});
}

TEST_CASE("the world's bounds count all batches of a Step") {
  Court court;
  const auto names = [](const std::string& text) {
    return [=](Court&, BatchBuilder& to) { session::append(to, InternText{.text = text}); };
  };
  const std::uint64_t there = court.registry.entity_count();
  court.limits.world_entities_max = static_cast<std::uint32_t>(there + 2);
  court.allowed({create(0, nil), create(1, nil)});
  CHECK(court.judge({create(0, nil), create(1, nil), create(2, nil)}).error().reason == "world_entities_max");
  court.limits.world_entities_max = 1000;

  const std::uint64_t rows = court.judge({create(0, nil)})->row_bytes;
  court.limits.world_rows_bytes_max = rows;
  while (!court.judge({create(0, nil)})) ++court.limits.world_rows_bytes_max;
  court.allowed({create(0, nil)});
  CHECK(court.judge({create(0, nil), create(1, nil)}).error().reason == "world_rows_bytes_max");
  court.limits.world_rows_bytes_max += rows;
  court.allowed({create(0, nil), create(1, nil)});
  CHECK(court.judge({create(0, nil), create(1, nil), create(2, nil)}).error().reason == "world_rows_bytes_max");
  court.limits.world_rows_bytes_max = 1u << 30;

  court.limits.texts_max = 2;
  court.allowed({names("a"), names("b"), names("a"), names("known")});
  CHECK(court.judge({names("a"), names("b"), names("c")}).error().reason == "texts_max");
  court.limits.texts_max = 1000;

  // The length of a name that the Step adds itself.
  court.limits.name_bytes_max = 5;
  const auto rename = [](Court& c, BatchBuilder& to) { to.append(c.town, Rename{.name = text_of("long name")}); };
  court.refused({names("long name"), rename}, "name_bytes_max",
                "batch 1 of the Step: a name of 9 bytes; 5 are allowed");
  court.limits.name_bytes_max = 9;
  court.allowed({names("long name"), rename});
}

TEST_CASE("a Step that names ids of others, or spawns a template that it defines, is refused") {
  Court court;
  const auto define = [](Court&, BatchBuilder& to) {
    TemplateTree hut("hut");
    hut.set("", arena::Health{});
    session::append(to, *hut.compile());
  };
  const auto spawn = [](Court& c, BatchBuilder& to) {
    append_spawn(to, std::vector{c.own[0]}, Spawn{.what = text_of("hut")});
  };
  CHECK(court.judge({create(0, nil), [](Court&, BatchBuilder& to) { to.append(Entity{9999, 1}, Create{}); }})
            .error()
            .reason == "id_not_granted");
  court.allowed({define, create(0, nil)});
  court.refused({define, spawn}, "not_in_step",
                "batch 1 of the Step: the Step defines the template that it uses; define it in an edit before");
}

}  // namespace step_costs_test
