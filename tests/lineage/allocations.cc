#include "tests/lineage/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count = 0;

constexpr std::size_t plain = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Null where there is no memory.
void* ask(std::size_t bytes, std::size_t align) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  void* memory = nullptr;
  return posix_memalign(&memory, align < plain ? plain : align, bytes ? bytes : 1) == 0 ? memory : nullptr;
}
void* take(std::size_t bytes, std::size_t align) {
  if (void* memory = ask(bytes, align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }

// All that ask for memory and give it back: a sanitizer's own must not meet one of these.
void* operator new(std::size_t bytes) { return take(bytes, plain); }
void* operator new[](std::size_t bytes) { return take(bytes, plain); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return ask(bytes, plain); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return ask(bytes, plain); }
void* operator new(std::size_t bytes, std::align_val_t align) { return take(bytes, static_cast<std::size_t>(align)); }
void* operator new[](std::size_t bytes, std::align_val_t align) { return take(bytes, static_cast<std::size_t>(align)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
