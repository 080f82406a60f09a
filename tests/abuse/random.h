// Random numbers, and sizes from tiny to a limit.
#pragma once

#include "tests/support/random.h"

namespace muster::abuse {

class Random : public test::Random {
 public:
  using test::Random::Random;
  /// 1 .. max: mostly tiny, each power of two about as often as the next, now and then the limit itself.
  std::uint32_t size(std::uint32_t max) {
    if (max <= 1 || percent(50)) return 1 + small(max < 8 ? max : 8);
    if (percent(4)) return max;
    std::uint64_t end = 8;
    while (end < max && percent(70)) end *= 2;
    return 1 + small(static_cast<std::uint32_t>(end < max ? end : max));
  }
};

}  // namespace muster::abuse
