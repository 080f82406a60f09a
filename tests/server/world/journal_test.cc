// The journal of a world file: groups of inputs, chained, each there whole or not at all.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/run_sql.h"
#include "tests/support/faulty_disk.h"

using namespace muster;
using namespace muster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string refused(const std::string& path, WorldErrorCode code) {
  const std::string before = read_file(path);
  const auto report = read_journal(path);
  REQUIRE_FALSE(report);
  CHECK(std::string(name(report.error().code())) == name(code));
  CHECK(read_file(path) == before);
  return report.error().detail();
}

/// A world with five groups, the last of which its owner wrote and did not sync before it was killed. The power stays on.
void leave_unsynced_group(FaultyDisk& disk, const std::string& path) {
  make_journal(path, 3);
  disk.remember = true;
  {
    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing, .vfs = disk.name()});
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    JournalGroup next = made_up_group(4);
    REQUIRE(file->append(next));
    next = made_up_group(5);
    disk.syncs_fail = true;
    REQUIRE_FALSE(file->append(next));
    disk.operations_left = 0;
  }
  disk.operations_left = -1;
  disk.syncs_fail = false;
}

}  // namespace

TEST_CASE(
    "groups of inputs come back in order with all that was said of them, whenever the file was closed in between") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 1);
  for (std::uint64_t count = 1; count < 30;) {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    Groups groups;
    const auto report = take_all(*file, groups);
    REQUIRE(report);
    CHECK(report->groups == count);
    REQUIRE(groups.size() == count);
    std::uint64_t inputs = 0;
    for (std::uint64_t id = 1; id <= count; ++id) {
      REQUIRE(equal(groups[id - 1], made_up_group(id)));
      inputs += id % 4;
    }
    CHECK(report->inputs == inputs);
    CHECK(file->durable() == 100 + inputs);
    for (int i = 0; i < 7; ++i) {
      JournalGroup next = made_up_group(++count);
      REQUIRE(file->append(next));
      CHECK(next.id == count);
      CHECK(file->durable() == made_up_group(count).last);
    }
  }
}

TEST_CASE("a group lies in its row as it is drawn") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    auto file = WorldFile::open(path);
    REQUIRE(file->save({.sequence = 40}, saving({})));
    JournalGroup group{.first = 41,
                       .last = 43,
                       .first_tick = 7,
                       .last_tick = 9,
                       .epoch = 0xfedcba9876543210,
                       .types = 0x0123456789abcdef,
                       .code = "host 1",
                       .records = Bytes(16, std::byte{0xa5})};
    REQUIRE(file->append(group));
    group.first = 44;
    group.last = 43;
    group.records.clear();
    REQUIRE(file->append(group));
  }
  CHECK(run_sql(path,
                "SELECT id, first, last, first_tick, last_tick, epoch, code, types, printf('%016x', checksum), "
                "hex(records) FROM journal ORDER BY id") ==
        "1\n41\n43\n7\n9\n-81985529216486896\n-4969448794479777781\n81985529216486895\nbeac21ddb0a37806\n"
        "A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5\n"
        "2\n44\n43\n7\n9\n-81985529216486896\n-4969448794479777781\n81985529216486895\n3f5b00193577be7a\n\n");
  CHECK(run_sql(path, "SELECT id, identity FROM codes") == "-4969448794479777781\nhost 1\n");
}

TEST_CASE("a checkpoint contains the groups before it, and the chain goes on behind it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 9);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    REQUIRE(file->save({.sequence = made_up_group(9).last}, saving({})));
    REQUIRE(take_all(*file, groups)->groups == 0);
    JournalGroup next = made_up_group(10);
    REQUIRE(file->append(next));
    CHECK(next.id == 10);
  }
  CHECK(run_sql(path, "SELECT count(*) FROM journal") == "1\n");
  CHECK(run_sql(path, "SELECT identity FROM codes") == "plugin 2\n");
  CHECK(run_sql(path, "SELECT value FROM meta WHERE name='group'") == "9\n");
  REQUIRE(read_journal(path)->groups == 1);
  // The same group behind another ninth one is another chain.
  make_journal(directory / "other.muster", 8);
  {
    auto file = WorldFile::open(directory / "other.muster");
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    JournalGroup ninth = made_up_group(9);
    ninth.epoch = 1;
    REQUIRE(file->append(ninth));
    REQUIRE(file->save({.sequence = ninth.last}, saving({})));
  }
  run_sql(directory / "other.muster", "ATTACH '" + path +
                                          "' AS other; INSERT INTO codes SELECT * FROM other.codes; "
                                          "INSERT INTO journal SELECT * FROM other.journal");
}

