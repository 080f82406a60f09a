#include "schema/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace muster {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  std::iota(old.begin(), old.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], older[j - 2] + 1);
    }
    older.swap(old);
    old.swap(now);
  }
  return old.back();
}

}  // namespace muster
