// Checks which components saved rows lack.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

class Structure;

/// Must be called once all columns of a chunk were read. Zeroes the values of components that a row
/// lacks, regardless of the saved values. Returns false if a presence column has a value other than
/// 0 and 1.
[[nodiscard]] bool settle_presence(Chunk& chunk) noexcept;

/// Collects rows that lack a component which was enableable when saved but no longer is. These rows
/// move to archetypes without that component.
class LackedComponents {
 public:
  /// `says` is the saved presence column, with one entry per row of the chunk.
  void add(Chunk& chunk, std::span<const std::byte> says, TypeId component);
  /// Must be called once all columns were read. Gives the missing components valid values, so that
  /// they are not reported as corrected.
  void fill() const noexcept;
  /// Moves the rows to archetypes without the component. Must be called once all rows have their
  /// entities.
  void take(Structure& structure);

 private:
  std::vector<std::pair<Row, TypeId>> rows_;
};

}  // namespace muster
