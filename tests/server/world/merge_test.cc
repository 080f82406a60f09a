// What is written goes from the -wal to the file, while more is written.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/write_lock.h"

using namespace muster;
using namespace muster::test;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("groups that are small, and take a page of the -wal each, do not let it grow past what is merged at once") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  constexpr std::uint64_t merged_at = 100'000, one_group = 16'384;
  make_journal(path, 1);
  auto file = WorldFile::open(path, {.mode = OpenMode::open_existing, .merge_bytes = merged_at});
  REQUIRE(load_all(*file));
  Groups groups;
  REQUIRE(take_all(*file, groups));
  for (std::uint64_t id = 2; id < 120; ++id) {
    JournalGroup next = made_up_group(id);
    REQUIRE(file->append(next));
  }
  CHECK(std::filesystem::file_size(path + "-wal") < merged_at + one_group);
  CHECK_FALSE(file->merge_is_due(MergeAt::usual));
  // Where the caller merges, it grows until then.
  for (std::uint64_t id = 120; id < 240; ++id) {
    JournalGroup next = made_up_group(id);
    REQUIRE(file->append(next, Merges::by_caller));
  }
  CHECK(std::filesystem::file_size(path + "-wal") > 2 * merged_at);
  CHECK(file->merge_is_due(MergeAt::usual));
  file->begin_merge();
  CHECK_FALSE(file->merge_is_due(MergeAt::any));  // one at a time
  file->merge_beside();
  file->end_merge();
  CHECK_FALSE(file->merge_is_due(MergeAt::any));
  CHECK(file->held_bytes() == 0);
  JournalGroup next = made_up_group(240);
  REQUIRE(file->append(next, Merges::by_caller));
  CHECK_FALSE(file->merge_is_due(MergeAt::usual));  // it began anew
  CHECK(file->wal_use().length() < one_group);
}

TEST_CASE(
    "what is written while the -wal is merged is merged the next time, and a reader's pages are found to be held") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_journal(path, 1);
  const auto open = [&] {
    return std::make_unique<WorldFile>(WorldFile::open(path, {.mode = OpenMode::open_existing}).value());
  };
  auto file = open();
  REQUIRE(load_all(*file));
  Groups groups;
  REQUIRE(take_all(*file, groups));
  std::uint64_t id = 1;
  const auto append = [&](int count) {
    for (; count > 0; --count) {
      JournalGroup next = made_up_group(++id);
      REQUIRE(file->append(next, Merges::by_caller));
    }
  };
  append(20);
  file->begin_merge();
  append(20);
  std::thread([&] { file->merge_beside(); }).join();
  append(20);
  file->end_merge();
  CHECK(file->wal_use().unmerged() > 0);
  CHECK(file->held_bytes() == 0);
  const std::uint64_t length = file->wal_use().length();
  {
    const ReadLock reads(path);
    append(20);
    file->begin_merge();
    file->merge_beside();
    file->end_merge();
    CHECK(file->held_bytes() > 0);
    CHECK(file->held_bytes() < file->wal_use().unmerged() + length);
    CHECK(file->wal_use().length() == 0);  // nothing of it would go
    append(20);
    CHECK(file->wal_use().length() > 0);
  }
  file->begin_merge();
  file->merge_beside();
  file->end_merge();
  CHECK(file->held_bytes() == 0);
  append(1);
  CHECK(file->wal_use().length() < 16'384);
  // The last to close the file merges all of it, and that is not the connection that did beside.
  file.reset();
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
  file = open();
  Groups again;
  REQUIRE(load_all(*file));
  REQUIRE(take_all(*file, again));
  CHECK(again.size() == id);
}

TEST_CASE("what is merged beside goes into the world's own file, or nowhere where another one is in its place") {
  const Directory directory;
  const std::string path = directory / "w.muster", moved = directory / "moved", other = directory / "other";
  make_journal(path, 1);
  std::filesystem::copy_file(path, other);
  std::uint64_t id = 1;
  {
    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    const auto append = [&](int count) {
      for (; count > 0; --count) {
        JournalGroup next = made_up_group(++id);
        REQUIRE(file->append(next, Merges::by_caller));
      }
    };
    append(40);
    file->begin_merge();
    file->merge_beside();
    file->end_merge();
    CHECK((bytes_of(path) != bytes_of(other)));
    append(40);
    std::filesystem::rename(path, moved);
    std::filesystem::copy_file(other, path);
    file->begin_merge();
    file->merge_beside();
    file->end_merge();
    CHECK((bytes_of(path) == bytes_of(other)));
    REQUIRE_FALSE(file->still_there());
  }
  CHECK((bytes_of(path) == bytes_of(other)));
  std::filesystem::rename(path + "-wal", moved + "-wal");
  auto file = WorldFile::open(moved, {.mode = OpenMode::open_existing});
  REQUIRE(file);
  REQUIRE(load_all(*file));
  Groups again;
  REQUIRE(take_all(*file, again));
  CHECK(again.size() == id);
}
