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

/// Allocates, fills and frees blocks of one size.
template <std::size_t count>
void fill_blocks(std::size_t bytes, std::uint32_t number) noexcept {
  std::array<void*, count> blocks;
  for (void*& block : blocks) {
    block = std::malloc(bytes);
    if (!block) continue;
    fill_fresh(block, bytes, number);
    asm volatile("" : : "r"(block) : "memory");  // the bytes are used
  }
  if (number % 2 == 0)
    std::ranges::sort(blocks, std::less<>());
  else
    std::ranges::sort(blocks, std::greater<>());
  for (void* const block : blocks) std::free(block);
}

// Allocators round sizes up to these steps.
constexpr std::size_t block_step = 16, small_block = 136, middle_block = 1032;

}  // namespace

void FreshMemory::prepare() const noexcept {
  for (const std::size_t bytes : {100'000, 30'000, 8'000, 4'000, 2'000}) fill_blocks<2>(bytes, number_);
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
