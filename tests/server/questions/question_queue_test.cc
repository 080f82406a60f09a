// Whose question is worked on next, for how long, and what is counted of it.
#include "server/questions/question_queue.h"
#include "tests/server/made_session.h"
#include "tests/support/all_threads.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace question_queue_test {

using namespace muster;

namespace {

/// A question whose batch says nothing: its request decides what becomes of it. It needs `needs` steps, and then what `last` says.
struct Work {
  std::uint64_t needs = 1;
  Inquiry::Progress last = Inquiry::Progress::done;
};

struct Asking final : Inquiry {
  Asking(Work& of, std::string& to, char name) : work(of), log(to), letter(name) {}
  Progress go_on(Steps& steps) override {
    while (work.needs > 0) {
      if (!steps.left()) return Progress::again;
      steps.spend(1);
      --work.needs;
    }
    log += letter;
    return work.last;
  }
  Work& work;
  std::string& log;
  const char letter;
};

struct Hall {
  std::map<std::uint64_t, Work> works;
  std::string log, begun;
  std::uint64_t time_ns = 0;
  QuestionQueue queue{[this](const Question& question) {
                        const char letter = static_cast<char>('a' + question.request);
                        begun += letter;
                        return std::make_unique<Asking>(works[question.request], log, letter);
                      },
                      [this] { return time_ns; }};
  static std::shared_ptr<Session> session() { return testing::made_session(); }
  void ask(const std::shared_ptr<Session>& from, std::uint64_t request, Work work = {}) {
    works[request] = work;
    const std::vector<std::byte> batch(64);
    REQUIRE(from->requests.put(batch, request, false));
    REQUIRE(from->requests.front());
    ++from->open_questions;
    queue.add({from, request, from->requests.take()});
  }
};

}  // namespace

TEST_CASE("questions of a session are answered in their order, and counted until they are", "[questions]") {
  Hall hall;
  const auto one = Hall::session(), other = Hall::session();
  hall.queue.work(100);
  CHECK(hall.queue.counters().slices == 0);
  for (std::uint64_t i = 0; i < 3; ++i) hall.ask(one, i);
  hall.ask(other, 3);
  CHECK(hall.queue.size() == 4);
  CHECK(one->open_questions == 3);
  CHECK(one->requests.bytes() == 3 * 64);
  hall.queue.work(100);
  CHECK(hall.log == "abcd");
  CHECK(hall.queue.size() == 0);
  CHECK_FALSE(hall.queue.can_go_on());
  CHECK_FALSE(hall.queue.waits_for_time());
  CHECK(one->open_questions == 0);
  CHECK(other->open_questions == 0);
  CHECK(one->requests.bytes() == 0);
  CHECK(hall.queue.counters().answered == 4);
  CHECK(hall.queue.counters().slices == 1);
  // For each: that it was looked at, its bytes, and what it needs.
  CHECK(hall.queue.counters().steps == 4 * (1 + 2 + 1));
  CHECK(hall.queue.counters().slice_steps_max == 4 * (1 + 2 + 1));
  hall.ask(one, 4);
  hall.queue.work(100);
  CHECK(hall.queue.counters().slices == 2);
  CHECK(hall.queue.counters().steps == 5 * 4);
  CHECK(hall.queue.counters().slice_steps_max == 4 * 4);
}

TEST_CASE("a slice is as many steps as it may be, and the next goes on where it ended", "[questions]") {
  Hall hall;
  const auto one = Hall::session();
  hall.ask(one, 0, {.needs = 1000});
  hall.queue.work(104);
  CHECK(hall.works[0].needs == 1000 - 101);
  CHECK(hall.queue.can_go_on());
  CHECK(hall.queue.counters().steps == 104);
  CHECK(hall.begun == "a");
  hall.queue.work(100);
  CHECK(hall.works[0].needs == 1000 - 101 - 99);
  CHECK(hall.begun == "a");
  CHECK(hall.queue.counters().answered == 0);
}

