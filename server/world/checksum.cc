#include "server/world/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstdio>

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are hashed as they are in memory");

struct RowRecord {
  std::uint32_t section, column;
  std::uint64_t key, version, checkpoint;
};
static_assert(sizeof(RowRecord) == 32);

struct DigestRecord {
  RowRecord row;
  std::uint64_t checksum, length;
};
static_assert(sizeof(DigestRecord) == 48);

RowRecord record(const RowStamp& stamp) noexcept {
  return {static_cast<std::uint32_t>(stamp.key.section), stamp.key.column, stamp.key.key, stamp.version,
          stamp.checkpoint};
}

XXH128_hash_t row_digest(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept {
  const DigestRecord whole{record(stamp), checksum, length};
  return XXH3_128bits(&whole, sizeof whole);
}

}  // namespace

std::uint64_t row_checksum(const RowStamp& stamp, std::span<const std::byte> bytes) noexcept {
  const RowRecord place = record(stamp);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(&place, sizeof place));
}

std::uint64_t text_checksum(std::string_view text) noexcept { return XXH3_64bits(text.data(), text.size()); }

void StateDigest::add(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept {
  const XXH128_hash_t digest = row_digest(stamp, checksum, length);
  low += digest.low64;
  high += digest.high64;
  ++rows;
}

void StateDigest::remove(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept {
  const XXH128_hash_t digest = row_digest(stamp, checksum, length);
  low -= digest.low64;
  high -= digest.high64;
  --rows;
}

void StateDigest::add(const StateDigest& other) noexcept {
  low += other.low;
  high += other.high;
  rows += other.rows;
}

std::string StateDigest::text() const {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return digits;
}

}  // namespace muster
