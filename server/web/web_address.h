// Defines functions that process the host and the path of a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns true if a Host field names the loopback interface and this server's port, for example
/// "localhost:7717", "127.0.0.1:7717", or "[::1]:7717". This check detects a third-party page whose
/// own name resolves to 127.0.0.1.
bool is_own_host(std::string_view host, std::uint16_t port);

/// Returns the decoded parts of a target's path. The parts are safe to use as file names. For
/// example, "/assets/a%20b.js?x" has the parts "assets" and "a b.js", and "/" has no parts. Returns
/// nothing if a part is empty, begins with a dot, or contains a slash, a backslash, a control
/// character, or an invalid escape.
std::optional<std::vector<std::string>> path_of(std::string_view target);

/// Returns the part of a name after its last dot, in lower case. Returns an empty string if the
/// name has no dot.
std::string suffix_of(std::string_view name);

/// Returns the media type for a suffix. For models and unknown suffixes, it is
/// "application/octet-stream".
std::string_view media_type_of(std::string_view suffix);

}  // namespace muster
