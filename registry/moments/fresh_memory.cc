#include "registry/moments/fresh_memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace muster {
namespace {

// Not a power of two, so that parts of a value differ from each other.
constexpr std::size_t pattern_period = 7;
constexpr auto fresh_pattern = [] {
  std::array<unsigned char, 8192> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(0x41 + i % pattern_period);
  return bytes;
}();

/// Zero is what fresh memory usually holds. The pattern makes every integer, floating-point number
/// and truth value another one: 781.03f, 1.2e+19.
void fill_fresh(void* to, std::size_t bytes, std::uint32_t number) noexcept {
  if (number % 2 == 0) {
    std::memset(to, 0, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += fresh_pattern.size())
    std::memcpy(static_cast<unsigned char*>(to) + at, fresh_pattern.data(), std::min(bytes - at, fresh_pattern.size()));
}

/// Allocates and fills blocks of these sizes, then frees them all.
template <std::size_t count>
void fill_blocks(const std::array<std::size_t, count>& sizes, std::uint32_t number) noexcept {
  std::array<void*, count> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = std::malloc(sizes[i]);
    if (!blocks[i]) continue;
    fill_fresh(blocks[i], sizes[i], number);
    asm volatile("" : : "r"(blocks[i]) : "memory");  // the bytes are used
  }
  if (number % 2 == 0)
    std::ranges::sort(blocks, std::less<>());
  else
    std::ranges::sort(blocks, std::greater<>());
  for (void* const block : blocks) std::free(block);
}

template <std::size_t count>
void fill_blocks(std::size_t bytes, std::uint32_t number) noexcept {
  std::array<std::size_t, count> sizes;
  sizes.fill(bytes);
  fill_blocks(sizes, number);
}

// Allocators round sizes up to these steps.
constexpr std::size_t block_step = 16, small_block = 136, middle_block = 1032;
// An allocator looks for the smallest gap that is large enough. Blocks of many sizes that exist at
// the same time fill gaps of many sizes.
constexpr std::array<std::size_t, 10> large_blocks{100'000, 64'000, 41'000, 27'000, 18'000,
                                                   12'000,  8'000,  5'000,  3'200,  2'000};

}  // namespace

void FreshMemory::prepare() const noexcept {
  fill_blocks(large_blocks, number_);
  for (std::size_t bytes = 24; bytes <= middle_block; bytes += block_step) fill_blocks<8>(bytes, number_);
}

void FreshMemory::before_call() const noexcept {
  for (std::size_t bytes = 24; bytes <= small_block; bytes += block_step) fill_blocks<2>(bytes, number_);
}

void FreshMemory::fill_stack() const noexcept {
  std::array<unsigned char, fresh_pattern.size()> bytes;
  fill_fresh(bytes.data(), bytes.size(), number_);
  asm volatile("" : : "r"(bytes.data()) : "memory");
}

}  // namespace muster
