#include "registry/moments/fresh_memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace muster {
namespace {

// Zero is what fresh memory usually holds. The other byte makes every integer, every floating-point
// number (12.07f, 2261634.5) and every truth value another one.
unsigned char byte_of(std::uint32_t number) noexcept { return number % 2 == 0 ? 0x00 : 0x41; }

/// Allocates, fills and frees blocks of one size.
template <std::size_t count>
void fill_blocks(std::size_t bytes, std::uint32_t number) noexcept {
  std::array<void*, count> blocks;
  for (void*& block : blocks) {
    block = std::malloc(bytes);
    if (!block) continue;
    std::memset(block, byte_of(number), bytes);
    asm volatile("" : : "r"(block) : "memory");  // the bytes are used
  }
  if (number % 2 == 0)
    std::ranges::sort(blocks, std::less<>());
  else
    std::ranges::sort(blocks, std::greater<>());
  for (void* const block : blocks) std::free(block);
}

// Allocators round sizes up to such steps.
constexpr std::size_t step = 16, small = 136, middle = 1032;

}  // namespace

void FreshMemory::prepare() const noexcept {
  for (const std::size_t bytes : {100'000, 30'000, 8'000, 4'000, 2'000}) fill_blocks<2>(bytes, number_);
  for (std::size_t bytes = 24; bytes <= middle; bytes += step) fill_blocks<8>(bytes, number_);
}

void FreshMemory::before_call() const noexcept {
  for (std::size_t bytes = 24; bytes <= small; bytes += step) fill_blocks<2>(bytes, number_);
}

void FreshMemory::fill_stack() const noexcept {
  std::array<unsigned char, 8192> bytes;
  std::memset(bytes.data(), byte_of(number_), bytes.size());
  asm volatile("" : : "r"(bytes.data()) : "memory");
}

}  // namespace muster
