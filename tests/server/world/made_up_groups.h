// Groups of inputs that no registry recorded, and what a file gives back of them: for tests of the file alone.
#pragma once

#include "tests/server/world/made_up_rows.h"

namespace muster::test {

inline bool equal(const JournalGroup& a, const JournalGroup& b) {
  return a.id == b.id && a.first == b.first && a.last == b.last && a.first_tick == b.first_tick &&
         a.last_tick == b.last_tick && a.epoch == b.epoch && a.types == b.types && a.code == b.code &&
         a.records == b.records;
}

/// The group of this number, of a world whose checkpoint has the inputs up to `sequence`: the same whenever it is asked for.
inline JournalGroup made_up_group(std::uint64_t id, std::uint64_t sequence = 100) {
  std::mt19937_64 random(id);
  std::uint64_t first = sequence + 1;
  for (std::uint64_t i = 1; i < id; ++i) first += i % 4;  // every fourth has no input
  return {.id = id,
          .first = first,
          .last = first + id % 4 - 1,
          .first_tick = id * 10,
          .last_tick = id * 10 + 9,
          .epoch = 0xe90c000000000000 + id / 5,
          .types = id % 3,
          .code = "plugin " + std::to_string(id / 4),
          .records = random_bytes(random, 16 * (id * 7 % 30))};
}

using Groups = std::vector<JournalGroup>;

inline std::expected<JournalReport, WorldError> take_all(WorldFile& file, Groups& groups) {
  groups.clear();
  return file.journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (reinterpret_cast<std::uintptr_t>(group.records.data()) % 16 != 0) return std::unexpected("not aligned");
    groups.push_back(group);
    return true;
  });
}

/// A world with one checkpoint and the first `count` groups after it; closed in good order.
inline void make_journal(const std::string& path, std::uint64_t count, WorldFileOptions options = {}) {
  auto file = WorldFile::open(path, std::move(options));
  Rows rows;
  rows[{StateSection::texts, 0, 0}] = {1, Bytes(300, std::byte{3})};
  if (!file || !file->save({.sequence = 100, .tick = 9}, saving(rows))) std::abort();
  for (std::uint64_t id = 1; id <= count; ++id) {
    JournalGroup group = made_up_group(id);
    if (!file->append(group) || group.id != id) std::abort();
  }
}

/// How many groups the file at `path` gives, each of which must be the made up one.
inline std::expected<JournalReport, WorldError> read_journal(const std::string& path, WorldFileOptions options = {}) {
  options.mode = OpenMode::open_existing;
  auto file = WorldFile::open(path, std::move(options));
  if (!file) return std::unexpected(std::move(file.error()));
  if (auto loaded = load_all(*file); !loaded) return std::unexpected(std::move(loaded.error()));
  Groups groups;
  auto report = take_all(*file, groups);
  if (!report) return report;
  if (groups.size() != report->groups) std::abort();
  for (const JournalGroup& group : groups)
    if (!equal(group, made_up_group(group.id))) std::abort();
  return report;
}

}  // namespace muster::test
