#include "server/figures/figures.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "server/world/time/work_time.h"

namespace muster {

std::uint64_t below_share(const TimeCounts& times, double share) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(static_cast<double>(times.all()) * share));
  std::uint64_t counted = 0;
  for (std::uint32_t i = 0; wanted > 0 && i < TimeCounts::classes; ++i) {
    counted += times.count(i);
    if (counted >= wanted) return std::min(TimeCounts::end_of(i), times.longest_ns());
  }
  return 0;
}

std::uint64_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  pages >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace muster
