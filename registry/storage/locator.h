// The place of an entity's row in 32 bits: the number of a chunk and a row within it. For an id
// without a row, the bits contain the reason why there is no row.
//
//   row      | 0 | chunk number 21 | row 10 |
//   no row   | 1 | IdState 31               |
#pragma once

#include <cstdint>

namespace muster {

/// The possible states of an id that does not have a row.
enum class IdState : std::uint32_t {
  free = 0,      ///< the index is in the FIFO, has never been granted, or is retired
  reserved = 1,  ///< issued by this registry, but its Create has not been delivered yet
  granted = 2,   ///< given to another thread or a session

  /// Destroyed by an edit, and kept for it until a ReleaseIds, so that an undo can create the
  /// entity again (registry/apply/edit_log.h).
  parked = 3,
  returned = 4,  ///< never used, from a returned grant; held for the next grant, not in the FIFO
};

/// A 4-byte value, uninitialized by default. Locators with rows are ordered by chunk and then by
/// row, and all of them are less than the locators of ids without rows.
class Locator {
 public:
  static constexpr unsigned row_bits = 10;
  static constexpr std::uint32_t rows_max = 1u << row_bits;  ///< limit per chunk

  /// The bits() of a locator are less than this value if and only if the locator has a row.
  static constexpr std::uint32_t no_row = 0x80000000u;
  static constexpr std::uint32_t chunks_max = no_row >> row_bits;  ///< limit per storage

  Locator() = default;
  /// `chunk` must be less than chunks_max, and `row` must be less than rows_max.
  constexpr Locator(std::uint32_t chunk, std::uint32_t row) noexcept : bits_(chunk << row_bits | row) {}
  constexpr explicit Locator(IdState state) noexcept : bits_(no_row | static_cast<std::uint32_t>(state)) {}
  static constexpr Locator from_bits(std::uint32_t bits) noexcept {
    Locator made(0, 0);
    made.bits_ = bits;
    return made;
  }
  constexpr std::uint32_t bits() const noexcept { return bits_; }

  constexpr bool has_row() const noexcept { return (bits_ & no_row) == 0; }
  /// Requires has_row().
  constexpr std::uint32_t chunk() const noexcept { return bits_ >> row_bits; }
  constexpr std::uint32_t row() const noexcept { return bits_ & (rows_max - 1); }
  /// Requires that the locator has no row.
  constexpr IdState state() const noexcept { return static_cast<IdState>(bits_ & ~no_row); }
  /// True if the id has been issued and its Create is pending.
  constexpr bool can_be_made() const noexcept {
    static_assert(static_cast<std::uint32_t>(IdState::granted) == static_cast<std::uint32_t>(IdState::reserved) + 1);
    return bits_ - Locator(IdState::reserved).bits_ <= 1;
  }

  /// Advances the locator by `rows` rows. The last row of a chunk is followed by the first row of
  /// the chunk with the next number.
  friend constexpr Locator operator+(Locator from, std::uint32_t rows) noexcept { return from_bits(from.bits_ + rows); }
  friend constexpr bool operator==(Locator, Locator) noexcept = default;

 private:
  std::uint32_t bits_;
};
static_assert(sizeof(Locator) == 4);

}  // namespace muster
