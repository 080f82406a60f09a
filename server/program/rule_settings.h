// Reads the rules of a configuration file: its tables [[rule]].
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/access/access_rules.h"
#include "server/program/config_file.h"

namespace muster {

/// On failure, the error names the file, line and column.
[[nodiscard]] std::expected<std::vector<AccessRule>, std::string> rules_of(const ConfigFile& file);

/// Returns the rule in the form of a configuration file.
std::string shown_rule(const AccessRule& rule);

}  // namespace muster
