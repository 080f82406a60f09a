// The number of files that this process may open. Each session needs a descriptor, and on many
// systems, the initial limit is 1024.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>

namespace muster {

/// Returns the limit that holds for this process, or nothing if the system does not tell it. May be
/// called from any thread.
[[nodiscard]] inline std::optional<std::uint64_t> descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return limit.rlim_cur;
}

/// Raises the limit as far as the system allows for this user, and returns the limit that then
/// holds. If it cannot be raised, it stays. May be called from any thread.
inline std::optional<std::uint64_t> raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return descriptor_limit();
}

}  // namespace muster
