// Values that no bool or enum has. Handlers and callers in C++ can write them, nobody judges them there, and whatever was
// saved must open again.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

template <class T>
T out_of_range(long long value) {
  T made;
  std::memcpy(static_cast<void*>(&made), &value, sizeof made);
  return made;
}

LoadReport loaded(EntityRegistry& world, const naive::StateRows& rows) {
  naive::RowsSource source(rows);
  const auto report = world.load(source);
  if (!report) FAIL(report.error().text());
  return *report;
}

std::string in_words(const LoadReport& report) {
  std::string text = std::to_string(report.mended) + ":";
  for (const MendedState& one : report.listed)
    text += " " + (one.entity ? std::to_string(one.entity.index) + " " : "") + one.type + "." + one.field + " " +
            one.found + ">" + one.put;
  return text;
}

/// What was put right is not put right again, and nothing else about the world is odd.
void check_is_whole(const EntityRegistry& world) {
  EntityRegistry again;
  CHECK(in_words(loaded(again, naive::saved_rows(world))) == "0:");
  CHECK(again.hash() == world.hash());
}

}  // namespace

TEST_CASE(
    "a bool or enum that a handler wrote out of its range is put right by loading, which says whose it was and what") {
  EntityRegistry world;
  const auto writer = world.subscribe("wrong", [](const game::Damage&, game::Oath& oath) {
    oath.team = out_of_range<game::Team>(9);
    oath.marks = out_of_range<game::Marks>(0xf2);
    oath.rank = out_of_range<game::Rank>(-7);
    std::memset(static_cast<void*>(&oath.loyal), 7, 1);
    std::memset(static_cast<void*>(&oath.seats[1]), 255, 1);
  });
  const Entity good = world.create(game::Oath{.sworn = 1});
  const Entity bad = world.create(game::Oath{.sworn = 2});
  REQUIRE(world.push(bad, game::Damage{}).handled == 1);
  EntityRegistry opened;
  const LoadReport report = loaded(opened, naive::saved_rows(world));
  const std::string who = std::to_string(bad.index);
  CHECK(in_words(report) == "5: " + who + " game.Oath.team 9>1 " + who + " game.Oath.loyal 7>1 " + who +
                                " game.Oath.marks 242>2 " + who + " game.Oath.rank -7>300 " + who +
                                " game.Oath.seats[1] 255>1");
  REQUIRE(report.listed.size() == 5);
  CHECK(report.listed[0].at.section == StateSection::columns);
  CHECK(report.listed[0].at.column == TypeTraits<game::Oath>::id);
  CHECK(report.listed[0].text() == "columns " + std::to_string(report.listed[0].at.key) + " column " +
                                       std::to_string(TypeTraits<game::Oath>::id) + ": entity #" + who +
                                       ":1: game.Oath.team was 9 and is now 1");
  const game::Oath wanted{.team = game::Team::blue,
                          .loyal = true,
                          .marks = game::Marks::loud,
                          .rank = game::Rank::chief,
                          .seats = {false, true},
                          .sworn = 2};
  CHECK(opened.get<game::Oath>(bad) == wanted);
  CHECK(opened.get<game::Oath>(good) == game::Oath{.sworn = 1});
  check_is_whole(opened);
}

TEST_CASE("a value out of range that create, set or a padding byte brought is put right too") {
  EntityRegistry world;
  game::Oath odd;
  odd.team = out_of_range<game::Team>(255);
  const Entity first = world.create(odd);
  const Entity second = world.create(game::Oath{});
  odd.team = game::Team::red;
  odd.rank = out_of_range<game::Rank>(1);
  world.set(second, odd);
  game::Member member{.team = game::Team::blue, .squad = first};
  member.padding1_[3] = 4;
  world.set(second, member);
  EntityRegistry opened;
  const LoadReport report = loaded(opened, naive::saved_rows(world));
  CHECK(report.mended == 3);
  CHECK(opened.get<game::Oath>(first).team == game::Team::blue);
  CHECK(opened.get<game::Oath>(second).rank == game::Rank::chief);
  CHECK(opened.get<game::Member>(second) == game::Member{.team = game::Team::blue, .squad = first});
  check_is_whole(opened);
}

