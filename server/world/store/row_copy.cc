// Copies a world from one store to another, row by row.
#include <array>
#include <string>
#include <utility>

#include "server/world/store/row_store.h"

namespace muster {
namespace {

constexpr const char* copying = "copying the world";

struct CopiedTable {
  const char* name;
  const char* columns;
  int count;
};
constexpr std::array copied_tables = {
    CopiedTable{"codes", "id, identity", 2},
    CopiedTable{"types", "id, name, role, bytes, fingerprint, fields", 6},
    CopiedTable{"history", "number, checksum, bytes", 3},
    CopiedTable{"journal", "id, first, last, first_tick, last_tick, epoch, code, types, checksum, records", 10},
    CopiedTable{"state", "id, section, key, column_, checkpoint, checksum, bytes", 7},
    CopiedTable{"meta", "name, value", 2},
};

/// Copies the rows of one table, whatever their values are.
std::expected<void, WorldError> copy_table(Database& from, Database& to, const CopiedTable& table) {
  const std::string columns = table.columns, name = table.name;
  std::string parameters;
  for (int i = 1; i <= table.count; ++i) parameters += (i == 1 ? "?" : ", ?") + std::to_string(i);
  auto read = from.prepare(("SELECT " + columns + " FROM " + name).c_str(), copying);
  if (!read) return std::unexpected(std::move(read.error()));
  auto write = to.prepare(("INSERT INTO " + name + "(" + columns + ") VALUES(" + parameters + ")").c_str(), copying);
  if (!write) return std::unexpected(std::move(write.error()));
  std::array<std::string, 10> texts;
  SqlStep step;
  while ((step = read->step()) == SqlStep::row) {
    for (int column = 0; column < table.count; ++column) {
      std::string& text = texts[static_cast<std::size_t>(column)];
      if (read->is_null(column))
        write->bind_null(column + 1);
      else if (read->is_integer(column))
        write->bind(column + 1, read->integer(column));
      else if (read->is_blob(column))
        write->bind(column + 1, read->blob(column));
      else
        write->bind(column + 1, std::string_view(text = read->text(column)));
    }
    if (!write->run()) return std::unexpected(to.error(copying));
  }
  if (step == SqlStep::error) return std::unexpected(from.error(copying));
  return {};
}

}  // namespace

std::expected<void, WorldError> RowStore::copy_from(RowStore& other) {
  if (!is_new()) return std::unexpected(error(WorldErrorCode::exists, "exists already, and is not replaced"));
  if (other.is_new()) return std::unexpected(other.error(WorldErrorCode::missing, "has no checkpoint to copy"));
  if (other.is_older())
    return std::unexpected(other.error(
        WorldErrorCode::older, "of file format " + std::to_string(other.format()) + "; the next save converts it"));
  if (!tables())
    if (auto created = create(); !created) return created;
  if (auto begun = other.tables()->run("BEGIN", copying); !begun) return begun;
  const Transaction of_other(*other.tables());
  if (auto begun = begin_writing(copying); !begun) return begun;
  const Transaction of_this(*tables());
  if (auto emptied = tables()->run("DELETE FROM meta", copying); !emptied) return emptied;
  for (const CopiedTable& table : copied_tables)
    if (auto copied = copy_table(*other.tables(), *tables(), table); !copied) return copied;
  if (auto committed = commit(copying); !committed) return committed;
  meta_ = other.meta_;
  return {};
}

}  // namespace muster
