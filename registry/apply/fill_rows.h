// Fills rows that follow one another with one value, and gives their ids away.
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <vector>

#include "schema/builtin.h"

namespace muster {

/// Writes `value` so many times from `to` on. `asks`: asks for memory 2 KiB ahead.
/// As many values as fill registers are written together: those of 12 bytes, as many vectors are, compilers store half by half.
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

/// Appends so many ids to `made`, which has room for them. Ids of a chunk are written one by one: the processor's own copying, which a
/// library takes for so many bytes, takes longer.
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
