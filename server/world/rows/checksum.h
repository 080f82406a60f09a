// Defines the checksums of a world file, which together cover every byte. The checksum of a row
// covers the row's bytes and key. A digest of all rows makes it possible to detect lost,
// duplicated, and outdated rows.
//
//   row record   0         4        8     16           24        32
//                | section | column | key | checkpoint | removed |          little-endian; removed: 1 of a row without bytes, else 0
//
//   row checksum   XXH3-64 of the bytes, seeded with XXH3-64 of the row record
//   row digest     XXH3-128 of | row record 32 | checksum 8 | length 8 |
//   state digest   the row digests added up, low and high half each modulo 2^64: independent of the rows' order
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "registry/state/state.h"

namespace muster {

/// A row's key and age, that is, all of its properties except its bytes. The struct is hashed as it
/// is laid out in memory.
struct RowStamp {
  std::uint32_t section, column;
  std::uint64_t key, third, fourth;

  /// `checkpoint` is the checkpoint that wrote the row. `removed` marks a row that deletes an older
  /// one.
  static RowStamp of(const StateKey& at, std::uint64_t checkpoint, bool removed = false) noexcept {
    return {static_cast<std::uint32_t>(at.section), at.column, at.key, checkpoint, removed ? 1u : 0u};
  }
  /// Returns the stamp of a row of the table `history`. No row of a state has section 0.
  static RowStamp of_step(std::uint64_t number) noexcept { return {0, 0, number, 0, 0}; }
};
static_assert(sizeof(RowStamp) == 32);

std::uint64_t row_checksum(const RowStamp& stamp, std::span<const std::byte> bytes) noexcept;

/// Returns the XXH3-64 hash of `text`. Used for the tables `meta` and `codes`.
std::uint64_t text_checksum(std::string_view text) noexcept;

/// The data that the checksum of a journal group covers. The checksum is the XXH3-64 hash of these
/// fields:
///
///   0    8       16     24           32          40      48     56      64
///   | id | first | last | first_tick | last_tick | epoch | code | types | records |
///
/// The seed is `before`, the checksum of the previous group, so that missing, duplicated, and
/// reordered groups are detected.
struct GroupStamp {
  std::uint64_t id, first, last, first_tick, last_tick, epoch, code, types;
};
static_assert(sizeof(GroupStamp) == 64);
std::uint64_t group_checksum(std::uint64_t before, const GroupStamp& stamp,
                             std::span<const std::byte> records) noexcept;

struct StateDigest {
  std::uint64_t low = 0, high = 0;
  std::uint64_t rows = 0;

  void add(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept;
  void remove(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept;
  void add(const StateDigest& other) noexcept;
  std::string text() const;  ///< returns 32 hexadecimal digits, high half first
  friend bool operator==(const StateDigest&, const StateDigest&) noexcept = default;
};

}  // namespace muster
