// ReadLog: what handlers wrote, page by page, and what they write from now on.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "registry/host.h"
#include "registry/observe/log.h"
#include "tests/server/desk/hand_desk.h"

namespace log_questions_test {

using namespace muster;
using namespace muster::testing;

namespace {

/// A desk whose only handler writes the amount of damage as a line.
struct Desked {
  explicit Desked(const ServerLimits& limits = {}) : world(limits) {
    orc = world.registry.create("orc", arena::Health{}).or_stop();
    writes = world.registry.subscribe("arena.hurt",
                                      [](const arena::Damage& hit, const arena::Health&, Entity self, Log& log) {
                                        log.warning(std::to_string(static_cast<int>(hit.amount)), self);
                                      });
    const_cast<GameLog&>(world.registry.host().log()).set_clock([this] { return now_ns; });
  }
  void write(int lines) {
    for (int i = 0; i < lines; ++i) {
      now_ns += 20'000'000;
      world.registry.push(orc, arena::Damage{.amount = static_cast<float>(++written)});
    }
  }
  session::LogLines read(Session& by, session::ReadLog what = {}) {
    return world.answer_to<session::LogLines>(by, what);
  }
  std::vector<session::LogLines> told(Session& to) {
    std::vector<session::LogLines> all;
    for (const Received& frame : HandDesk::heard(to)) {
      CHECK(frame.header.request == 0);
      if (frame.is<session::LogLines>()) all.push_back(session::read<session::LogLines>(frame.batch()));
    }
    return all;
  }

  HandDesk world;
  Entity orc;
  Subscription writes;
  std::uint64_t now_ns = 0;
  int written = 0;
};

}  // namespace

TEST_CASE("ReadLog returns the lines with all that belongs to them, page by page") {
  Desked desk;
  const auto viewer = desk.world.join("viewer", session::Role::view);
  CHECK(desk.read(*viewer).numbers.empty());
  desk.write(5);
  const session::LogLines all = desk.read(*viewer);
  CHECK(all.numbers == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK(all.texts == std::vector<std::string>{"1", "2", "3", "4", "5"});
  CHECK((all.handlers[0] == "arena.hurt" && all.entities[0] == desk.orc));
  CHECK(all.levels[0] == static_cast<std::uint8_t>(session::LogLevel::warning));
  CHECK(all.sequences.back() == desk.world.registry.sequence());
  CHECK((all.clocks_ns.size() == 5 && all.lost_before.size() == 5 && all.lost == 0 && !all.more));
  const session::LogLines part = desk.read(*viewer, {.after = 1, .limit = 2});
  CHECK(part.numbers == std::vector<std::uint64_t>{2, 3});
  CHECK(part.more);
  CHECK(desk.read(*viewer, {.after = 5}).numbers.empty());
  // The number of a line of an earlier server.
  CHECK(desk.read(*viewer, {.after = 6}).numbers.size() == 5);
  // All lines of one second but the first hundred are lost.
  for (int i = 0; i < 150; ++i) desk.world.registry.push(desk.orc, arena::Damage{});
  desk.write(60);
  const session::LogLines later = desk.read(*viewer, {.after = 5});
  CHECK(later.lost > 0);
  std::uint64_t lost = 0;
  for (const std::uint64_t before : later.lost_before) lost += before;
  CHECK(lost == later.lost);
}

TEST_CASE("a follower is sent each line once, in order, until it leaves") {
  Desked desk;
  const auto viewer = desk.world.join("viewer", session::Role::view), other = desk.world.join("other");
  desk.write(3);
  // The answer has at most two lines. The others are told.
  const std::vector<Received> frames = desk.world.answers(*viewer, session::ReadLog{.limit = 2, .follow = 1});
  REQUIRE(frames.size() == 2);
  CHECK(session::read<session::LogLines>(frames[0].batch()).numbers == std::vector<std::uint64_t>{1, 2});
  CHECK(frames[1].header.request == 0);
  CHECK(session::read<session::LogLines>(frames[1].batch()).numbers == std::vector<std::uint64_t>{3});
  desk.world.flush();
  CHECK(desk.told(*viewer).empty());
  desk.write(5);
  desk.world.flush();
  const auto news = desk.told(*viewer);
  std::vector<std::uint64_t> numbers;
  for (const session::LogLines& page : news) {
    CHECK(page.numbers.size() <= 2);
    numbers.insert(numbers.end(), page.numbers.begin(), page.numbers.end());
  }
  CHECK(numbers == std::vector<std::uint64_t>{4, 5, 6, 7, 8});
  CHECK(desk.told(*other).empty());
  // A session that follows again is told once.
  CHECK(desk.read(*viewer, {.after = 8, .follow = 1}).numbers.empty());
  desk.write(1);
  desk.world.flush();
  CHECK(desk.told(*viewer).size() == 1);
  desk.world.desk->leave(*viewer->connection());
  desk.world.settle();
  desk.write(1);
  desk.world.flush();
}

TEST_CASE("a follower that does not read misses lines that are not kept, and their numbers tell") {
  Desked desk;
  const auto slow = desk.world.join("slow", session::Role::view, {.control_bytes_max = 64u << 10});
  CHECK(desk.read(*slow, {.follow = 1}).numbers.empty());
  for (int i = 0; i < 60; ++i) {
    desk.write(1000);
    desk.world.flush();
  }
  std::uint64_t last = 0;
  bool gap = false;
  for (int i = 0; i < 100 && last < 60'000; ++i) {
    for (const session::LogLines& page : desk.told(*slow)) {
      for (const std::uint64_t number : page.numbers) {
        CHECK(number > last);
        gap |= number != last + 1;
        last = number;
      }
    }
    desk.world.flush();
  }
  CHECK(last == 60'000);
  CHECK(gap);
}

}  // namespace log_questions_test
