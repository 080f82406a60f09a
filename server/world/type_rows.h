// The `types` table: what the rows of `state` are made of, for people with an SQL tool.
#pragma once

#include <span>

#include "schema/descriptor.h"
#include "server/world/database.h"
#include "server/world/file_meta.h"

namespace muster {

/// Replaces the table where `fingerprint` is not the one in `meta`, and notes it there. Inside the caller's transaction.
[[nodiscard]] std::expected<void, WorldError> write_types(Database& database,
                                                          std::span<const TypeDescriptor* const> types,
                                                          std::uint64_t fingerprint, FileMeta& meta);

}  // namespace muster
