// The host and the path of a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Whether a Host names this machine by its loopback interface, and our port: "localhost:7717",
/// "127.0.0.1:7717", "[::1]:7717". A page from elsewhere that had its own name lead to 127.0.0.1 is
/// told apart by that.
bool is_own_host(std::string_view host, std::uint16_t port);

/// Returns the parts of a target's path ("/assets/a%20b.js?x": "assets", "a b.js"), safe as file
/// names. Returns nothing if a part is empty, begins with a dot, or has a slash, a backslash, a
/// control character or a wrong escape. "/" has no parts.
std::optional<std::vector<std::string>> path_of(std::string_view target);

/// A text as a part of a URL: letters, digits and "-._~" as they are, any other byte as %XX.
std::string escaped(std::string_view text);

/// Returns the text after the last dot of a name in lower case; empty without a dot.
std::string suffix_of(std::string_view name);

/// The media type of a file with that suffix; a model's and an unknown one's is
/// "application/octet-stream".
std::string_view media_type_of(std::string_view suffix);

}  // namespace muster