TEST_CASE("a group that does not follow is refused and leaves nothing; one before a world's first checkpoint too") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  auto file = WorldFile::open(path);
  JournalGroup group = made_up_group(1, 0);
  auto refused = file->append(group);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == WorldErrorCode::setup);
  CHECK(refused.error().detail() == "inputs cannot be recorded before the first checkpoint");
  REQUIRE(file->save({.sequence = 5}, saving({})));
  refused = file->append(group);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().detail() ==
        "a group of inputs does not follow the journal: it begins with input 1, and input 6 was to come");
  group.first = 6;
  group.last = 4;
  CHECK(file->append(group).error().detail() ==
        "a group of inputs does not follow the journal: it ends before it begins");
  group.last = 6;
  REQUIRE(file->append(group));
  CHECK(group.id == 1);
}

TEST_CASE("nothing is written over groups that were not read") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 3);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  JournalGroup next = made_up_group(4);
  const std::string text =
      "holds inputs that were recorded after checkpoint 1 and not read since; nothing is written over them";
  CHECK(file->append(next).error().detail() == text);
  CHECK(file->save({.sequence = 200}, saving({})).error().detail() == text);
  // Neither where who reads them refuses one.
  const auto taken = file->journal([](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (group.id == 2) return std::unexpected("its second record is none");
    return true;
  });
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code() == WorldErrorCode::incompatible);
  CHECK(taken.error().detail() == "the journal is refused: group 2 (inputs 102 to 103): its second record is none");
  CHECK(file->save({.sequence = 200}, saving({})).error().detail() == text);
  // Who stops before the end has seen what it wanted.
  std::uint64_t seen = 0;
  const auto some = file->journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    seen = group.id;
    return group.id < 2;
  });
  REQUIRE(some);
  CHECK(seen == 2);
  CHECK(some->groups == 3);
  REQUIRE(file->append(next));
}

TEST_CASE("a damaged last group refuses the file, names the group and a way to go on without it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  constexpr std::uint64_t count = 5;
  make_journal(path, count);
  const std::string whole = read_file(path);
  const std::size_t length = made_up_group(count).records.size();
  REQUIRE(length > 50);
  const auto damage = [&](const std::string& sql) {
    write_file(path, whole);
    run_sql(path, sql);
    const std::string before = read_file(path);
    const auto report = read_journal(path);
    if (report) FAIL("it was opened after " << sql);
    CHECK(report.error().code() == WorldErrorCode::damaged);
    CHECK_THAT(report.error().detail(), StartsWith("damaged: in the journal group 5 "));
    CHECK_THAT(report.error().detail(), Contains("DELETE FROM journal WHERE id >= 5, and remove the lock file"));
    CHECK(read_file(path) == before);
  };
  for (std::size_t bytes = 0; bytes < length; bytes += 7) {
    damage("UPDATE journal SET records = substr(records, 1, " + std::to_string(bytes) + ") WHERE id = 5");
    damage("UPDATE journal SET records = CAST(substr(records, 1, " + std::to_string(bytes) +
           ") || x'ee' || substr(records, " + std::to_string(bytes + 2) + ") AS BLOB) WHERE id = 5");
  }
  for (const char* column : {"first", "last", "first_tick", "last_tick", "epoch", "code", "types", "checksum"}) {
    damage("UPDATE journal SET " + std::string(column) + " = " + column + " + 1 WHERE id = 5");
    damage("UPDATE journal SET " + std::string(column) + " = 'text' WHERE id = 5");
  }
  damage("UPDATE journal SET records = 'text' WHERE id = 5");
  // The way on.
  run_sql(path, "DELETE FROM journal WHERE id >= 5");
  ::unlink((path + "-lock").c_str());
  CHECK(read_journal(path)->groups == count - 1);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  Groups groups;
  REQUIRE(take_all(*file, groups));
  JournalGroup again = made_up_group(count);
  REQUIRE(file->append(again));
  CHECK(again.id == count);
}

