// Stops the program at a programming mistake, near the cause, in release builds too. All layers
// above use it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace muster {

/// Writes "muster: what" to standard error and aborts. Any thread.
[[noreturn, gnu::cold, gnu::noinline]] inline void fatal(std::string_view what) noexcept {
  std::fprintf(stderr, "muster: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Stops the program if `condition` is false. Use it only for programming mistakes, never to check
/// input from outside.
inline void require(bool condition, std::string_view what) noexcept {
  if (!condition) [[unlikely]]
    fatal(what);
}

}  // namespace muster