TEST_CASE("sessions take turns: whoever was given least is next, and who comes begins where the others are",
          "[questions]") {
  Hall hall;
  const auto one = Hall::session(), other = Hall::session(), late = Hall::session();
  for (std::uint64_t i = 0; i < 4; ++i) hall.ask(one, i, {.needs = 3000});
  hall.ask(other, 4, {.needs = 5000});
  hall.queue.work(2000);
  CHECK(hall.works[0].needs < 3000);
  CHECK(hall.works[4].needs == 5000);
  hall.queue.work(2000);
  CHECK(hall.works[4].needs < 5000);
  for (int i = 0; i < 3; ++i) hall.queue.work(2000);
  hall.ask(late, 5, {.needs = 1500});
  // It owes nothing and is owed nothing: each of the others has one turn before it at most.
  for (int i = 0; i < 3; ++i) hall.queue.work(2000);
  CHECK(hall.works[5].needs == 0);
  for (int i = 0; i < 20; ++i) hall.queue.work(2000);
  CHECK(hall.log.size() == 6);
  // In one slice there are several turns.
  Hall many;
  std::vector<std::shared_ptr<Session>> sessions;
  for (std::uint64_t i = 0; i < 4; ++i) {
    sessions.push_back(Hall::session());
    many.ask(sessions.back(), i, {.needs = 10'000});
  }
  many.queue.work(8000);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(many.works[i].needs < 10'000);
}

TEST_CASE("who waits for room, for somebody else or for a time is passed over until the next slice", "[questions]") {
  using Progress = Inquiry::Progress;
  for (const Progress waits : {Progress::room, Progress::elsewhere, Progress::later}) {
    Hall hall;
    const auto one = Hall::session(), other = Hall::session();
    hall.ask(one, 0, {.last = waits});
    hall.ask(one, 1);
    hall.ask(other, 2);
    hall.queue.work(1000);
    CHECK(hall.log == "ac");  // what stands behind it waits too
    CHECK_FALSE(hall.queue.can_go_on());
    CHECK(hall.queue.waits_for_time() == (waits == Progress::later));
    CHECK(hall.queue.counters().answered == 1);
    CHECK(hall.queue.size() == 2);
    hall.works[0].last = Progress::done;
    hall.queue.work(1000);
    CHECK(hall.log == "acab");
    CHECK_FALSE(hall.queue.waits_for_time());
    CHECK(hall.queue.size() == 0);
  }
}

TEST_CASE("a session that ends takes its questions along; one whose client hears nothing is not worked for",
          "[questions]") {
  Hall hall;
  const auto one = Hall::session(), other = Hall::session();
  hall.ask(one, 0, {.needs = 500});
  hall.ask(one, 1);
  hall.ask(other, 2);
  hall.queue.work(100);
  hall.queue.drop(*one);
  CHECK(one->open_questions == 0);
  CHECK(one->requests.bytes() == 0);
  CHECK(hall.queue.size() == 1);
  hall.queue.work(100);
  CHECK(hall.log == "c");
  hall.ask(other, 3);
  hall.ask(other, 4);
  other->outgoing()->close();
  hall.queue.work(100);
  CHECK(hall.log == "c");
  CHECK(hall.queue.size() == 0);
  CHECK(other->open_questions == 0);
  CHECK(other->requests.bytes() == 0);
  CHECK(hall.queue.counters().answered == 1);
}

TEST_CASE("what takes longer than its steps counts by its time, and others are let in between turns", "[questions]") {
  Hall hall;
  const auto one = Hall::session(), other = Hall::session();
  for (std::uint64_t i = 0; i < 5; ++i) hall.ask(one, i);
  hall.ask(other, 5);
  struct Slow final : Inquiry {
    Slow(Hall& of, char name) : hall(of), letter(name) {}
    Progress go_on(Steps&) override {
      hall.time_ns += 300'000;  // 3000 steps
      hall.log += letter;
      return Progress::done;
    }
    Hall& hall;
    const char letter;
  };
  Hall slow;
  QuestionQueue queue(
      [&](const Question& q) { return std::make_unique<Slow>(slow, static_cast<char>('a' + q.request)); },
      [&] { return slow.time_ns; });
  const auto add = [&](const std::shared_ptr<Session>& from, std::uint64_t request) {
    ++from->open_questions;
    queue.add({from, request, std::vector<std::byte>(64)});
  };
  const auto a = Hall::session(), b = Hall::session();
  for (std::uint64_t i = 0; i < 4; ++i) add(a, i);
  add(b, 4);
  int between = 0;
  queue.work(5000, [&] { ++between; });
  CHECK(slow.log == "ae");  // a turn each, and then the time is over
  CHECK(between == 2);
  CHECK(queue.can_go_on());
  queue.work(5000);
  CHECK(slow.log == "aebc");
  // Between two turns somebody may ask.
  queue.work(20'000, [&, first = true]() mutable {
    if (std::exchange(first, false)) add(b, 5);
  });
  CHECK(slow.log == "aebcfd");
}

}  // namespace question_queue_test