TEST_CASE(
    "a group that is changed, missing, doubled or exchanged before the last one refuses the file with its place") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 7);
  const std::string whole = read_file(path);
  const auto wrong = [&](const std::string& sql) {
    write_file(path, whole);
    run_sql(path, sql);
    return refused(path, WorldErrorCode::damaged);
  };
  for (std::uint64_t id = 1; id < 7; ++id) {
    const std::string at = std::to_string(id), after = std::to_string(id + 1);
    const std::string where = " WHERE id = " + at, named = "damaged: in the journal group " + at + " ";
    CHECK_THAT(wrong("UPDATE journal SET records = CAST(records || x'00' AS BLOB)" + where), StartsWith(named));
    CHECK_THAT(wrong("UPDATE journal SET last_tick = last_tick + 1" + where), StartsWith(named));
    CHECK_THAT(wrong("UPDATE journal SET checksum = checksum + 1" + where), StartsWith(named));
    CHECK_THAT(wrong("DELETE FROM journal" + where), StartsWith("damaged: in the journal group " + after + " "));
    CHECK_THAT(wrong("DELETE FROM journal" + where),
               Contains("group " + at + " was to come, group " + after + " came"));
    CHECK_THAT(wrong("DELETE FROM journal" + where), Contains("DELETE FROM journal WHERE id >= " + at));
    if (id > 1)
      CHECK_THAT(wrong("DELETE FROM journal" + where + "; INSERT INTO journal SELECT " + at +
                       ", first, last, first_tick, last_tick, epoch, code, types, checksum, records FROM journal "
                       "WHERE id = " +
                       std::to_string(id - 1)),
                 StartsWith(named));
    if (id < 6)
      CHECK_THAT(wrong("UPDATE journal SET id = 100" + where + "; UPDATE journal SET id = " + at +
                       " WHERE id = " + after + "; UPDATE journal SET id = " + after + " WHERE id = 100"),
                 StartsWith(named));
  }
  CHECK_THAT(wrong("UPDATE codes SET identity = 'plugin x' WHERE identity = 'plugin 0'"),
             StartsWith("damaged: in the journal the code of group 1 (input"));
  CHECK_THAT(wrong("DELETE FROM codes"), Contains("is missing in the table 'codes' or another"));
  // A group from before the checkpoint is of the past: it is not read, and goes with the next one.
  write_file(path, whole);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    REQUIRE(file->save({.sequence = made_up_group(7).last}, saving({})));
  }
  write_file(directory / "older.muster", whole);
  run_sql(path, "ATTACH '" + directory / "older.muster" +
                    "' AS older; INSERT INTO journal SELECT * FROM older.journal WHERE id = 7");
  CHECK(read_journal(path)->groups == 0);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    while (file->remove_past().value()) {
    }
  }
  CHECK(run_sql(path, "SELECT count(*) FROM journal") == "0\n");
  CHECK(run_sql(path, "SELECT count(*) FROM codes") == "0\n");
}

TEST_CASE("a journal that is shorter than what was reported durable is refused until somebody says it is meant") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 7);
  run_sql(path, "DELETE FROM journal WHERE id = 7");
  CHECK(refused(path, WorldErrorCode::damaged) ==
        "damaged: its journal ends with group 6, but group 7 was reported durable: " + path +
            "-wal is missing, or this is an older copy. To go on from here, remove " + path + "-lock");
  ::unlink((path + "-lock").c_str());
  CHECK(read_journal(path)->groups == 6);
}

TEST_CASE("a full disk fails a group at any byte, what was there stays, and a later try writes the same group") {
  for (std::int64_t free_bytes = 0; free_bytes < 40'000; free_bytes += 1111) {
    CAPTURE(free_bytes);
    FaultyDisk disk("faulty");
    const Directory directory;
    const std::string path = directory / "w.muster";
    make_journal(path, 3, {.vfs = disk.name()});
    auto file = WorldFile::open(path, {.vfs = disk.name()});
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    disk.free_bytes = free_bytes;
    std::uint64_t written = 3;
    for (;;) {
      JournalGroup next = made_up_group(written + 1);
      const auto appended = file->append(next);
      if (!appended) {
        CHECK(appended.error().code() == WorldErrorCode::disk_full);
        CHECK(std::string(appended.error().what()) == path + ": the disk is full while writing the journal");
        break;
      }
      ++written;
    }
    REQUIRE(take_all(*file, groups)->groups == written);
    CHECK(file->durable() == made_up_group(written).last);
    disk.free_bytes = -1;
    JournalGroup next = made_up_group(written + 1);
    REQUIRE(file->append(next));
    REQUIRE(take_all(*file, groups)->groups == written + 1);
  }
}

