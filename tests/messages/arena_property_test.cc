// Random programs on an arena and on a plain list: short queues over small segments, batches of all sizes up to several
// segments, every way to take them out; and what may be read when.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "messages/arena.h"
#include "tests/messages/plain_messages.h"
#include "tests/support/seeds.h"

namespace {

using namespace muster;
using namespace ::test;

/// Whether any of the bytes may not be read, where that can be asked.
bool any_poisoned([[maybe_unused]] const std::byte* at, [[maybe_unused]] std::size_t bytes) {
#ifdef MUSTER_ASAN
  return __asan_region_is_poisoned(const_cast<std::byte*>(at), bytes) != nullptr;
#else
  return false;
#endif
}
/// Whether all that was popped may not be read any more. Without AddressSanitizer nobody knows.
bool all_poisoned([[maybe_unused]] const std::byte* at, [[maybe_unused]] std::size_t bytes) {
#ifdef MUSTER_ASAN
  for (std::size_t i = 0; i < bytes; i += 8)
    if (!__asan_address_is_poisoned(at + i)) return false;
#endif
  return true;
}

struct Range {
  const std::byte* at;
  std::size_t bytes;
};

/// An arena, the messages that it must hold, and where its sealed batches lie: they may not move.
class Program {
 public:
  Program(std::uint64_t seed, std::size_t segment_bytes, std::size_t short_queue)
      : random_(static_cast<std::uint32_t>(seed)),
        segment_bytes_(segment_bytes),
        arena_(segment_bytes),
        other_(1024),
        short_(short_queue) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      // Mostly near empty: segments are left, begun again and exchanged all the time.
      if (arena_.batches() > short_) take_out();
      switch (below(16)) {
        case 0: arena_.seal(); break;
        case 1: take_out(); break;
        case 2: large(); break;
        case 3:
          if (below(4) == 0) arena_.set_causes(!arena_.causes());
          break;
        case 4:
          if (below(4) == 0) arena_.trim();
          break;
        case 5:
          if (below(4) == 0) exchange();
          break;
        case 6:
          if (below(8) == 0) {
            arena_.clear();
            list_.clear();
            places_.clear();
          }
          break;
        case 7: one_type(); break;
        case 8:
          if (!arena_.empty()) arena_.front();  // from here on it is neither extended nor moved
          break;
        case 9: cut_back(); break;
        default: append_random(arena_, list_, random_);
      }
      check();
    }
    while (!arena_.empty()) take_out();
    CHECK(list_.empty());
    CHECK(arena_.bytes() == 0);
    // All that is left is a segment that is begun again.
    for (Arena* arena : {&arena_, &other_}) {
      arena->trim();
      CHECK(arena->capacity() <= (arena == &arena_ ? segment_bytes_ : 1024));
    }
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  /// A span of any size, a few bytes to several segments.
  void large() {
    const std::uint32_t scale = 1u << below(11);
    Plain one;
    for (std::uint32_t i = 0, n = 1 + below(scale); i < n; ++i) one.targets.push_back({i + 1, 1});
    const Nudge m{.x = 4, .y = 0, .z = static_cast<float>(scale)};
    one.type = TypeTraits<Nudge>::id;
    one.kind = BatchKind::shared;
    one.payload = bytes_of(m);
    if (arena_.causes()) {
      arena_.set_cause(scale);
      one.causes = {scale};
    }
    arena_.append_shared(one.targets, m);
    list_.push_back(std::move(one));
  }
  /// A run of one type, so that the open batch grows to its segment's end.
  void one_type() {
    Plain one;
    one.type = TypeTraits<Tick>::id;
    one.kind = BatchKind::world;
    if (arena_.causes()) {
      arena_.set_cause(7);
      one.causes = {7};
    }
    for (std::uint32_t i = 0, n = below(200); i < n; ++i) {
      const Tick m{.dt = double(i)};
      arena_.append_world(m);
      one.payload = bytes_of(m);
      list_.push_back(one);
    }
  }
  /// Batches come and are cut off again.
  void cut_back() {
    const Arena::Mark mark = arena_.mark();
    const std::deque<Plain> kept = list_;
    for (std::uint32_t left = below(5); left > 0; --left) {
      switch (below(3)) {
        case 0: large(); break;
        case 1: one_type(); break;
        default: append_random(arena_, list_, random_);
      }
    }
    std::vector<Plain> cut;
    arena_.cut(mark, [&](BatchView batch) { spread(batch, cut); });
    REQUIRE(std::equal(cut.begin(), cut.end(), list_.begin() + static_cast<std::ptrdiff_t>(kept.size()), list_.end()));
    list_ = kept;
  }
  /// All of it goes to another arena with another history and comes back.
  void exchange() {
    const bool causes = arena_.causes();
    arena_.swap(other_);
    const std::size_t before = arena_.batches();
    if (below(2) == 0) arena_.append_world(Tick{});
    if (below(2) == 0) arena_.append_shared(std::vector<Entity>(below(2000) + 1, Entity{1, 1}), Nudge{});
    while (!arena_.empty()) arena_.pop_front();
    CHECK(before == 0);
    arena_.swap(other_);
    CHECK(arena_.causes() == causes);
  }

