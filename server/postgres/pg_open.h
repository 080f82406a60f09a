// Opens worlds in PostgreSQL, for code that does not know libpq.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "server/world/store/checkpoint_report.h"
#include "server/world/store/row_store.h"

namespace muster {

/// Opens the world at an address (read_pg_address), or creates it. Fails with `missing` if this
/// build has no libpq. See PgStore::open.
[[nodiscard]] std::expected<std::unique_ptr<RowStore>, WorldError> open_pg_store(const std::string& address,
                                                                                 const StoreOptions& options);

}  // namespace muster
