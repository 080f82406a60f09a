// Makes worlds of file format 2 from those of today, by what another program does with SQL.
#pragma once

#include <string>

#include "schema/hex.h"
#include "server/world/rows/checksum.h"
#include "tests/server/world/run_sql.h"

namespace muster::test {

/// Converts a closed world of format 3. Its history is lost.
inline void make_format_2(const std::string& path) {
  run_sql(path, "DROP TABLE history; DELETE FROM meta WHERE name IN ('steps', 'history'); PRAGMA user_version=2");
  const std::string values =
      run_sql(path, "SELECT name || '=' || value FROM meta WHERE name != 'checksum' ORDER BY name");
  run_sql(path, "UPDATE meta SET value = '" + hex(text_checksum(values)) + "' WHERE name = 'checksum'");
}

/// Returns the file's format as SQLite sees it, because the file itself may be behind its -wal.
inline int format_of(const std::string& path) { return std::stoi(run_sql(path, "PRAGMA user_version")); }

}  // namespace muster::test
