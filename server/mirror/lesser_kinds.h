// Defines kinds for entities that lack an enableable component of their archetype.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/mirror/look.h"

namespace muster {

/// Finds and caches the kinds of a chunk's rows. Equal rows of an archetype share one kind. Must be
/// used only on the watch thread.
class LesserKinds {
 public:
  /// A component that rows may lack, and a bit per row of the chunk that tells whether the row has
  /// it.
  struct Said {
    TypeId type = 0;
    std::vector<PresenceWord> rows;
  };
  /// `said` must not be empty and must be in ascending order of type. All entries must have the
  /// same number of rows. Returns null if every row has all components.
  std::shared_ptr<const SeenKinds::Each> of_rows(const std::shared_ptr<const SeenKind>& whole,
                                                 std::span<const Said> said);
  /// Releases the unused kinds if there are many of them.
  void forget_unused();
  void clear() { *this = {}; }
  std::size_t size() const noexcept { return known_.size(); }

 private:
  std::shared_ptr<const SeenKind> of_row(const std::shared_ptr<const SeenKind>& whole, std::span<const Said> said,
                                         std::uint32_t row);

  std::map<std::pair<std::uint32_t, std::vector<TypeId>>, std::shared_ptr<const SeenKind>>
      known_;                           // keyed by archetype number
  std::size_t used_ = 0;                // number of kinds in use when last counted
  std::uint32_t next_ = 1u << 31;       // number of the next kind, above the numbers of all
                                        // archetypes
  std::vector<std::uint32_t> next_of_;  // scratch
  std::vector<TypeId> types_;           // scratch
};

}  // namespace muster
