// How much the tests do: less under sanitizers, and what the environment says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/seeds.h"

namespace naive {

using muster::test::number_in;
using muster::test::Seeds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool under_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool under_sanitizer = true;
#else
constexpr bool under_sanitizer = false;
#endif
#else
constexpr bool under_sanitizer = false;
#endif

/// Told before something that may crash: it is written to standard error if the program stops.
/// `what` must live until the next call.
void running(std::uint64_t seed, std::size_t step, const char* what);

}  // namespace naive
