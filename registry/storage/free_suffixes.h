// Which of the names "orc~2", "orc~3" ... siblings may still get, for one name. Whoever hands them out asks for the smallest, time after
// time, and names come free anywhere: so the free ones are bits, of which the first is found without asking for all that are taken.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster {

/// Every suffix below end() is taken or was given back. What is taken by others is not known before somebody tried it: take() says so.
class FreeSuffixes {
 public:
  static constexpr std::uint32_t first = 2;
  /// The smallest that may be free.
  std::uint32_t smallest() const noexcept {
    if (given_back_ == 0) return end_;
    std::size_t word = first_word_;
    while (free_[word] == 0) ++word;
    return static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(free_[word]));
  }
  /// smallest() is taken.
  void take() {
    if (given_back_ == 0) {
      if (++end_ > free_.size() * 64) free_.push_back(0);  // now, so that give_back() asks for no memory
      return;
    }
    while (free_[first_word_] == 0) ++first_word_;
    free_[first_word_] &= free_[first_word_] - 1;
    --given_back_;
  }
  void give_back(std::uint32_t suffix) noexcept {
    if (suffix < first || suffix >= end_) return;
    const std::size_t word = suffix / 64;
    const std::uint64_t bit = std::uint64_t{1} << suffix % 64;
    if (free_[word] & bit) return;
    free_[word] |= bit;
    if (given_back_++ == 0 || word < first_word_) first_word_ = word;
  }
  /// Whether a new one knows as much.
  bool empty() const noexcept { return given_back_ == end_ - first; }

 private:
  std::uint32_t end_ = first;
  std::uint32_t given_back_ = 0;
  std::size_t first_word_ = 0;  // no word before it has a bit, where there are any
  std::vector<std::uint64_t> free_;
};

}  // namespace muster
