// Collecting what dead entities left behind, a few rows at a time. A cursor walks round the rows:
// after rows / per_call calls everything was looked at once, whatever part of it is dead, and every
// run looks at the same rows.
#pragma once

#include <cstdint>

namespace managers {

/// Looks at `per_call` rows from `cursor` on, wrapping. `dead(row)`; `remove(row)` must fill the
/// hole with the last row. Returns how many were removed.
template <class Count, class Dead, class Remove>
std::uint32_t sweep(std::uint32_t& cursor, std::uint32_t per_call, Count count, Dead dead, Remove remove) {
  std::uint32_t removed = 0;
  for (std::uint32_t i = 0; i < per_call && count() > 0; ++i) {
    if (cursor >= count()) cursor = 0;
    if (!dead(cursor)) {
      ++cursor;
      continue;
    }
    remove(cursor);  // the row that fills the hole is looked at next
    ++removed;
  }
  return removed;
}

}  // namespace managers
