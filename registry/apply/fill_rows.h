// Fills adjacent rows with the same value, and copies the ids of new rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "registry/storage/storage.h"
#include "schema/builtin.h"

namespace muster {

/// Writes `value` `count` times, starting at `to`. If `asks` is true, prefetches memory 2 KiB
/// ahead. Writes the values in groups that fill whole registers, because compilers split the store
/// of a single 12-byte value into two.
template <bool asks, class Value>
  requires std::is_trivially_copyable_v<Value>
void fill_rows(std::byte* to, const Value& value, std::size_t count) noexcept {
  constexpr std::size_t group = std::lcm(sizeof(Value), 16u) / sizeof(Value);
  if constexpr (group * sizeof(Value) <= 128) {
    struct Values {
      std::byte all[group * sizeof(Value)];
    } together;
    for (std::size_t i = 0; i < group; ++i) std::memcpy(together.all + i * sizeof(Value), &value, sizeof(Value));
    for (; count >= group; count -= group, to += sizeof(Values)) {
      if constexpr (asks) __builtin_prefetch(to + 2048, 1);
      std::memcpy(to, &together, sizeof(Values));
    }
  }
  for (; count != 0; --count, to += sizeof(Value)) std::memcpy(to, &value, sizeof(Value));
}

/// Collects runs of rows in several chunks, so that their columns can be filled one after another:
/// each column is written in all of the chunks before the next column is started. If chunks were
/// created between columns, the processor would have to restart its prefetching for each chunk.
class RunsTogether {
 public:
  std::span<const Storage::Run> all() const noexcept { return {runs_.data(), count_}; }
  /// Repeatedly calls create() with the number of rows left. Each call returns a run of new rows in
  /// a single chunk. Stops after `rows` rows or after a limited number of chunks. Then calls fill()
  /// to fill the rows, even if create() throws. Returns the number of rows created.
  template <class Create, class Fill>
  std::size_t create(std::size_t rows, Create create, Fill fill) {
    count_ = 0;
    std::size_t left = rows;
    try {
      while (count_ != runs_.size() && left != 0) {
        runs_[count_] = create(left);
        left -= runs_[count_++].count;
      }
    } catch (...) {
      fill();
      throw;
    }
    fill();
    return rows - left;
  }

 private:
  std::array<Storage::Run, 16> runs_;
  std::size_t count_ = 0;
};

/// Appends `count` ids to `made`, which must have enough capacity. Copies each chunk's ids one by
/// one. For this size, the library would use the processor's string-copy instruction, which is
/// slower.
inline void append_ids(std::vector<Entity>& made, const Entity* ids, std::size_t count) {
  struct OneByOne {
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entity;
    using difference_type = std::ptrdiff_t;
    using pointer = const Entity*;
    using reference = const Entity&;
    const Entity* at;
    const Entity& operator*() const noexcept { return *at; }
    OneByOne& operator++() noexcept { return ++at, *this; }
    OneByOne operator++(int) noexcept { return {at++}; }
    bool operator==(const OneByOne&) const noexcept = default;
  };
  made.insert(made.end(), OneByOne{ids}, OneByOne{ids + count});
}

}  // namespace muster
