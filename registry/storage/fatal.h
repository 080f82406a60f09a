// Errors of ours stop the program near their cause, in release too.
#pragma once

#include <string_view>

namespace muster {

/// Writes "muster: what" to standard error and aborts.
[[noreturn]] void fatal(std::string_view what) noexcept;

/// For conditions that hold unless the program is wrong.
inline void require(bool condition, std::string_view what) noexcept {
  if (!condition) [[unlikely]]
    fatal(what);
}

}  // namespace muster
