// The tables of a world in PostgreSQL. They have the names, the columns and the content of those of
// a world file (server/world/rows/format.h), in a schema with the name of the world. Two more are
// there: `layout`, with the version of the tables, and `lease` (pg_lease.h).
#pragma once

#include <array>
#include <string_view>

namespace muster::pg_tables {

struct Table {
  std::string_view name;
  /// The columns, in the words of CREATE TABLE. `key`, `epoch` and all other numbers are stored as
  /// signed numbers with the same bits.
  std::string_view columns;
  std::string_view large = {};  ///< the column whose values are stored without compressing them
  std::string_view also = {};   ///< a statement that follows, or empty
};

inline constexpr std::array tables = {
    Table{"layout", "version bigint PRIMARY KEY"},
    // `epoch` is the key, so that a transaction that writes holds off only those that change it.
    Table{"lease",
          "one smallint NOT NULL UNIQUE CHECK (one = 1), epoch bigint PRIMARY KEY, owner text NOT NULL, "
          "until timestamptz NOT NULL"},
    Table{"meta", "name text PRIMARY KEY, value text NOT NULL"},
    Table{"state",
          "id bigint PRIMARY KEY, section bigint NOT NULL, key bigint NOT NULL, column_ bigint NOT NULL, "
          "checkpoint bigint NOT NULL, checksum bigint NOT NULL, bytes bytea",
          "bytes", "CREATE UNIQUE INDEX state_key ON state(section, key, column_, checkpoint DESC)"},
    Table{"journal",
          "id bigint PRIMARY KEY, first bigint NOT NULL, last bigint NOT NULL, first_tick bigint NOT NULL, "
          "last_tick bigint NOT NULL, epoch bigint NOT NULL, code bigint NOT NULL, types bigint NOT NULL, "
          "checksum bigint NOT NULL, records bytea NOT NULL",
          "records"},
    Table{"codes", "id bigint PRIMARY KEY, identity text NOT NULL"},
    Table{"section_names", "section bigint PRIMARY KEY, name text NOT NULL"},
    Table{"types",
          "id bigint PRIMARY KEY, name text NOT NULL, role text NOT NULL, bytes bigint NOT NULL, "
          "fingerprint text NOT NULL, fields text NOT NULL"},
    Table{"history", "number bigint PRIMARY KEY, checksum bigint NOT NULL, bytes bytea NOT NULL", "bytes"},
};

}  // namespace muster::pg_tables
