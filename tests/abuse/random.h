// Random numbers of a fixed seed (splitmix64), the same on every machine, and sizes from tiny to a limit.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::abuse {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 .. end - 1; 0 where end is 0.
  std::uint64_t below(std::uint64_t end) { return end ? next() % end : 0; }
  std::uint32_t small(std::uint32_t end) { return static_cast<std::uint32_t>(below(end)); }
  bool percent(std::uint64_t of_hundred) { return below(100) < of_hundred; }
  /// 1 .. max: mostly tiny, each power of two about as often as the next, now and then the limit itself.
  std::uint32_t size(std::uint32_t max) {
    if (max <= 1 || percent(50)) return 1 + small(max < 8 ? max : 8);
    if (percent(4)) return max;
    std::uint64_t end = 8;
    while (end < max && percent(70)) end *= 2;
    return 1 + small(static_cast<std::uint32_t>(end < max ? end : max));
  }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace muster::abuse
