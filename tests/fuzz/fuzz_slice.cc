// A slice of any bytes is read or refused, and what is read can be replayed. So that the fuzzer
// gets further than the checksum, the bytes are tried again with their own.
#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "server/world/replay/replay.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

Handlers install(EntityRegistry& r) {
  return {r.subscribe("hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          r.subscribe("grow", [](const Update&, game::Health& health) { ++health.value; })};
}

void try_bytes(const std::vector<std::byte>& bytes) {
  const auto slice = decode_slice(bytes);
  if (!slice) return;
  if (encode(*slice) != bytes) __builtin_trap();
  (void)replay("fuzz", *slice, install, {.check = true, .any_code = true});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(given.begin(), given.end());
  try_bytes(bytes);
  if (size < 40) return 0;
  const std::uint64_t whole = size;
  std::memcpy(bytes.data() + 16, &whole, sizeof whole);
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size() - sizeof sum));
  std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  try_bytes(bytes);
  return 0;
}
