// Defines the tables of a world file in format 3, and those of format 2, which can still be read.
// docs/file-format.md describes both.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "registry/state/state.h"

namespace muster::world_format {

/// The PRAGMA application_id of every world, "Mstr", by which file(1) and this library recognize
/// worlds.
constexpr std::uint32_t application_id = 0x4d737472;
/// The PRAGMA user_version. Incremented with every change that older readers cannot handle.
constexpr std::uint32_t version = 3;
constexpr std::uint32_t oldest_version = 2;  ///< files of earlier formats are refused
constexpr std::string_view product = "0.1.0";

constexpr int page_bytes = 4096;

struct Table {
  std::string_view name;
  std::string_view sql;  ///< exact text of the definition in sqlite_schema
};

/// The tables. If a table is missing or has a different definition, the file is damaged. Other
/// tables, indexes, and views are ignored.
inline constexpr std::array tables = {
    // The program that wrote the file, and the point in time that the file's state represents. All
    // values are text.
    Table{"meta", "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"},
    // The registry's rows; see registry/state/state.h. The table is a rowid table because rewriting
    // 64 KiB values in a WITHOUT ROWID table is six times slower (0.34 GB/s instead of 2.3 GB/s),
    // and inserting them is a quarter slower. `key` stores an unsigned number as the signed number
    // with the same bits. A row is valid from its checkpoint until a later row with the same key. A
    // row without bytes deletes the key. The newest row comes first, so that a reader takes the
    // first valid row and skips the others.
    Table{"state",
          "CREATE TABLE state(id INTEGER PRIMARY KEY, section INTEGER NOT NULL, key INTEGER NOT NULL, "
          "column_ INTEGER NOT NULL, checkpoint INTEGER NOT NULL, checksum INTEGER NOT NULL, "
          "bytes BLOB, UNIQUE(section, key, column_, checkpoint DESC))"},
    // Inputs recorded after the checkpoint, in groups that are written together; see
    // server/world/store/file_journal.h.
    Table{"journal",
          "CREATE TABLE journal(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, "
          "first_tick INTEGER NOT NULL, last_tick INTEGER NOT NULL, epoch INTEGER NOT NULL, code INTEGER NOT NULL, "
          "types INTEGER NOT NULL, checksum INTEGER NOT NULL, records BLOB NOT NULL)"},
    // Code identities of the recorded inputs. The id of a row is the checksum of its identity.
    Table{"codes", "CREATE TABLE codes(id INTEGER PRIMARY KEY, identity TEXT NOT NULL)"},
    // Names of the sections and types of the rows in `state`, for people who read the file with
    // SQL. The names are never read back.
    Table{"section_names", "CREATE TABLE section_names(section INTEGER PRIMARY KEY, name TEXT NOT NULL)"},
    Table{"types",
          "CREATE TABLE types(id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, bytes INTEGER NOT NULL, "
          "fingerprint TEXT NOT NULL, fields TEXT NOT NULL)"},
    // The steps that users can undo and redo; see server/world/store/file_history.h. Format 2 did
    // not have this table.
    Table{"history",
          "CREATE TABLE history(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, bytes BLOB NOT NULL)"},
};

constexpr std::span<const Table> tables_of(std::uint32_t format) noexcept {
  return std::span(tables).first(format == 2 ? tables.size() - 1 : tables.size());
}

struct SectionName {
  StateSection section;
  const char* name;
};
inline constexpr std::array sections = {
    SectionName{StateSection::registry, "registry"},   SectionName{StateSection::schema, "schema"},
    SectionName{StateSection::directory, "directory"}, SectionName{StateSection::free_queue, "free_queue"},
    SectionName{StateSection::grants, "grants"},       SectionName{StateSection::archetypes, "archetypes"},
    SectionName{StateSection::chunks, "chunks"},       SectionName{StateSection::columns, "columns"},
    SectionName{StateSection::hierarchy, "hierarchy"}, SectionName{StateSection::texts, "texts"},
    SectionName{StateSection::pending, "pending"},     SectionName{StateSection::timers, "timers"},
    SectionName{StateSection::managers, "managers"},   SectionName{StateSection::templates, "templates"},
    SectionName{StateSection::disabled, "disabled"},   SectionName{StateSection::manager_parts, "manager_parts"},
};

/// Returns true if this version of Muster knows the section.
bool knows(StateSection section) noexcept;

/// Returns a readable description of a row's key, for example "columns 12, column 0x811c9dc5".
std::string place(const StateKey& key);

}  // namespace muster::world_format
