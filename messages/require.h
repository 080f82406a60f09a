// How the program stops at a mistake of its own: near the cause, in release builds too. Every layer above uses these two.
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

/// For conditions that hold unless the program is wrong. Foreign input is never judged with it.
inline void require(bool condition, std::string_view what) noexcept {
  if (!condition) [[unlikely]]
    fatal(what);
}

}  // namespace muster
