// The thread that writes: work in order, and steps between which work is done.
#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "server/world/journal/write_queue.h"

using namespace muster;

TEST_CASE("between two steps one piece of the work that came meanwhile is done, in order") {
  std::string done;
  std::promise<void> go;
  WriteQueue queue;
  queue.add(1, [&] { done += 'a'; });
  queue.add_steps([&, begun = go.get_future(), left = 3]() mutable {
    if (left == 3) begun.wait();
    done += 's';
    return --left > 0;
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
        return --left > 0;
      });
      queue.drain();
    }
    CHECK(done == "sssttt");
    queue.add_steps([&, left = 5]() mutable {
      done += 'u';
      return --left > 0;
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
    return --left > 0;
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
  queue.add_steps([&] { return --steps > 0; });
  CHECK(after_steps.get_future().get());
  queue.drain();
  CHECK(steps == 0);
  CHECK(times == 2);
}
