// Signals that stop worlds. Raises signals and forks, so no other thread may run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>

#include "include/muster/world.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

namespace stop_signals_test {

using namespace muster;
using muster::test::saved_by_hand;

namespace {

WorldOptions stopping() { return saved_by_hand({.hz = 1000, .stop_on_signals = true}); }

void ignore_it(int) {}

/// The handler of the signal.
auto handler_of(int number) {
  struct sigaction now = {};
  REQUIRE(::sigaction(number, nullptr, &now) == 0);
  return now.sa_handler;
}

/// Sets a handler and restores the one before it.
class Handled {
 public:
  Handled(int number, void (*handler)(int)) : number_(number), before_(::signal(number, handler)) {}
  ~Handled() { ::signal(number_, before_); }
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

 private:
  int number_;
  void (*before_)(int);
};

}  // namespace

TEST_CASE("SIGINT and SIGTERM end the frames of a world that stops on signals") {
  const test::Folder folder;
  const int number = GENERATE(SIGINT, SIGTERM);
  World world(folder / "w.muster", {}, stopping());
  REQUIRE(world.next_frame());
  ::raise(number);
  CHECK_FALSE(world.next_frame());
  CHECK(world.has_ended());
}

TEST_CASE("a signal that comes while a world is opened ends its frames") {
  const test::Folder folder;
  World world(
      folder / "w.muster",
      [](EntityRegistry&) {
        ::raise(SIGTERM);
        return Handlers();
      },
      stopping());
  CHECK_FALSE(world.next_frame());
}

TEST_CASE("a signal stops every world with the option, and no other") {
  const test::Folder folder;
  std::optional<World> first, third;
  first.emplace(folder / "first.muster", World::Install(), stopping());
  World second(folder / "second.muster", {}, stopping());
  third.emplace(folder / "third.muster", World::Install(), stopping());
  World other(folder / "other.muster", {}, saved_by_hand({.hz = 1000}));
  first.reset();  // neither the first nor the last of them
  ::raise(SIGINT);
  CHECK_FALSE(second.next_frame());
  CHECK_FALSE(third->next_frame());
  CHECK(other.next_frame());
}

TEST_CASE("the handlers of before come back with the end of the last world, or with the first signal") {
  const test::Folder folder;
  const Handled interrupts(SIGINT, ignore_it), terminations(SIGTERM, SIG_IGN);
  {
    std::optional<World> first;
    first.emplace(folder / "first.muster", World::Install(), stopping());
    World second(folder / "second.muster", {}, stopping());
    first.reset();
    CHECK(handler_of(SIGINT) != ignore_it);
    CHECK(handler_of(SIGTERM) != SIG_IGN);
    ::raise(SIGINT);
    CHECK(handler_of(SIGINT) == ignore_it);
    CHECK(handler_of(SIGTERM) != SIG_IGN);
    CHECK_FALSE(second.next_frame());
    // A world that is opened after the signal takes the next one.
    World third(folder / "third.muster", {}, stopping());
    CHECK(third.next_frame());
    ::raise(SIGINT);
    CHECK_FALSE(third.next_frame());
  }
  CHECK(handler_of(SIGINT) == ignore_it);
  CHECK(handler_of(SIGTERM) == SIG_IGN);
}

TEST_CASE("a handler that the program sets while a world is open stays") {
  const test::Folder folder;
  const Handled before(SIGINT, SIG_DFL);
  {
    World world(folder / "w.muster", {}, stopping());
    ::signal(SIGINT, ignore_it);
  }
  CHECK(handler_of(SIGINT) == ignore_it);
}

TEST_CASE("a second signal ends a program whose world does not stop") {
  const test::Folder folder;
  const Handled before(SIGINT, SIG_DFL);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);
    const World world(folder / "w.muster", {}, stopping());
    ::raise(SIGINT);
    ::raise(SIGINT);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT));
}

TEST_CASE("a world that cannot be opened leaves the program's handlers as they were") {
  const test::Folder folder;
  const Handled before(SIGTERM, ignore_it);
  WorldOptions options = stopping();
  options.open = OpenMode::open_existing;
  CHECK_THROWS_AS(World(folder / "none.muster", {}, options), WorldError);
  CHECK(handler_of(SIGTERM) == ignore_it);
}

}  // namespace stop_signals_test
