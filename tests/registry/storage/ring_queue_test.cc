#include "registry/storage/ring_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

using namespace muster;

TEST_CASE("a ring queue is a queue, however it wraps and grows") {
  RingQueue<int> ring;
  std::deque<int> queue;
  std::mt19937 random(3);
  CHECK(ring.empty());
  for (int step = 0; step < 3000; ++step) {
    const auto count = static_cast<std::size_t>(random() % 40);
    if (random() % 3 == 0) {
      ring.push_back(step);
      queue.push_back(step);
    } else if (random() % 2 == 0) {
      const auto value = [&](std::size_t i) { return step * 100 + static_cast<int>(i); };
      ring.append(count, value);
      for (std::size_t i = 0; i < count; ++i) queue.push_back(value(i));
    } else if (const std::size_t gone = std::min(count, queue.size())) {
      ring.pop_front(gone);
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    REQUIRE(ring.size() == queue.size());
    std::size_t seen = 0;
    while (seen < ring.size())
      for (const int value : ring.run(seen)) REQUIRE(value == queue[seen++]);
    if (!queue.empty()) REQUIRE(ring.front() == queue.front());
    for (std::size_t i = 0; i < queue.size(); ++i) REQUIRE(ring[i] == queue[i]);
  }
  ring.clear();
  CHECK(ring.empty());
}
