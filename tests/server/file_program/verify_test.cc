// A world file is verified as a server would read it, and left as it was.
#include "server/file_program/verify.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/server/file_program/file_world.h"

using namespace muster;
using namespace muster::test;

namespace {

/// A world that was closed with inputs behind its checkpoint, and the hash at that.
std::uint64_t make_world(const std::string& path) {
  FileWorld made(path);
  const std::uint64_t hash = made.world.registry().hash();
  made.edit();
  return hash;
}

}  // namespace

TEST_CASE("a good world is told with what it holds, and not a byte of it changes") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  const std::uint64_t hash = make_world(path);
  const std::string before = read_file(path);
  const auto report = verify(path);
  REQUIRE(report);
  CHECK(report->hash == hash);
  CHECK(report->entities == 3);
  CHECK(report->meta.checkpoint == 1);
  CHECK_FALSE(report->running);
  CHECK_FALSE(report->older);
  CHECK(report->groups >= 1);
  CHECK(report->inputs >= 3);
  CHECK(report->durable == report->meta.sequence + report->inputs);
  CHECK(report->remarks.empty());
  CHECK((read_file(path) == before));
  FileWorld again(path);
  CHECK(again.world.recovery_report().inputs == report->inputs);
}

TEST_CASE("a world that is open is verified by a copy, which is gone afterwards") {
  const Folder folder;
  const Folder temporary;
  REQUIRE(::setenv("TMPDIR", temporary.path().c_str(), 1) == 0);
  const std::string path = folder / "w.muster";
  {
    FileWorld open(path);
    const std::uint64_t edited = open.edit();
    const auto report = verify(path);
    REQUIRE(report);
    CHECK(report->running);
    CHECK(report->durable >= edited);
    CHECK(temporary.names().empty());
    open.edit();
    open.world.save();
  }
  ::unsetenv("TMPDIR");
  REQUIRE(verify(path));
}

TEST_CASE("a world that may not be written is verified by a copy, and nothing comes into being beside it") {
  const Folder folder(memory_disk());
  const Folder temporary(memory_disk());
  const std::string path = folder / "w.muster";
  (void)make_world(path);
  const auto expected = verify(path);
  REQUIRE(expected);
  // 0: it is good; 1: not what it is; else the error's code and a bit.
  const auto ask = [&] {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
      ::setenv("TMPDIR", temporary.path().c_str(), 1);
      const auto report = verify(path);
      if (!report) ::_exit(64 + static_cast<int>(report.error().code()));
      const bool same = report->hash == expected->hash && report->durable == expected->durable && !report->running;
      ::_exit(same && temporary.names().empty() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  REQUIRE(::chmod(temporary.path().c_str(), 0777) == 0);
  REQUIRE(::chmod(path.c_str(), 0444) == 0);
  REQUIRE(::chmod((path + "-lock").c_str(), 0444) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  const auto names = folder.names();
  CHECK(ask() == 0);
  CHECK(folder.names() == names);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  REQUIRE(::chmod((path + "-lock").c_str(), 0644) == 0);
  {
    // Somebody else's server has it: what a copy byte by byte would have is anybody's guess.
    const FileWorld open(path);
    REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
    CHECK(ask() == 64 + static_cast<int>(WorldErrorCode::denied));
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  }
}

TEST_CASE("what is wrong with a world is said with its name, whether it is open or not") {
  const Folder folder(memory_disk());
  const std::string path = folder / "w.muster";
  CHECK(verify(path).error().what() == path + ": no such file");
  folder.write("text", "no world at all, but some bytes");
  CHECK(std::string(verify(folder / "text").error().what()).starts_with(folder / "text"));
  (void)make_world(path);
  std::string bytes = read_file(path);
  int refused = 0, flipped = 0;
  for (std::size_t at = 4096; at < bytes.size(); at += 4099) {
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_file(path, bytes);
    const auto report = verify(path);
    ++flipped;
    if (!report) {
      ++refused;
      CHECK(std::string(report.error().what()).starts_with(path + ": "));
    }
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  }
  CHECK(refused > flipped / 3);  // the others hit what no row uses, or the end of the journal
  write_file(path, bytes);
  CHECK(verify(path));
}