TEST_CASE(
    "a disk that fails at any operation fails a group or a checkpoint over groups, and nothing that was reported is "
    "lost") {
  FaultyDisk disk("faulty");
  bool whole = false;
  std::uint64_t most = 0;
  for (std::int64_t operations = 0; !whole; ++operations) {
    CAPTURE(operations);
    const Directory directory;
    const std::string path = directory / "w.muster";
    make_journal(path, 2);
    std::uint64_t reported = 2;
    bool checkpoint = false;
    {
      auto file = WorldFile::open(path, {.merge_bytes = 500, .vfs = disk.name()});
      REQUIRE(load_all(*file));
      Groups groups;
      REQUIRE(take_all(*file, groups));
      disk.operations_left = operations;
      const auto add = [&](std::uint64_t count) {
        for (; count > 0; --count) {
          JournalGroup next = made_up_group(reported + 1);
          if (!file->append(next)) return false;
          ++reported;
        }
        return true;
      };
      whole = add(3);
      if (whole) checkpoint = whole = file->save({.sequence = made_up_group(5).last}, saving({})).has_value();
      whole = whole && add(2);
      most = std::max(most, reported);
      disk.operations_left = whole ? -1 : 0;
    }
    disk.operations_left = -1;
    const auto report = read_journal(path);
    if (!report) FAIL(report.error().what());
    auto file = WorldFile::open(path);
    const std::uint64_t found = file->meta().group + report->groups;
    CHECK((found == reported || found == reported + 1));
    CHECK((file->meta().checkpoint == (checkpoint ? 2u : 1u) || (!checkpoint && reported == 5)));
  }
  CHECK(most == 7);
}

TEST_CASE("a group that one power cut took does not come back with the next") {
  std::uint64_t taken = 0;
  // Fourteen groups and two more: with the last one the table gets a page more, so that first pages are written which do not tell one group
  // from another.
  constexpr std::uint64_t before = 14;
  for (std::size_t lost = 2, writes = 3; lost < writes; ++lost) {
    CAPTURE(lost);
    FaultyDisk disk("faulty");
    const Directory directory;
    const std::string path = directory / "w.muster";
    make_journal(path, before);
    disk.remember = true;
    // An owner whose disk takes one group, and writes another without ever having it for sure.
    const auto live = [&](std::uint64_t epoch, const std::function<bool(std::size_t)>& survives) {
      {
        auto file = WorldFile::open(path, {.mode = OpenMode::open_existing, .vfs = disk.name()});
        if (!file) FAIL(file.error().what());
        REQUIRE(load_all(*file));
        Groups groups;
        REQUIRE(take_all(*file, groups));
        for (std::uint64_t id = groups.size() + 1; id <= before + 2; ++id) {
          JournalGroup next = made_up_group(id);
          next.epoch = epoch;
          disk.syncs_fail = id == before + 2;
          REQUIRE(file->append(next).has_value() == !disk.syncs_fail);
        }
        disk.operations_left = 0;
      }
      disk.cut_power([&](std::size_t number, std::size_t of) {
        writes = of;
        return survives(number);
      });
      disk.syncs_fail = false;
    };
    const auto epoch_of_last = [&]() -> std::uint64_t {
      auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
      if (!file) FAIL(file.error().what());
      REQUIRE(load_all(*file));
      Groups groups;
      REQUIRE(take_all(*file, groups));
      REQUIRE(groups.size() >= before + 1);
      return groups.size() == before + 2 ? groups.back().epoch : 0;
    };
    // The beginning of it is lost, and then all but the beginning of the one that the next owner writes in its place. The first write is what
    // was left of the group before, behind its sync.
    live(1, [&](std::size_t number) { return number == 0 || number >= lost; });
    if (epoch_of_last() != 0) continue;
    ++taken;
    live(2, [&](std::size_t number) { return number + 1 < lost; });
    REQUIRE(epoch_of_last() != 1);
  }
  CHECK(taken > 5);
}

