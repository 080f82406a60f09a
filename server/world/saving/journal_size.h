// Counts the journal's bytes since the last save, and decides when a save is needed to limit the
// journal's size.
#pragma once

#include <cstdint>

namespace muster {

/// Counts the bytes of journal records. Must be used by only one thread.
class JournalSize {
 public:
  /// `bytes_max` is the limit, where 0 means unlimited.
  explicit JournalSize(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  void add(std::uint64_t bytes) noexcept {
    bytes_ += bytes;
    since_begun_ += bytes;
  }
  /// Must be called when a save begins. If that save succeeds, the records written before the call
  /// are no longer needed.
  void save_begun() noexcept { since_begun_ = 0; }
  void save_succeeded() noexcept { bytes_ = since_begun_; }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Returns true at 80 % of the limit, which is early enough for a save to finish before the limit
  /// is reached.
  bool wants_save() const noexcept { return is_much(bytes_); }
  /// Returns true if `bytes` is at least 80 % of the limit.
  bool is_much(std::uint64_t bytes) const noexcept { return bytes_max_ > 0 && bytes >= bytes_max_ - bytes_max_ / 5; }
  bool is_full() const noexcept { return bytes_max_ > 0 && bytes_ >= bytes_max_; }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t since_begun_ = 0;  // number of bytes since the last save began
};

}  // namespace muster
