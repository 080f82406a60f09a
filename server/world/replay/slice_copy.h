// Makes slices of worlds that are being served.
#pragma once

#include <expected>
#include <string>

#include "server/world/replay/slice.h"

namespace muster {

/// Makes a slice of a world file that a process, possibly this one, may have open. Copies the file
/// to a new folder in $TMPDIR, reads the copy, and removes it. Does not delay the process that has
/// the file open, and has what is durable. Waits for the disk. May be called on any thread.
[[nodiscard]] std::expected<Slice, WorldError> slice_of_copy(const std::string& path, const SliceRange& range = {});

/// Returns a name for a slice of the world at `path`, such as "town-tick4711.slice". It consists of
/// letters, digits, and ".-_".
std::string slice_name(const std::string& path, const Slice& slice);

}  // namespace muster
