// World files that are made beside one: the original of an older format, and the state of a world whose own file is displaced.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "server/world/database.h"

namespace muster {

/// Copies what `database` sees to PATH-format1, or to -format1-2 and so on if that name is taken; on the disk when it returns. Gives the
/// name. After an error or a crash no incomplete copy has one of these names.
[[nodiscard]] std::expected<std::string, WorldError> keep_original(Database& database, const std::string& path,
                                                                   const std::string& vfs, const std::string& shown);

/// Gives a whole file its name, on the disk when it returns: the first of name(1), name(2) ... that is free, which is given back. No file
/// is ever replaced. `unfinished` goes. After an error there is no new name.
[[nodiscard]] std::expected<std::string, WorldError> give_free_name(const std::string& unfinished,
                                                                    const std::function<std::string(int number)>& name,
                                                                    const std::string& shown);

[[nodiscard]] std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown);

}  // namespace muster
