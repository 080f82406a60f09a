// A hash table that maps ids to types, with linear probing and a power-of-two size. Tables of up to
// a few hundred types have no collisions, so a lookup takes one probe. In larger tables, collisions
// are rare.
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
  /// Adds the types in the last `fresh` entries of `types`. `types` must contain all types of the
  /// table, and their ids must be distinct.
  void add(std::span<const TypeDescriptor* const> types, std::size_t fresh);

  std::size_t slots() const noexcept { return slots_.size(); }
  /// Returns the number of slots that add() has probed. Tests use this number to check how the cost
  /// of add() grows with the number of types.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::size_t slot(TypeId id) const noexcept { return (id * multiplier_) >> shift_; }
  /// Fills a table of `size` slots with all types. If an id would need more than `run_max` probes,
  /// returns false and leaves an empty table.
  bool fill(std::span<const TypeDescriptor* const> types, std::size_t size, std::uint32_t attempt, std::size_t run_max);
  bool put(const TypeDescriptor& type, std::size_t run_max);

  std::vector<const TypeDescriptor*> slots_ = {nullptr, nullptr};
  std::uint32_t multiplier_ = 1;
  unsigned shift_ = 31;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
