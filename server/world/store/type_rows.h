// Writes the `types` table, which describes the rows of `state` to users of SQL tools.
#pragma once

#include <span>

#include "schema/descriptor.h"
#include "server/world/store/database.h"
#include "server/world/store/file_meta.h"

namespace muster {

/// If `fingerprint` differs from the one in `meta`, replaces the table and stores the new
/// fingerprint in `meta`. Must be called inside the caller's transaction.
[[nodiscard]] std::expected<void, WorldError> write_types(Database& database,
                                                          std::span<const TypeDescriptor* const> types,
                                                          std::uint64_t fingerprint, FileMeta& meta);

}  // namespace muster
