// Memory for the copies of a moment. A moment adds copies until the next one is kept, and gives all
// of its memory back at once, when it is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace muster {

/// Blocks that moments took and gave back. They are reused, because fresh pages would cost more
/// than the copies.
class SpareCopies {
 public:
  static constexpr std::size_t block_bytes = 256u << 10;
  using Block = std::unique_ptr<std::byte[]>;
  Block take();
  void give(Block block) { spare_.push_back(std::move(block)); }
  void clear() noexcept { spare_.clear(); }

 private:
  std::vector<Block> spare_;
};

/// The copies of one moment.
class Copies {
 public:
  explicit Copies(SpareCopies& spare) noexcept : spare_(&spare) {}
  Copies(Copies&& other) noexcept = default;
  Copies& operator=(Copies&&) = delete;
  Copies(const Copies&) = delete;
  ~Copies() { clear(); }
  /// Copies bytes and returns the copy, which is aligned to 64 bytes and valid until clear().
  const std::byte* add(const void* from, std::size_t bytes);
  /// Returns how much bytes() would grow if this number of bytes was added.
  std::size_t growth(std::size_t bytes) const noexcept;
  void clear() noexcept;
  /// Returns the number of bytes of memory held.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static std::size_t to_line(std::size_t bytes) noexcept { return (bytes + 63) & ~std::size_t{63}; }
  SpareCopies* spare_;
  std::vector<SpareCopies::Block> blocks_, large_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0, bytes_ = 0;
};

}  // namespace muster
