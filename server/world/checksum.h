// What every byte of a world file is checked against: a checksum per row, which covers the row's place too, and a digest
// over all rows, so that a lost, doubled or older row is found although it is whole in itself.
//
//   row record   0         4        8     16        24           32
//                | section | column | key | version | checkpoint |          little-endian
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

/// A row's place and age: everything about it but its bytes.
struct RowStamp {
  StateKey key;
  std::uint64_t version = 0;     ///< the registry's number for the bytes, as given to StateSink::row
  std::uint64_t checkpoint = 0;  ///< the checkpoint that wrote the row
};

std::uint64_t row_checksum(const RowStamp& stamp, std::span<const std::byte> bytes) noexcept;

/// XXH3-64 of a text, for the `meta` table.
std::uint64_t text_checksum(std::string_view text) noexcept;

struct StateDigest {
  std::uint64_t low = 0, high = 0;
  std::uint64_t rows = 0;

  void add(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept;
  void remove(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept;
  void add(const StateDigest& other) noexcept;
  std::string text() const;  ///< 32 hexadecimal digits, high half first
  friend bool operator==(const StateDigest&, const StateDigest&) noexcept = default;
};

}  // namespace muster
