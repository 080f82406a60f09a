// A world is copied while it runs: the copy is one moment of it, and the world does not notice.
#include "server/file_program/backup.h"

#include <catch2/catch.hpp>

#include "server/file_program/verify.h"
#include "tests/server/file_program/file_world.h"

using namespace muster;
using namespace muster::test;

TEST_CASE("a copy of a world that runs opens as the world was when the copy was made") {
  const Folder folder;
  const std::string path = folder / "w.muster", copy = folder / "copy.muster";
  std::uint64_t sequence = 0;
  {
    FileWorld open(path);
    const std::uint64_t edited = open.edit();
    const auto report = back_up(path, copy);
    REQUIRE(report);
    CHECK(report->checkpoint == 1);
    CHECK(report->sequence >= edited);
    sequence = report->sequence;
    CHECK(report->group >= 1);
    CHECK(report->bytes == std::filesystem::file_size(copy));
    open.edit();
    open.world.save();
    CHECK(back_up(path, folder / "later.muster")->checkpoint == 2);
  }
  FileWorld again(copy);
  CHECK(again.world.registry().sequence() == sequence);
  EntityRegistry& r = again.world.registry();
  CHECK(r.get<game::Health>(r.find_path("/orc")).value == 3);
  CHECK(r.find_path("/elf") == Entity{});
  CHECK(verify(folder / "later.muster")->durable > sequence);
}

TEST_CASE("a copy of a world that nobody has open takes what is in its -wal, and leaves both") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  FileWorld open(path);
  const std::uint64_t edited = open.edit();
  // As a crash leaves it: the file and its -wal, of a process that is gone.
  const std::string world = read_file(path), wal = read_file(path + "-wal");
  REQUIRE_FALSE(wal.empty());
  folder.write("left.muster", world);
  folder.write("left.muster-wal", wal);
  const auto report = back_up(folder / "left.muster", folder / "copy.muster");
  REQUIRE(report);
  CHECK(report->sequence >= edited);
  CHECK((read_file(folder / "left.muster") == world));
  CHECK((read_file(folder / "left.muster-wal") == wal));
  CHECK(verify(folder / "copy.muster")->durable == report->sequence);
}

TEST_CASE("a copy is not made where a world that is gone left something that would be laid over it") {
  const Folder folder;
  const std::string path = folder / "w.muster", copy = folder / "copy.muster";
  {
    const FileWorld made(path);
  }
  for (const char* left : {"-wal", "-work", "-users"}) {
    folder.write("copy.muster" + std::string(left), "somebody's");
    const auto names = folder.names();
    const auto report = back_up(path, copy);
    REQUIRE_FALSE(report);
    CHECK(report.error().code() == WorldErrorCode::left_behind);
    CHECK(report.error().detail() == "these files of an earlier world would be combined with the copy: " + copy + left +
                                         ". Move them away, or give the copy another name");
    CHECK(folder.names() == names);
    CHECK(read_file(copy + left) == "somebody's");
    std::filesystem::remove(copy + left);
  }
  CHECK(back_up(path, copy));
}

TEST_CASE("a copy never replaces a file, and a refused one leaves nothing") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  {
    const FileWorld made(path);
  }
  const auto names = folder.names();
  const auto refusal = [&](const std::string& from, const std::string& to) {
    const auto report = back_up(from, to);
    REQUIRE_FALSE(report);
    return std::string(report.error().what());
  };
  CHECK(refusal(path, path) == path + ": exists already; a copy never replaces a file");
  CHECK(refusal(folder / "none", folder / "copy") == folder / "none" + ": no such file");
  CHECK(refusal(path, folder / "no/copy") == folder / "no/copy" + ": there is no folder " + (folder / "no"));
  CHECK(folder.names() == names);
  folder.write("text", std::string(20'000, 'x'));
  CHECK(refusal(folder / "text", folder / "copy").starts_with(folder / "text: "));
  CHECK_FALSE(std::filesystem::exists(folder / "copy"));
  CHECK_FALSE(std::filesystem::exists(folder / "copy-new"));
}

TEST_CASE("a copy has the world's users, which only its owner can read, and a copy that fails has none") {
  const Folder folder;
  const std::string path = folder / "w.muster", copy = folder / "copy.muster";
  {
    const FileWorld made(path);
  }
  CHECK_FALSE(back_up(path, folder / "none.muster")->has_users);
  CHECK_FALSE(std::filesystem::exists(folder / "none.muster-users"));
  const std::string list = "muster-users 1\nnext 1\n" + std::string(10'000, '\n');
  folder.write("w.muster-users", list);
  std::filesystem::create_symlink(path, folder / "link.muster");
  CHECK(back_up(folder / "link.muster", copy)->has_users);
  CHECK(read_file(copy + "-users") == list);
  CHECK((std::filesystem::status(copy + "-users").permissions() & std::filesystem::perms(077)) ==
        std::filesystem::perms::none);
  std::filesystem::remove(path + "-users");
  std::filesystem::create_symlink(copy + "-users", path + "-users");
  const auto names = folder.names();
  CHECK(back_up(path, folder / "other.muster").error().detail() ==
        "the list of users cannot be copied: a symbolic link");
  CHECK(folder.names() == names);
}

TEST_CASE("of the dated copies of a world, the newest are kept, and no other file is removed") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  const auto day = [](int days) {
    return std::chrono::sys_seconds(std::chrono::seconds(1'772'335'800) + std::chrono::hours(24 * days));
  };
  CHECK(dated_copy(path, folder / "copies", day(0)) == folder / "copies/w-20260301T033000Z.muster");
  std::filesystem::create_directory(folder / "copies");
  for (const char* other :
       {"w.muster", "w-20260301T033000Z.muster-wal", "w-20260301T03300xZ.muster", "ww-20260301T033000Z.muster",
        "w-20260301T033000Z.muster.old", "x-20260301T033000Z.muster", "w-2026-301T033000Z.muster"})
    folder.write("copies/" + std::string(other), "x");
  const std::size_t others = 7;
  for (int i = 0; i < 5; ++i)
    for (const char* part : {"", "-users"})
      folder.write(std::filesystem::relative(dated_copy(path, folder / "copies", day(i)) + part, folder / "").string(),
                   "x");
  const auto removed = remove_old_copies(path, folder / "copies", 3);
  CHECK(*removed ==
        std::vector{dated_copy(path, folder / "copies", day(0)), dated_copy(path, folder / "copies", day(1))});
  const auto count = std::distance(std::filesystem::directory_iterator(folder / "copies"), {});
  CHECK(static_cast<std::size_t>(count) == others + 6);
  CHECK(remove_old_copies(path, folder / "copies", 3)->empty());
  CHECK_FALSE(remove_old_copies(path, folder / "nowhere", 3));
}
