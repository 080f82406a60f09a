// Creates a copy of the world's state next to a world file that was displaced. Also finds existing
// copies of displaced worlds.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "server/world/file/sqlite_database.h"

namespace muster {

/// Renames the complete file `unfinished` to the first free name among name(1), name(2), and so on.
/// Returns that name once the rename is on disk. Never replaces an existing file. If the call
/// fails, no file has been renamed.
[[nodiscard]] std::expected<std::string, WorldError> give_free_name(const std::string& unfinished,
                                                                    const std::function<std::string(int number)>& name,
                                                                    const std::string& shown);

/// Searches the folder of `path` for files that WorldFile::rescue wrote for `world`
/// (FileMeta::world) and that contain inputs later than `sequence`. For each file found, returns a
/// message that gives both sequence numbers and explains how to continue. Does not take any locks
/// or create lock files. Skips unreadable files.
[[nodiscard]] std::vector<std::string> newer_rescued(const std::string& path, const std::string& world,
                                                     std::uint64_t sequence);

[[nodiscard]] std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown);

}  // namespace muster
