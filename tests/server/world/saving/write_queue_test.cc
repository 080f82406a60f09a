// The thread that writes: work in order, and steps between which work is done.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "server/world/saving/write_queue.h"

namespace write_queue_test {

using namespace muster;

TEST_CASE("between two steps one piece of the work that came meanwhile is done, in order") {
  std::string done;
  std::promise<void> go;
  WriteQueue queue;
  queue.add(1, [&] { done += 'a'; });
  queue.add_steps([&, begun = go.get_future(), left = 3]() mutable {
    if (left == 3) begun.wait();
    done += 's';
    return --left > 0 ? StepResult::more : StepResult::over;
  });
  queue.add(1, [&] { done += 'b'; });
  queue.add(1, [&] { done += 'c'; });
  go.set_value();
  queue.drain();
  CHECK(done == "asbscs");
  CHECK(queue.is_idle());
}

TEST_CASE("steps go on where nothing else comes; a queue that ends does all of them, and what came behind") {
  std::string done;
  {
    WriteQueue queue;
    for (const char name : {'s', 't'}) {
      queue.add_steps([&, name, left = 3]() mutable {
        done += name;
        return --left > 0 ? StepResult::more : StepResult::over;
      });
      queue.drain();
    }
    CHECK(done == "sssttt");
    queue.add_steps([&, left = 5]() mutable {
      done += 'u';
      return --left > 0 ? StepResult::more : StepResult::over;
    });
    queue.add(1, [&] { done += 'b'; });
  }
  CHECK(done.size() == 12);
  CHECK(std::ranges::count(done, 'u') == 5);
  CHECK(std::ranges::count(done, 'b') == 1);
}

TEST_CASE("steps that are being done keep nobody from handing over work") {
  std::promise<void> begun, go;
  WriteQueue queue;
  queue.add_steps([&, wait = go.get_future(), left = 2]() mutable {
    if (left == 2) {
      begun.set_value();
      wait.wait();
    }
    return --left > 0 ? StepResult::more : StepResult::over;
  });
  begun.get_future().wait();
  CHECK(queue.is_idle());
  bool written = false;
  queue.add(1, [&] { written = true; });
  CHECK_FALSE(queue.is_idle());
  go.set_value();
  queue.drain();
  CHECK(written);
}

TEST_CASE("whoever is told that work is over finds it over, and after steps is told once") {
  std::promise<bool> after_work, after_steps;
  WriteQueue* told = nullptr;
  int times = 0, steps = 3;
  WriteQueue queue(WriteQueue::bytes_max_default,
                   [&] { (++times == 1 ? after_work : after_steps).set_value(told->is_idle()); });
  told = &queue;
  queue.add(1, [] {});
  CHECK(after_work.get_future().get());
  queue.add_steps([&] { return --steps > 0 ? StepResult::more : StepResult::over; });
  CHECK(after_steps.get_future().get());
  queue.drain();
  CHECK(steps == 0);
  CHECK(times == 2);
}

TEST_CASE("a step that waits is called when other work was done or it may go on, and not before") {
  std::atomic<int> calls = 0, works = 0;
  std::atomic<bool> may = false;
  WriteQueue queue;
  queue.add_steps([&] {
    ++calls;
    return may ? StepResult::over : StepResult::wait;
  });
  while (calls == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(calls == 1);
  queue.add(1, [&] { ++works; });
  while (calls < 2) std::this_thread::yield();
  CHECK(works == 1);
  queue.go_on();
  while (calls < 3) std::this_thread::yield();
  may = true;
  queue.go_on();
  queue.drain();
  CHECK(calls == 4);
}

TEST_CASE("who may go on while it is about to wait does not wait, also where the queue ends") {
  for (int times = 0; times < 200; ++times) {
    std::atomic<bool> may = false;
    std::thread other;
    {
      WriteQueue queue;
      queue.add_steps([&] { return may ? StepResult::over : StepResult::wait; });
      other = std::thread([&] {
        may = true;
        queue.go_on();
      });
      other.join();
    }
    CHECK(may);
  }
}

TEST_CASE("a step that may go on while it is being done is called again, though it says that it waits") {
  std::atomic<int> calls = 0;
  WriteQueue queue;
  queue.add_steps([&] {
    if (++calls > 1) return StepResult::over;
    queue.go_on();
    return StepResult::wait;
  });
  for (int ms = 0; ms < 10'000 && calls < 2; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(calls == 2);
  queue.go_on();
}

}  // namespace write_queue_test
