// Makes files beside a world file: a copy of the original in an older format, and the state of a
// world whose file is displaced.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "server/world/database.h"

namespace muster {

/// Copies `database` to PATH-format1, or -format1-2 and so on if that name is taken, and returns
/// the name when the copy is on the disk. After an error or a crash no incomplete copy has such a
/// name.
[[nodiscard]] std::expected<std::string, WorldError> keep_original(Database& database, const std::string& path,
                                                                   const std::string& vfs, const std::string& shown);

/// Renames the complete file `unfinished` to the first free name of name(1), name(2) ..., and
/// returns that name when it is on the disk. Never replaces a file. After an error there is no new
/// name.
[[nodiscard]] std::expected<std::string, WorldError> give_free_name(const std::string& unfinished,
                                                                    const std::function<std::string(int number)>& name,
                                                                    const std::string& shown);

[[nodiscard]] std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown);

}  // namespace muster
