// Marks memory that must not be accessed until it is reused. Has no effect without
// AddressSanitizer.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MUSTER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTER_ASAN 1
#endif
#endif

#ifdef MUSTER_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace muster {

#ifdef MUSTER_ASAN
constexpr bool poisons = true;
#else
constexpr bool poisons = false;
#endif

inline void poison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MUSTER_ASAN
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MUSTER_ASAN
  __asan_unpoison_memory_region(at, bytes);
#endif
}

}  // namespace muster
