// What the limits of rows and messages are written over: plain arrays, ids checked by generation.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "bench/support.h"

namespace bench {

/// What the limits keep: ids checked by generation, rows in plain arrays.
struct PlainSlot {
  std::uint32_t generation, row;
};

// --- rows ---

constexpr std::uint32_t many = 20'000;  ///< whose rows fit a core's own cache
constexpr Position some_position{1, 2, 3, 4};
constexpr Velocity some_velocity{1, 2};
constexpr Mass some_mass{1, 2};

/// Rows in plain arrays, large enough, and the directory by id.
struct PlainRows {
  std::uint32_t room;
  std::vector<PlainSlot> slots;
  std::vector<muster::Entity> ids, parents, made;
  std::vector<Position> positions;
  std::vector<Velocity> velocities;
  std::vector<Mass> masses;
  std::vector<Extra> extras;
  std::uint32_t count = 0;
  explicit PlainRows(std::uint32_t rows = many)
      : room(rows),
        slots(rows),
        ids(rows),
        parents(rows),
        made(rows),
        positions(rows),
        velocities(rows),
        masses(rows),
        extras(rows) {}
  void make_ids(std::uint32_t generation) {
    PlainSlot* const slot = slots.data();
    muster::Entity *const id = ids.data(), *const out = made.data();
    for (std::uint32_t i = 0; i < room; ++i) {
      slot[i] = {generation, i};
      id[i] = {i, generation};  // not one copied from the other: reading back two halves just stored stalls
      out[i] = {i, generation};
    }
  }
  void fill() {
    for (count = 0; count < room; ++count) {
      slots[count] = {1, count};
      ids[count] = {count, 1};
      made[count] = {count, 1};
      positions[count] = some_position;
      velocities[count] = some_velocity;
      masses[count] = some_mass;
    }
  }
};

// --- messages ---

/// Ten thousand entities fit the cache, a million do not.
template <std::uint32_t count, bool random>
struct PlainTargets {
  std::vector<PlainSlot> slots = std::vector<PlainSlot>(count);
  std::vector<Mass> masses = std::vector<Mass>(count);
  std::vector<muster::Entity> entities = std::vector<muster::Entity>(count);
  PlainTargets() {
    const auto order = shuffled(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      slots[i] = {1, i};
      entities[i] = {random ? order[i] : i, 1};
    }
  }
};

struct PlainRecord {
  muster::Entity target;
  Hit hit;
  std::uint32_t pad;
};

/// Records are appended one by one, as messages come.
class Stream {
 public:
  explicit Stream(std::size_t room) : records_(room), write_(records_.data()), limit_(write_ + room) {}
  void clear() { write_ = records_.data(); }
  void push(const PlainRecord& record) {
    if (write_ == limit_) std::abort();
    *write_++ = record;
    benchmark::ClobberMemory();
  }
  std::span<const PlainRecord> all() const { return {records_.data(), write_}; }

 private:
  std::vector<PlainRecord> records_;
  PlainRecord *write_, *limit_;
};

}  // namespace bench
