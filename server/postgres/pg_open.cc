#include "server/postgres/pg_open.h"

#include "server/postgres/pg_store.h"

namespace muster {

std::expected<std::unique_ptr<RowStore>, WorldError> open_pg_store(const std::string& address,
                                                                   const StoreOptions& options) {
  auto store = PgStore::open(address, options);
  if (!store) return std::unexpected(std::move(store.error()));
  return std::move(*store);
}

}  // namespace muster
