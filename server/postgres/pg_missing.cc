// Takes the place of pg_open.cc in a build without libpq.
#include "server/postgres/pg_address.h"
#include "server/postgres/pg_open.h"

namespace muster {

std::expected<std::unique_ptr<RowStore>, WorldError> open_pg_store(const std::string& address, const StoreOptions&) {
  return std::unexpected(WorldError(WorldErrorCode::missing, shown_pg_address(address),
                                    "this build of Muster has no PostgreSQL: it was built without libpq"));
}

}  // namespace muster
