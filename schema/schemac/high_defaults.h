// Restores table defaults above 2^63 - 1 (of a ulong, or of an enum of ulongs). flatc 2.0.8 writes
// 0 into the binary schema in place of these defaults, although the classes and the JSON that flatc
// generates have the right values.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "schema/schemac/flatc.h"

namespace muster::schemac {

/// Runs flatc to get the defaults of each table in `source` that has a ulong with default 0 in
/// `bfbs`, the binary schema that flatc created from `source`. Writes the defaults that are not 0
/// into `bfbs`. On failure, leaves `bfbs` unchanged.
[[nodiscard]] std::expected<void, FlatcFailure> put_high_defaults(std::vector<std::byte>& bfbs,
                                                                  const std::string& flatc,
                                                                  const std::vector<std::string>& include_folders,
                                                                  const std::string& source);

}  // namespace muster::schemac
