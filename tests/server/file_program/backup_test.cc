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
