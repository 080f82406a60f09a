// All types by id: a power of two of slots, looked through from the one that an id is spread to. Of up to a few hundred types
// no two meet, so that a look-up is one probe; of more, few do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

class TypeIndex {
 public:
  const TypeDescriptor* find(TypeId id) const noexcept {
    for (std::size_t at = slot(id);; at = (at + 1) & (slots_.size() - 1)) {
      const TypeDescriptor* const found = slots_[at];
      if (found == nullptr || found->id == id) return found;
    }
  }
  /// `types` are all there are, with distinct ids, of which the last `fresh` are not in it yet.
  void add(std::span<const TypeDescriptor* const> types, std::size_t fresh);

  std::size_t slots() const noexcept { return slots_.size(); }
  /// Slots looked at to put types into it: what growth is tested by.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::size_t slot(TypeId id) const noexcept { return (id * multiplier_) >> shift_; }
  /// Of all types; `run_max` is how many slots an id may need at most. False, and empty: they do not fit so.
  bool fill(std::span<const TypeDescriptor* const> types, std::size_t size, std::uint32_t attempt, std::size_t run_max);
  bool put(const TypeDescriptor& type, std::size_t run_max);

  std::vector<const TypeDescriptor*> slots_ = {nullptr, nullptr};
  std::uint32_t multiplier_ = 1;
  unsigned shift_ = 31;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
