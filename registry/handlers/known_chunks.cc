#include "registry/handlers/known_chunks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "registry/storage/storage.h"

namespace muster {

namespace {

void touch_written(Storage& storage, const CallSite& site, Chunk& chunk) {
  std::size_t at = 0;
  for (const Term& term : site.handler->terms) {
    if (term.source != Source::self || !term.value) continue;
    const std::uint16_t column = site.columns[at++];
    if (term.access == Access::write && column != no_column) storage.touch(chunk, column);
  }
}

std::byte* base_of(const CallSite& site, const Chunk& chunk) noexcept {
  const std::uint16_t base = site.handler->known_base;
  const std::uint16_t slot = base == known_ids ? column_ids : base == no_column ? no_column : site.columns[base];
  return slot == no_column ? nullptr : chunk.slots()[slot].data;
}

}  // namespace

const KnownChunk* KnownChunks::learn(Storage& storage, const CallSite& site, Chunk& chunk) {
  if (chunk.number >= size_ && chunk.number < size_max) {
    const std::uint32_t size = std::max(size_min, std::bit_ceil(chunk.number + 1));
    auto grown = std::make_unique<KnownChunk[]>(size);
    std::copy_n(chunks_.get(), size_, grown.get());
    chunks_ = std::move(grown);
    size_ = size;
  }
  KnownChunk& known = chunk.number < size_max ? chunks_[chunk.number] : last_;
  known = {storage.stamp(), &site, &chunk, nullptr};
  if (site.run_known != &run_uncached) {
    touch_written(storage, site, chunk);
    known.base = base_of(site, chunk);
  }
  return &known;
}

}  // namespace muster
