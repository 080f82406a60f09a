// How large the journal is behind the last save, and what that asks for: it would grow for ever where nothing saves the world.
#pragma once

#include <cstdint>

namespace muster {

/// Of the records, in bytes. One thread.
class JournalSize {
 public:
  /// 0: as many as come.
  explicit JournalSize(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  void add(std::uint64_t bytes) noexcept {
    bytes_ += bytes;
    since_begun_ += bytes;
  }
  /// What is there goes with this save, if it succeeds.
  void save_begun() noexcept { since_begun_ = 0; }
  void save_succeeded() noexcept { bytes_ = since_begun_; }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// At four fifths of what is allowed: early enough that a save is over before it is full.
  bool wants_save() const noexcept { return is_much(bytes_); }
  /// Whether so many bytes are four fifths of what is allowed, or more.
  bool is_much(std::uint64_t bytes) const noexcept { return bytes_max_ > 0 && bytes >= bytes_max_ - bytes_max_ / 5; }
  bool is_full() const noexcept { return bytes_max_ > 0 && bytes_ >= bytes_max_; }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t since_begun_ = 0;  // those that came since the last save was begun
};

}  // namespace muster
