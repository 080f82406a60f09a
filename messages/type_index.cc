#include "messages/type_index.h"

#include <algorithm>
#include <bit>

namespace muster {

namespace {
constexpr std::size_t few = 256;       // tables of at most this many types must be free of
                                       // collisions
constexpr std::size_t few_slots = 64;  // slot limit per type in a table with few types
constexpr std::size_t many_run = 64;   // limit on the slots probed by one lookup in a table with
                                       // many types
}  // namespace

bool TypeIndex::put(const TypeDescriptor& type, std::size_t run_max) {
  std::size_t at = slot(type.id);
  for (std::size_t run = 0; run < run_max; ++run, at = (at + 1) & (slots_.size() - 1)) {
    ++steps_;
    if (slots_[at] != nullptr) continue;
    slots_[at] = &type;
    return true;
  }
  return false;
}

bool TypeIndex::fill(std::span<const TypeDescriptor* const> types, std::size_t size, std::uint32_t attempt,
                     std::size_t run_max) {
  if (slots_.size() != size) slots_.assign(size, nullptr);
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(size));
  // an odd multiplier keeps products of distinct ids distinct
  multiplier_ = 0x9e3779b1u + 2 * 0x632be5abu * attempt;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (put(*types[i], run_max)) continue;
    if (run_max == 1)
      for (const TypeDescriptor* placed : types.first(i)) slots_[slot(placed->id)] = nullptr;
    else
      std::ranges::fill(slots_, nullptr);
    return false;
  }
  return true;
}

void TypeIndex::add(std::span<const TypeDescriptor* const> types, std::size_t fresh) {
  // Try multipliers until all ids fit without a collision. If none works, add slots.
  if (types.size() <= few) {
    slots_.clear();
    // In a table with two slots per type, hardly any multiplier fits more than 40 types.
    for (std::size_t size = std::bit_ceil(types.size() * 4 + 2); size <= few_slots * std::bit_ceil(few); size *= 2)
      for (std::uint32_t attempt = 0; attempt < 256; ++attempt)
        if (fill(types, size, attempt, 1)) return;
  } else if (slots_.size() >= types.size() * 2 && types.size() - fresh > few) {
    const auto fits = [&](const TypeDescriptor* type) { return put(*type, many_run); };
    if (std::ranges::all_of(types.last(fresh), fits)) return;
  }
  slots_.clear();
  // Names can be chosen so that their ids collide under one multiplier, but not so that they
  // collide under many multipliers.
  for (std::size_t size = std::bit_ceil(types.size() * 4);; size *= 2)
    for (std::uint32_t attempt = 0; attempt < 16; ++attempt)
      if (fill(types, size, attempt, many_run)) return;
}

}  // namespace muster
