// A small generator of random numbers (splitmix64), the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace muster::test {

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
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace muster::test
