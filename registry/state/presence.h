// What saved rows say of components that they may lack.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

/// To be called once all columns of a chunk were read. Values of components that a row lacks are all zero from then on, whatever was
/// saved. False: a presence column says neither yes nor no.
[[nodiscard]] bool settle_presence(Chunk& chunk) noexcept;

/// Rows that lack a component which was enableable when they were saved and is not any more: they go to archetypes without it.
class LackedComponents {
 public:
  /// `says`: the presence column as it was saved, of as many rows as the chunk has.
  void add(Chunk& chunk, std::span<const std::byte> says, TypeId component);
  /// Once all columns were read: gives these rows values that are good, so that nothing is to be put right of what is not there.
  void fill() const noexcept;
  /// Once all rows have their entities. Rows move.
  void take(Storage& storage);

 private:
  std::vector<std::pair<Row, TypeId>> rows_;
};

}  // namespace muster
