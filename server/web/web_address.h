// The host and the path of a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns true if a Host field names the loopback interface and our port: "localhost:7717",
/// "127.0.0.1:7717", "[::1]:7717". This detects a third-party page whose own name resolves to
/// 127.0.0.1.
bool is_own_host(std::string_view host, std::uint16_t port);

/// Returns the decoded parts of a target's path ("/assets/a%20b.js?x": "assets", "a b.js"), which
/// are safe as file names. Returns nothing if a part is empty, begins with a dot, or contains a
/// slash, a backslash, a control character or an invalid escape. "/" has no parts.
std::optional<std::vector<std::string>> path_of(std::string_view target);

/// Returns `text` encoded as part of a URL: letters, digits and "-._~" are unchanged, and all other
/// bytes become %XX.
std::string escaped(std::string_view text);

/// Returns the text after the last dot of a name, in lower case. Empty if there is no dot.
std::string suffix_of(std::string_view name);

/// Returns the media type for a suffix. Models and unknown suffixes are "application/octet-stream".
std::string_view media_type_of(std::string_view suffix);

}  // namespace muster
