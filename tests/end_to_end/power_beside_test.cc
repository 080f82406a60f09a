// The power goes while files beside a world are written: its list of users, and a copy of it.
#include <catch2/catch.hpp>

#include "server/access/users.h"
#include "server/file_program/backup.h"
#include "server/file_program/verify.h"
#include "server/world/world.h"
#include "tests/support/folder.h"
#include "tests/support/power_log.h"

using namespace muster;
using namespace muster::test;

namespace {

/// Calls f(folder, events) with what some cuts leave, several of them behind each number of events.
template <class F>
std::uint64_t each_cut(PowerLog& log, int times, F&& f) {
  const std::size_t events = log.events();
  log.end();
  std::uint64_t cuts = 0;
  for (std::size_t at = 0; at <= events; ++at)
    for (int time = 0; time < times; ++time, ++cuts) {
      const Folder left(memory_disk());
      CAPTURE(at, time, log.text(at));
      log.cut(at, at * 1000 + static_cast<std::uint64_t>(time), left.path().string());
      f(left, at);
    }
  return cuts;
}

/// Makes and revokes users, and gives each list with the number of events behind which it was told.
std::vector<std::pair<std::size_t, std::string>> change_users(PowerLog& log, const std::string& path) {
  std::vector<std::pair<std::size_t, std::string>> told = {{0, ""}};
  Users users({}, path);
  for (int i = 0; i < 12; ++i) {
    if (i % 3 == 2)
      REQUIRE(users.revoke("user " + std::to_string(i - 1)));
    else
      REQUIRE(users.create("user " + std::to_string(i), session::Role::edit, 0, Users::Clock::now()));
    told.emplace_back(log.events(), read_file(path));
  }
  return told;
}

/// What is wrong with a list that a cut left; empty: nothing.
std::string wrong_list(const std::vector<std::pair<std::size_t, std::string>>& told, const std::string& path,
                       std::size_t at) {
  const std::string text = read_file(path);
  try {
    const Users users({}, path);
  } catch (const ServerError& error) {
    return error.what();
  }
  for (std::size_t i = told.size(); i-- > 0;) {
    if (told[i].second == text) return {};
    if (told[i].first <= at) return "an older list, or none of those there were: " + text;
  }
  return "no list";
}

}  // namespace

TEST_CASE("wherever the power goes, the list of users is the one that was told, or the next") {
  const Folder folder(memory_disk());
  PowerLog log(folder.path().string());
  const auto told = change_users(log, folder / "w.muster-users");
  const std::uint64_t cuts = each_cut(log, 6, [&](const Folder& left, std::size_t at) {
    REQUIRE(wrong_list(told, left / "w.muster-users", at).empty());
  });
  CHECK(cuts > 400);
}

TEST_CASE("a disk that syncs nothing loses users that were told") {
  const Folder folder(memory_disk());
  PowerLog log(folder.path().string(), {.file_syncs = false, .directory_syncs = false});
  const auto told = change_users(log, folder / "w.muster-users");
  std::uint64_t bad = 0;
  each_cut(log, 6, [&](const Folder& left, std::size_t at) {
    bad += wrong_list(told, left / "w.muster-users", at).empty() ? 0 : 1;
  });
  CHECK(bad > 50);
}

TEST_CASE("wherever the power goes, a copy of a world is whole or not there, and there once it was told") {
  const Folder folder(memory_disk());
  const std::string path = folder / "w.muster";
  std::uint64_t sequence = 0;
  World world(path, {}, {.hz = 100'000, .durability = Durability::each_flush, .autosave = {}});
  for (int i = 0; i < 300; ++i) (void)world.registry().create("thing" + std::to_string(i));
  world.save();
  (void)world.registry().create("last");
  while (world.durable_sequence() < world.registry().sequence()) (void)world.try_save();
  sequence = world.durable_sequence();
  PowerLog log(folder.path().string());
  REQUIRE(back_up(path, folder / "copy.muster"));
  const std::size_t told = log.events();
  std::uint64_t whole = 0;
  each_cut(log, 3, [&](const Folder& left, std::size_t at) {
    for (const std::string name : {"w.muster", "copy.muster"}) {
      CAPTURE(name);
      const bool must_be_there = name == "w.muster" || at >= told;
      if (!std::filesystem::exists(left / name)) {
        REQUIRE_FALSE(must_be_there);
        continue;
      }
      const auto report = verify(left / name);
      CAPTURE(report ? std::string() : std::string(report.error().what()));
      REQUIRE(report);
      CHECK(report->remarks.empty());
      REQUIRE(report->durable == sequence);
      whole += name == "copy.muster" ? 1 : 0;
    }
  });
  CHECK(whole > 2);
}
