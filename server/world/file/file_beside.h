// Makes files next to a world file: a copy of the original if its format is older, and a copy of
// the world's state if its file was displaced. Also finds such copies of the state.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "server/world/file/database.h"

namespace muster {

/// Copies `database` to PATH-format1, or to -format1-2 and so on if that name is taken. Returns the
/// name once the copy is on disk. After an error or a crash, no incomplete copy has such a name.
[[nodiscard]] std::expected<std::string, WorldError> keep_original(Database& database, const std::string& path,
                                                                   const std::string& vfs, const std::string& shown);

/// Renames the complete file `unfinished` to the first free name among name(1), name(2), and so on.
/// Returns that name once the rename is on disk. Never replaces a file. After an error, no new name
/// exists.
[[nodiscard]] std::expected<std::string, WorldError> give_free_name(const std::string& unfinished,
                                                                    const std::function<std::string(int number)>& name,
                                                                    const std::string& shown);

/// Returns a sentence for each file in the folder of `path` that WorldFile::rescue wrote for the
/// world `world` (FileMeta::world) and that contains inputs later than `sequence`. The sentence
/// names both sequences and says how to continue. Files are read without taking or creating a lock,
/// and unreadable files are skipped.
[[nodiscard]] std::vector<std::string> newer_rescued(const std::string& path, const std::string& world,
                                                     std::uint64_t sequence);

[[nodiscard]] std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown);

}  // namespace muster