TEST_CASE("what a killed owner wrote and did not sync is on the disk when its file is open") {
  FaultyDisk disk("faulty");
  const Directory directory;
  const std::string path = directory / "w.muster";
  leave_unsynced_group(disk, path);
  {
    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing, .vfs = disk.name()});
    if (!file) FAIL(file.error().what());
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    REQUIRE(groups.size() == 5);
    CHECK(file->durable() == made_up_group(5).last);
    disk.operations_left = 0;
  }
  disk.cut_power([](std::size_t, std::size_t) { return false; });
  const auto report = read_journal(path);
  REQUIRE(report);
  CHECK(report->groups == 5);
}

TEST_CASE("a file is not opened while the disk does not take what a killed owner left, and stays as it was") {
  FaultyDisk disk("faulty");
  const Directory directory;
  const std::string path = directory / "w.muster";
  leave_unsynced_group(disk, path);
  const std::string file = read_file(path), wal = read_file(path + "-wal");
  disk.syncs_fail = true;
  const auto failed = read_journal(path, {.vfs = disk.name()});
  REQUIRE_FALSE(failed);
  CHECK(std::string(name(failed.error().code())) == name(WorldErrorCode::io));
  CHECK_THAT(failed.error().what(),
             StartsWith(path + ": the disk failed while opening the file: the -wal could not be synced"));
  CHECK((read_file(path) == file && read_file(path + "-wal") == wal));
  disk.syncs_fail = false;
  const auto report = read_journal(path, {.vfs = disk.name()});
  REQUIRE(report);
  CHECK(report->groups == 5);
}

TEST_CASE("a power cut at any moment leaves every group that was reported") {
  std::uint64_t groups_seen = 0;
  for (int seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    FaultyDisk disk("faulty");
    const Directory directory;
    const std::string path = directory / "w.muster";
    make_journal(path, 1);
    disk.remember = true;
    std::uint64_t reported = 1;
    for (int cut = 0; cut < 3; ++cut) {
      {
        const std::uint64_t merge_bytes = random() % 3 * 2000;
        auto file =
            WorldFile::open(path, {.mode = OpenMode::open_existing, .merge_bytes = merge_bytes, .vfs = disk.name()});
        if (!file) FAIL(file.error().what());
        REQUIRE(load_all(*file));
        Groups groups;
        REQUIRE(take_all(*file, groups));
        disk.operations_left = static_cast<std::int64_t>(random() % 60);
        for (;;) {
          JournalGroup next = made_up_group(reported + 1);
          if (!file->append(next)) break;
          ++reported;
          if (random() % 5 == 0 && !file->save({.sequence = next.last}, saving({}))) break;
        }
        disk.operations_left = 0;
      }
      disk.cut_power(random);
      const auto report = read_journal(path);
      if (!report) FAIL(report.error().what());
      disk.operations_left = -1;
      auto file = WorldFile::open(path);
      const std::uint64_t found = file->meta().group + report->groups;
      REQUIRE((found == reported || found == reported + 1));
      groups_seen += found;
      reported = found;
    }
  }
  CHECK(groups_seen > 1000);
}

TEST_CASE(
    "a world file with groups and flipped bits gives an error, or no more and no other groups than were written") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 12);
  const std::string whole = read_file(path);
  ::unlink((path + "-lock").c_str());
  std::mt19937_64 random(5);
  int refusals = 0, unharmed = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_file(path, bytes);
    CAPTURE(round, at);
    const auto report = read_journal(path);
    if (!report) {
      if (report.error().detail().empty()) FAIL("refused without a reason");
      ++refusals;
    } else {
      if (report->groups != 12) FAIL("groups are lost: " << report->groups);
      ++unharmed;
    }
    if (read_file(path) != bytes) FAIL("a file was changed by reading it");
  }
  CAPTURE(refusals, unharmed);
  CHECK(refusals > 100);
  CHECK(unharmed > 10);
}
