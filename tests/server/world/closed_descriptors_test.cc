// A program that closed its standard input, output or error, before it has a world or after: what it prints goes into no
// file of the world.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "server/world/world.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;

namespace {

constexpr const char* printed = "printed, and for no file\n";

/// In the three ways that reach a descriptor by its number alone, whoever has it.
void print_everywhere() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::write(fd, printed, std::char_traits<char>::length(printed)) < 0) continue;
    ::dprintf(fd, "%s", printed);
  }
}

enum class Closes { before_it_has_a_world, before_the_first_save };

/// A process of its own: makes a world, or edits it, and prints between any two steps. Its exit status says how it went.
int run_program(const std::string& path, unsigned closed, Closes closes, bool is_killed) {
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(20);  // what is printed into a descriptor of another kind may wait for a reader
  const int quiet = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(quiet, fd);
  const auto close_them = [&] {
    for (int fd = 0; fd <= 2; ++fd)
      if (closed & 1u << fd) ::close(fd);
  };
  try {
    if (closes == Closes::before_it_has_a_world) close_them();
    World world(path, {}, {.hz = 1000, .durability = Durability::each_flush, .autosave = {}});
    print_everywhere();
    if (closes == Closes::before_the_first_save) close_them();
    const std::string number = std::to_string(world.registry().sequence());
    (void)world.registry().create("town" + number);
    world.save();
    print_everywhere();
    (void)world.registry().create("tower" + number);
    const std::uint64_t edited = world.registry().sequence();
    while (world.durable_sequence() < edited) {
      if (world.recording_error()) ::_exit(2);
      (void)world.next_frame();
    }
    print_everywhere();
    if (is_killed) ::_exit(0);
  } catch (const std::exception& error) {
    if (const int fd = ::open((path + ".error").c_str(), O_WRONLY | O_CREAT, 0600); fd >= 0)
      ::dprintf(fd, "%s", error.what());
    ::_exit(1);
  }
  print_everywhere();
  ::_exit(0);
}

}  // namespace

TEST_CASE("a program that closed its standard descriptors prints into no file of its world") {
  const Directory directory;
  for (const Closes closes : {Closes::before_it_has_a_world, Closes::before_the_first_save})
    for (unsigned closed = 1; closed < 8; ++closed)
      for (const bool is_killed : {false, true}) {
        CAPTURE(static_cast<int>(closes), closed, is_killed);
        const std::string path = directory / ("w" + std::to_string(static_cast<int>(closes)) + std::to_string(closed) +
                                              (is_killed ? "k" : "e"));
        for (int life = 0; life < 2; ++life) {
          const int status = run_program(path, closed, closes, is_killed);
          CAPTURE(read_file(path + ".error"));
          REQUIRE(status == 0);
          for (const std::string& name : directory.names())
            REQUIRE(read_file(directory / name).find(printed) == std::string::npos);
          REQUIRE(read_file(path + "-lock").starts_with("muster-lock 1\nprocess "));
        }
        const World world(path, {});
        CHECK(world.recovery_report().exact());
        CHECK(world.registry().entity_count() == 4);
      }
}
