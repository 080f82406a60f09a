// Gives memory that a handler might use without initializing it other bytes and other addresses
// each time inputs are done, so that its results differ.
//
//   heap    Blocks are allocated, filled, and freed again: what a handler then allocates was one of
//           them. They are freed in the order of their addresses, or in the opposite order, so that
//           addresses of new objects come in another order, too.
//   stack   The part that the next call will use is filled.
#pragma once

#include <cstdint>

namespace muster {

class FreshMemory {
 public:
  /// Inputs that are done with different numbers find different memory. Only the lowest bit counts.
  explicit FreshMemory(std::uint32_t number) noexcept : number_(number) {}
  /// Prepares blocks of all sizes. Takes some ten microseconds.
  void prepare() const noexcept;
  /// Prepares small blocks. May be called on any thread.
  void before_call() const noexcept;
  /// Fills the stack below the caller. Must be called last, immediately before the handler.
  [[gnu::noinline]] void fill_stack() const noexcept;

 private:
  std::uint32_t number_;
};

}  // namespace muster
