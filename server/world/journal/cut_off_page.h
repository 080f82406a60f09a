// Keeps the process alive when it writes to a page of a memory-mapped file that another program has
// truncated. The kernel responds to such a write with SIGBUS.
#pragma once

#include <cstddef>

namespace muster {

/// Size of a guarded page in bytes.
constexpr std::size_t guarded_page_bytes = 4096;

/// Guards the page at `page`. If an access to the page fails because its file was truncated, an
/// anonymous page of zeros is mapped in its place and execution continues. While any page is
/// guarded, a SIGBUS handler is installed, which forwards every other SIGBUS to the previous
/// handler. At most 64 pages can be guarded at once; beyond that, calls have no effect. May be
/// called on any thread.
void guard_page(void* page) noexcept;

/// Stops guarding the page at `page`. Must be called before the page is unmapped. May be called on
/// any thread.
void unguard_page(void* page) noexcept;

}  // namespace muster
