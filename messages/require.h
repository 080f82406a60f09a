// Stops the program on a programming error, close to the cause of the error, even in release
// builds. Used by all layers above this one.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace muster {

/// Writes "muster: " followed by `what` to standard error and aborts. May be called from any
/// thread.
[[noreturn, gnu::cold, gnu::noinline]] inline void fatal(std::string_view what) noexcept {
  std::fprintf(stderr, "muster: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Stops the program if `condition` is false. Use it only for programming errors, never to check
/// external input.
inline void require(bool condition, std::string_view what) noexcept {
  if (!condition) [[unlikely]]
    fatal(what);
}

}  // namespace muster