  void expect(BatchView batch) {
    REQUIRE_FALSE(any_poisoned(batch.bytes().data(), batch.bytes().size()));
    if (!places_.empty() && places_.front().at) REQUIRE(places_.front().at == batch.bytes().data());
    std::vector<Plain> messages;
    spread(batch, messages);
    for (const Plain& message : messages) {
      REQUIRE_FALSE(list_.empty());
      REQUIRE(message == list_.front());
      list_.pop_front();
    }
    if (!places_.empty()) places_.pop_front();
    gone_.push_back({batch.bytes().data(), batch.bytes().size()});
  }

  void take_out() {
    gone_.clear();
    if (arena_.empty()) return;
    const std::size_t count = 1 + below(static_cast<std::uint32_t>(arena_.batches() + 1));
    switch (below(3)) {
      case 0:
        for (std::size_t i = 0; i < count && !arena_.empty(); ++i) {
          expect(arena_.front());
          arena_.pop_front();
        }
        break;
      case 1: {
        arena_.seal();
        const std::size_t before = arena_.batches();
        std::size_t kept = below(4) == 0 ? below(static_cast<std::uint32_t>(count)) : count;
        const std::size_t taken = arena_.take(count, [&](BatchView batch, const std::byte* next) {
          if (kept-- == 0) return false;
          expect(batch);
          if (next) REQUIRE(next == batch.bytes().data() + batch.bytes().size());
          return true;
        });
        REQUIRE(arena_.batches() == before - taken);
        break;
      }
      case 2: {
        std::size_t seen = 0;
        const std::size_t most = std::min(count, arena_.batches());
        const Arena::Place end = arena_.visit(most, [&](BatchView batch) {
          ++seen;
          expect(batch);
          return true;
        });
        REQUIRE(seen == most);
        arena_.seal();
        arena_.drop(most, end);
        break;
      }
    }
    for (const Range& range : gone_) REQUIRE(all_poisoned(range.at, range.bytes));
  }

  void check() {
    std::vector<Plain> all;
    std::size_t bytes = 0, batches = 0;
    std::deque<Range> places;
    std::as_const(arena_).for_each([&](BatchView batch) {
      spread(batch, all);
      REQUIRE_FALSE(any_poisoned(batch.bytes().data(), batch.bytes().size()));
      bytes += batch.bytes().size();
      ++batches;
      places.push_back({batch.bytes().data(), batch.bytes().size()});
    });
    REQUIRE(std::equal(all.begin(), all.end(), list_.begin(), list_.end()));
    REQUIRE(bytes == arena_.bytes());
    REQUIRE(batches == arena_.batches());
    // What was there stays where it was; only the last may have grown.
    for (std::size_t i = 0; i < places_.size(); ++i) {
      REQUIRE(i < places.size());
      // The open one moves where its segment ends before it does.
      if (i + 1 < places_.size() || !last_was_open_) REQUIRE(places_[i].at == places[i].at);
      REQUIRE(((i + 1 == places_.size() && last_was_open_) || places_[i].bytes == places[i].bytes));
      REQUIRE(places_[i].bytes <= places[i].bytes);
    }
    places_ = std::move(places);
    last_was_open_ = arena_.last_is_open();
  }

  std::mt19937 random_;
  std::size_t segment_bytes_;
  Arena arena_, other_;
  std::size_t short_;
  std::deque<Plain> list_;
  std::deque<Range> places_;
  std::vector<Range> gone_;
  bool last_was_open_ = false;
};

}  // namespace

TEST_CASE("an arena of any segment size is a queue, with short queues and batches of all sizes", "[random]") {
  for (const std::uint64_t first : muster::test::seeds("arena programs", 1, 200))
    for (const std::size_t segment_bytes : {1024u, 1088u, 1536u, 4096u, 65536u, 262144u})
      for (const std::size_t short_queue : {0u, 1u, 2u, 5u, 60u}) {
        CAPTURE(first, segment_bytes, short_queue);
        Program(first * 31 + segment_bytes + short_queue, segment_bytes, short_queue).run(400);
      }
}