TEST_CASE("messages that wait are put right: posted, posted in tables, for a time, and carried over") {
  EntityRegistry world({.cascade_messages_max = 1});
  const auto pushes = world.subscribe("pushes", [](const game::Ping& ping, Entity self, Outbox& out) {
    if (ping.hops == 0) return;
    game::Swear odd{.team = out_of_range<game::Team>(7)};
    for (int i = 0; i < 3; ++i) out.post(self, odd);
  });
  const Entity e = world.create(game::Oath{});
  const game::Swear odd{.team = out_of_range<game::Team>(4)};
  world.post_at(1000, e, odd);
  world.flush();
  CHECK(world.push(e, game::Ping{.hops = 1}).cut_short);
  world.post(e, odd);
  world.post(std::vector<Entity>{e, e}, odd);
  game::Oath oath;
  oath.rank = out_of_range<game::Rank>(2);
  world.post(e, game::Order{.team = out_of_range<game::Team>(3),
                            .marks = out_of_range<game::Marks>(9),
                            .oath = oath,
                            .teams = {game::Team::red, out_of_range<game::Team>(200)}});
  EntityRegistry opened({.cascade_messages_max = 1});
  const LoadReport report = loaded(opened, naive::saved_rows(world));
  // Two of three carried over, the timer's, the posted one, one for two targets, and four in the table.
  CHECK(report.mended == 9);
  CHECK(report.listed.size() == 9);
  std::string seen;
  const auto swears = opened.subscribe("swears", [&](const game::Swear& one, const game::Oath&) {
    seen += std::to_string(static_cast<int>(one.team)) + ' ';
  });
  const auto orders = opened.subscribe("orders", [&](const game::OrderView& order, const game::Oath&) {
    seen += "order " + std::to_string(static_cast<int>(order.team())) + ' ' +
            std::to_string(static_cast<int>(order.marks())) + ' ' +
            std::to_string(static_cast<int>(order.oath()->rank)) + ' ' +
            std::to_string(static_cast<int>(order.teams()[1])) + ' ';
  });
  check_is_whole(opened);
  for (int i = 0; i < 8; ++i) opened.flush();
  opened.advance(2000);
  for (int i = 0; i < 8; ++i) opened.flush();
  INFO(seen);
  CHECK(seen.find_first_of("479") == std::string::npos);
  CHECK(seen.find("order 1 1 300 0") != std::string::npos);
}

TEST_CASE("of many values that were put right all are counted, and the first are named") {
  EntityRegistry world;
  game::Oath odd;
  odd.team = out_of_range<game::Team>(2);
  for (int i = 0; i < 1000; ++i) (void)world.create(odd);
  EntityRegistry opened;
  const LoadReport report = loaded(opened, naive::saved_rows(world));
  CHECK(report.mended == 1000);
  CHECK(report.listed.size() == LoadReport::listed_max);
  check_is_whole(opened);
}

TEST_CASE("a template of more nodes than a stranger may send is loaded again") {
  EntityRegistry world;
  DefineTemplate huge{.name = "huge"};
  huge.nodes.resize(70'000);
  for (std::size_t i = 1; i < huge.nodes.size(); ++i) {
    huge.nodes[i].name = "n" + std::to_string(i);
    huge.nodes[i].parent = 0;
  }
  REQUIRE(world.push(huge).handled == 1);
  REQUIRE(world.host().find_template("huge"));
  EntityRegistry opened;
  loaded(opened, naive::saved_rows(world));
  CHECK(opened.host().find_template("huge"));
  CHECK(opened.hash() == world.hash());
}
