// Storage and its bulk writer with the functions that only Structure and HostCall may call: for
// tests of storage alone.
#pragma once

#include "registry/storage/bulk_rows.h"
#include "registry/storage/storage.h"

namespace muster::test {

struct OpenStorage : Storage {
  using Storage::archetype, Storage::create, Storage::destroy, Storage::move;
};

struct OpenBulkRows : BulkRows {
  OpenBulkRows(Storage& storage, const Hierarchy& hierarchy) : BulkRows(storage, hierarchy) {}
};

}  // namespace muster::test
