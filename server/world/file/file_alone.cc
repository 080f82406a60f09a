#include "server/world/file/file_alone.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "server/world/file/sqlite_database.h"

namespace muster {

FileAlone read_alone(const std::string& path, const std::string& shown, bool whole) {
  constexpr const char* doing = "reading the file without its -wal";
  auto file = SqliteDatabase::open_alone(path, shown);
  if (!file) return {};
  if (whole && !file->check_structure(doing)) return {};
  const auto number = [&](const char* sql) {
    const auto text = file->value(sql, doing);
    std::uint64_t value = 0;
    if (!text) return std::optional<std::uint64_t>();
    if (!text->empty()) (void)std::from_chars(text->data(), text->data() + text->size(), value);
    return std::optional(value);
  };
  const auto world = file->value("SELECT value FROM meta WHERE name = 'world'", doing);
  const auto sequence = number("SELECT value FROM meta WHERE name = 'sequence'");
  const auto checkpoint = number("SELECT value FROM meta WHERE name = 'checkpoint'");
  const auto contained = number("SELECT value FROM meta WHERE name = 'group'");
  const auto newest = number("SELECT max(id) FROM journal");
  if (!world || !sequence || !checkpoint || !contained || !newest) return {};
  return {.world = *world, .sequence = *sequence, .checkpoint = *checkpoint, .group = std::max(*contained, *newest)};
}

}  // namespace muster
