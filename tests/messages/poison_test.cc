// Under AddressSanitizer, memory of a popped batch must not be touched. What must end a process is tried in a child.
#include "messages/poison.h"

#ifdef MUSTER_ASAN

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "messages/arena.h"
#include "tests/messages/test_types.h"

namespace {

using namespace muster;
using namespace ::test;

struct Ended {
  bool well = false;
  std::string errors;
};

template <class Work>
Ended in_child(Work&& work) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    work();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  Ended ended;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(pipe_ends[0], piece.data(), piece.size())) > 0;)
    ended.errors.append(piece.data(), static_cast<std::size_t>(got));
  ::close(pipe_ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ended.well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ended;
}

/// A read that the compiler keeps.
void touch(const std::byte* at) { [[maybe_unused]] const std::byte read = *const_cast<const volatile std::byte*>(at); }

TEST_CASE("reading a popped batch is caught; one that is still queued may be read") {
  const auto read_first = [](bool pop, bool others_queued) {
    Arena arena;
    arena.append(Entity{1, 1}, Damage{});
    const std::byte* const payload = arena.front().payload(0);
    if (others_queued) arena.append_world(Tick{});
    if (pop) arena.pop_front();
    touch(payload);
  };
  CHECK(in_child([&] { read_first(false, true); }).well);
  for (const bool others_queued : {false, true}) {
    const Ended popped = in_child([&] { read_first(true, others_queued); });
    CHECK(!popped.well);
    CHECK(popped.errors.find("use-after-poison") != std::string::npos);
  }
}

TEST_CASE("reading a batch of a segment that was given back is caught") {
  const Ended ended = in_child([] {
    Arena arena(1024);
    arena.append(Entity{1, 1}, Damage{});
    const std::byte* const payload = arena.front().payload(0);
    for (std::uint32_t i = 0; i < 100; ++i) arena.append(Entity{i, 1}, Damage{});
    arena.clear();
    touch(payload);
  });
  CHECK(!ended.well);
  CHECK(ended.errors.find("use-after-poison") != std::string::npos);
}

}  // namespace

#endif
