// What a process that ends without warning leaves behind: kill -9 in the middle of checkpoints, a -wal that got lost.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;

namespace {

/// The state as of checkpoint n, which every process can compute.
Rows state_at(std::uint64_t n) {
  Rows rows;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::uint64_t version = n - (n + i) % 7;  // a seventh of the rows changes with every checkpoint
    if (version > n || version == 0) continue;      // not yet there
    std::mt19937_64 random(version * 1000 + i);
    rows[{StateSection::columns, i, 1}] = {version, random_bytes(random, 20000 + i * 10)};
  }
  return rows;
}

void pause_ms(double ms) {
  const timespec t{0, static_cast<long>(ms * 1e6)};
  ::nanosleep(&t, nullptr);
}

/// A process that saves checkpoint after checkpoint and writes the number of each durable one to the pipe.
pid_t start_saver(const std::string& path, int report) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  auto file = WorldFile::open(path);
  if (!file || !load_all(*file)) ::_exit(1);
  for (std::uint64_t n = file->meta().checkpoint + 1;; ++n) {
    const Rows rows = state_at(n);
    if (!file->save({.sequence = n}, saving(rows))) ::_exit(2);
    if (::write(report, &n, sizeof n) != sizeof n) ::_exit(3);
  }
}

}  // namespace

TEST_CASE("a process killed in the middle of checkpoints leaves the last one that it reported, or the next") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::mt19937_64 random(3);
  std::uint64_t reported = 0;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round, reported);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = start_saver(path, ends[1]);
    ::close(ends[1]);
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; i < 1 + random() % 6; ++i)
      if (::read(ends[0], &n, sizeof n) == sizeof n) reported = n;
    pause_ms(static_cast<double>(random() % 4000) / 1000.0);
    REQUIRE(::kill(child, SIGKILL) == 0);
    while (::read(ends[0], &n, sizeof n) == sizeof n) reported = n;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));

    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});  // no stale lock
    if (!file) FAIL(file.error().what());
    const auto read = load_all(*file);
    if (!read) FAIL(read.error().what());
    const std::uint64_t found = file->meta().checkpoint;
    REQUIRE((found == reported || found == reported + 1));
    REQUIRE(*read == contents(state_at(found)));
    reported = found;
  }
  REQUIRE(reported > 20);
}

TEST_CASE("a process killed while it creates its world leaves nothing that is in the way") {
  const Directory directory;
  for (int round = 0; round < 20; ++round) {
    const std::string path = directory / ("w" + std::to_string(round) + ".muster");
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = start_saver(path, ends[1]);
    pause_ms(round * 0.2);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    auto file = WorldFile::open(path);
    if (!file) FAIL(file.error().what());
    const auto read = load_all(*file);
    if (!read) FAIL(read.error().what());
    REQUIRE(*read == contents(state_at(file->meta().checkpoint)));
    REQUIRE(file->save({}, saving({})));
  }
}

namespace {

/// A world whose owner was killed with the newest of its checkpoints in the -wal alone; how many it has.
std::uint64_t crashed_world(const std::string& path) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = WorldFile::open(path);
    for (std::uint64_t n = 1; n <= 5; ++n)
      if (!file->save({}, saving(state_at(n)))) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  REQUIRE(std::filesystem::file_size(path + "-wal") > 0);
  return 5;
}

}  // namespace

TEST_CASE("a lost -wal is an error, not an older world") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  crashed_world(path);
  ::unlink((path + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  const std::string before = read_file(path);
  const auto read = read_world(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().detail() == "damaged: it holds checkpoint 0, but checkpoint 5 was reported durable: " + path +
                                     "-wal is missing, or this is an older copy. To go on from here, remove " + path +
                                     "-lock");
  CHECK(read_file(path) == before);
}

TEST_CASE("a -wal cut off or flipped anywhere gives an error or what was written, and stays as it is") {
  const Directory directory;
  const std::string path = directory / "w.muster", wal = path + "-wal";
  const Contents written = contents(state_at(crashed_world(path)));
  const std::string file_bytes = read_file(path), wal_bytes = read_file(wal), lock_bytes = read_file(path + "-lock");
  std::mt19937_64 random(9);
  int refused = 0, unharmed = 0;
  // Undamaged first: reading leaves the merging to the first checkpoint.
  REQUIRE(read_world(path) == written);
  REQUIRE(read_file(path) == file_bytes);
  REQUIRE(read_file(wal) == wal_bytes);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = wal_bytes;
    const std::size_t at = random() % bytes.size();
    if (random() % 2)
      bytes.resize(at);
    else
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    CAPTURE(round, at);
    write_file(path, file_bytes);
    write_file(wal, bytes);
    write_file(path + "-lock", lock_bytes);
    ::unlink((path + "-shm").c_str());
    const auto read = read_world(path);
    if (read) {
      if (*read != written) FAIL("other rows were read than were written");
      ++unharmed;
    } else {
      ++refused;
    }
    if (read_file(path) != file_bytes || (!bytes.empty() && read_file(wal) != bytes)) FAIL("changed by reading");
  }
  // A frame's checksum covers all before it, so there is hardly a byte that does not matter.
  CHECK(refused > 200);
  CAPTURE(unharmed);
}

TEST_CASE("a file copied without the -wal of a running world is its older checkpoint or an error") {
  const Directory directory;
  const std::string path = directory / "w.muster", copy = directory / "copy.muster";
  int older = 0, refused = 0;
  auto file = WorldFile::open(path);
  for (std::uint64_t n = 1; n <= 80; ++n) {
    REQUIRE(file->save({}, saving(state_at(n))));
    write_file(copy, read_file(path));
    ::unlink((copy + "-lock").c_str());
    auto copied = WorldFile::open(copy);
    std::expected<Contents, WorldError> read;
    if (copied && (read = load_all(*copied))) {
      REQUIRE(*read == contents(state_at(copied->meta().checkpoint)));
      ++older;
    } else {
      ++refused;
    }
  }
  CHECK(older + refused == 80);
  CHECK(older > 0);
}

TEST_CASE("a second process is refused, and the world is free as soon as the first was killed") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = start_saver(path, ends[1]);
    std::uint64_t n;
    REQUIRE(::read(ends[0], &n, sizeof n) == sizeof n);
    auto second = WorldFile::open(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().code() == WorldErrorCode::in_use);
    CHECK(second.error().detail() == "in use by process " + std::to_string(child));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    REQUIRE(WorldFile::open(path));
  }
}
