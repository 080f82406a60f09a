// What entities have whose archetype has more: who lacks an enableable component.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/watches/look.h"

namespace muster {

/// Finds what the rows of a chunk have, and remembers it: equal rows of an archetype have one and the same kind. Watch thread only.
class LesserKinds {
 public:
  /// A component that rows may lack, and what each row of the chunk says of it.
  struct Said {
    TypeId type = 0;
    std::vector<PresenceWord> rows;
  };
  /// `said` has one at least, ascending by type; all have as many rows. Null: all rows have the whole.
  std::shared_ptr<const SeenKinds::Each> of_rows(const std::shared_ptr<const SeenKind>& whole,
                                                 std::span<const Said> said);
  /// Lets go of kinds that nobody is of any more, where there are many.
  void forget_unused();
  void clear() { *this = {}; }
  std::size_t size() const noexcept { return known_.size(); }

 private:
  std::shared_ptr<const SeenKind> of_row(const std::shared_ptr<const SeenKind>& whole, std::span<const Said> said,
                                         std::uint32_t row);

  std::map<std::pair<std::uint32_t, std::vector<TypeId>>, std::shared_ptr<const SeenKind>>
      known_;                           // by archetype's number
  std::size_t used_ = 0;                // when they were counted last
  std::uint32_t next_ = 1u << 31;       // number of the next: above those of archetypes
  std::vector<std::uint32_t> next_of_;  // scratch
  std::vector<TypeId> types_;           // scratch
};

}  // namespace muster
