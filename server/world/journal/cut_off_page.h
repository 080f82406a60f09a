// Keeps a process alive that stores to a page of a mapped file after another program has cut the
// file off, for which the kernel sends SIGBUS.
#pragma once

#include <cstddef>

namespace muster {

/// Bytes of a guarded page.
constexpr std::size_t guarded_page_bytes = 4096;

/// From now on, an access to the page at `page` that fails because its file was cut off puts a page
/// of zeros without a file there, and goes on. While any page is guarded, the process has a handler
/// of SIGBUS, which gives every other SIGBUS to the handler from before. At most 64 pages at once
/// are guarded; further calls do nothing. Any thread.
void guard_page(void* page) noexcept;

/// Ends what guard_page() began. Call it before the page is unmapped. Any thread.
void unguard_page(void* page) noexcept;

}  // namespace muster
