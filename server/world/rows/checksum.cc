#include "server/world/rows/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "schema/hex.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are hashed as they are in memory");

struct DigestRecord {
  RowStamp row;
  std::uint64_t checksum, length;
};
static_assert(sizeof(DigestRecord) == 48);

XXH128_hash_t row_digest(const RowStamp& stamp, std::uint64_t checksum, std::uint64_t length) noexcept {
  const DigestRecord whole{stamp, checksum, length};
  return XXH3_128bits(&whole, sizeof whole);
}

}  // namespace

std::uint64_t row_checksum(const RowStamp& stamp, std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(&stamp, sizeof stamp));
}

std::uint64_t text_checksum(std::string_view text) noexcept { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t group_checksum(std::uint64_t before, const GroupStamp& stamp,
                             std::span<const std::byte> records) noexcept {
  XXH3_state_t state{};  // must be initialized, because the reset reads the previous seed
  XXH3_64bits_reset_withSeed(&state, before);
  XXH3_64bits_update(&state, &stamp, sizeof stamp);
  XXH3_64bits_update(&state, records.data(), records.size());
  return XXH3_64bits_digest(&state);
}

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

std::string StateDigest::text() const { return hex(high) + hex(low); }

}  // namespace muster
