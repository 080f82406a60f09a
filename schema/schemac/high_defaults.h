// Defaults of tables above 2^63 - 1 (of a ulong, or of an enum of ulongs): flatc 2.0.8 writes 0 for
// them into a binary schema, though its own classes and its JSON have them.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "schema/schemac/flatc.h"

namespace muster::schemac {

/// Asks flatc for the defaults of each table of `source` with a ulong whose default is 0 in `bfbs`,
/// the binary schema that it just made of it, and writes those that are not 0 into `bfbs`. A
/// failure leaves `bfbs` as it was.
[[nodiscard]] std::expected<void, FlatcFailure> put_high_defaults(std::vector<std::byte>& bfbs,
                                                                  const std::string& flatc,
                                                                  const std::vector<std::string>& include_folders,
                                                                  const std::string& source);

}  // namespace muster::schemac
