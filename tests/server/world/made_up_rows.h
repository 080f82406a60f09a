// Rows that no registry made, and what a file gives back of them: for tests of the file alone.
#pragma once

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/world/file/world_file.h"
#include "tests/support/folder.h"

namespace muster::test {

using Bytes = std::vector<std::byte>;
struct Row {
  std::uint64_t version = 0;
  Bytes bytes;
};
using Rows = std::map<StateKey, Row>;
using Contents = std::map<StateKey, Bytes>;

inline Bytes random_bytes(std::mt19937_64& random, std::size_t length) {
  Bytes bytes(length);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

inline StateKey random_key(std::mt19937_64& random) {
  const auto section = static_cast<StateSection>(1 + random() % 13);
  std::uint64_t key = random() % 40;
  if (random() % 4 == 0) key = ~key;  // the upper half of the keys too
  return {section, key, section == StateSection::columns ? static_cast<std::uint32_t>(random() % 3 * 0x7fffffffu) : 0};
}

inline Contents contents(const Rows& rows) {
  Contents all;
  for (const auto& [key, row] : rows) all[key] = row.bytes;
  return all;
}

inline WorldFile::Save saving(const Rows& rows) {
  return [&rows](StateSink& sink) {
    for (const auto& [key, row] : rows) sink.row(key, row.version, row.bytes);
  };
}

/// As a registry saves: asks before it gives a row, for a chunk with its newest column, which stands for all of them.
inline WorldFile::Save saving_changes(const Rows& rows) {
  return [&rows](StateSink& sink) {
    for (const auto& [key, row] : rows) {
      if (key.section == StateSection::columns && rows.contains({StateSection::chunks, key.key, 0})) continue;
      std::uint64_t newest = row.version;
      const auto first = rows.lower_bound({StateSection::columns, key.key, 0});
      const auto each_column = [&](auto f) {
        if (key.section != StateSection::chunks) return;
        for (auto at = first;
             at != rows.end() && at->first.section == StateSection::columns && at->first.key == key.key; ++at)
          f(at->first, at->second);
      };
      each_column([&](const StateKey&, const auto& column) { newest = std::max(newest, column.version); });
      if (sink.has(key, newest)) continue;
      sink.row(key, newest, row.bytes);
      each_column([&](const StateKey& of, const auto& column) {
        if (!sink.has(of, column.version)) sink.row(of, column.version, column.bytes);
      });
    }
  };
}

/// The rows of a save for a checkpoint. Columns must not change before it.
inline StateCopy copied_rows(const WorldFile& file, const WorldFile::Save& save) {
  std::optional<StateCopy> none;
  return file.preserve(save, 0, 64u << 20, none);
}

/// All that an open file gives, section by section.
inline std::expected<Contents, WorldError> load_all(WorldFile& file) {
  Contents all;
  bool ordered = true;
  auto loaded = file.load([&](StateSource& source) -> std::expected<void, StateError> {
    StateKey last{static_cast<StateSection>(0), 0, 0};
    for (int section = 1; section <= 13; ++section)
      source.rows(static_cast<StateSection>(section), [&](const StateKey& key, std::span<const std::byte> bytes) {
        ordered = ordered && (last < key) && reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 == 0;
        last = key;
        all[key] = Bytes(bytes.begin(), bytes.end());
      });
    return {};
  });
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  if (!ordered) std::abort();
  return all;
}

inline std::expected<Contents, WorldError> read_world(const std::string& path, WorldFileOptions options = {}) {
  options.mode = OpenMode::open_existing;
  auto file = WorldFile::open(path, std::move(options));
  if (!file) return std::unexpected(std::move(file.error()));
  return load_all(*file);
}

/// A folder on a memory disk where there is one: these tests sync much.
class Directory : public Folder {
 public:
  Directory() : Folder(memory_disk()) {}
};

/// A small world of three checkpoints with rows of many lengths; closed in good order.
inline Rows make_world(const std::string& path, std::uint64_t seed = 7, std::size_t bytes_max = 6000) {
  std::mt19937_64 random(seed);
  Rows rows;
  auto file = WorldFile::open(path);
  if (!file) std::abort();
  for (std::uint64_t version = 1; version <= 3; ++version) {
    for (int i = 0; i < 12; ++i)
      rows[random_key(random)] = {version, random_bytes(random, random() % (random() % 3 ? 100 : bytes_max))};
    if (!file->save({.sequence = version, .tick = version}, saving(rows))) std::abort();
  }
  return rows;
}

}  // namespace muster::test
