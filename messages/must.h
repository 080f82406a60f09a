// Errors of ours stop the program near their cause, in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace muster {

[[noreturn, gnu::cold, gnu::noinline]] inline void stop(const char* what) noexcept {
  std::fprintf(stderr, "muster: %s\n", what);
  std::abort();
}
inline void must(bool holds, const char* what) noexcept {
  if (!holds) [[unlikely]]
    stop(what);
}

}  // namespace muster
