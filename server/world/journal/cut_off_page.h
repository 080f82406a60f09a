// Keeps the process alive when it stores to a page of a mapped file that another program has
// truncated. The kernel sends SIGBUS for such a store.
#pragma once

#include <cstddef>

namespace muster {

/// Bytes of a guarded page.
constexpr std::size_t guarded_page_bytes = 4096;

/// Guards the page at `page`. If an access to it fails because its file was truncated, a page of
/// zeros without a file is mapped there and execution continues. While any page is guarded, the
/// process has a SIGBUS handler, which forwards every other SIGBUS to the previous handler. At most
/// 64 pages can be guarded at once; further calls do nothing. Any thread.
void guard_page(void* page) noexcept;

/// Stops guarding the page at `page`. Call it before unmapping the page. Any thread.
void unguard_page(void* page) noexcept;

}  // namespace muster
