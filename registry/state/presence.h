// Determines which components are absent from saved rows.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

class Structure;

/// Must be called once all columns of a chunk have been read. For components that a row does not
/// have, sets the values to zero, regardless of the saved values. Returns false if a presence
/// column contains a value other than 0 or 1.
[[nodiscard]] bool settle_presence(Chunk& chunk) noexcept;

/// Collects the rows that lack a component that was enableable when saved but no longer is. These
/// rows are moved to archetypes without the component.
class LackedComponents {
 public:
  /// `says` is the saved presence column, which has one entry for each row of the chunk.
  void add(Chunk& chunk, std::span<const std::byte> says, TypeId component);
  /// Must be called once all columns have been read. Gives the missing components valid values, so
  /// that they are not reported as corrected.
  void fill() const noexcept;
  /// Moves the rows to archetypes without the component. Must be called once all rows have been
  /// assigned to their entities.
  void take(Structure& structure);

 private:
  std::vector<std::pair<Row, TypeId>> rows_;
};

}  // namespace muster
