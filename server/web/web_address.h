// Who is asked for, and what: the host, and the path of a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Whether a Host names this machine by its loopback interface, and our port: "localhost:7717", "127.0.0.1:7717", "[::1]:7717". A
/// page from elsewhere that had its own name lead to 127.0.0.1 is told apart by that.
bool is_own_host(std::string_view host, std::uint16_t port);

/// The parts of a target's path ("/assets/a%20b.js?x": "assets", "a b.js"), which no file name can misunderstand: nothing where one is
/// empty, begins with a dot, or holds a slash, a backslash or a control character, or where a % is no escape. "/" has no parts.
std::optional<std::vector<std::string>> path_of(std::string_view target);

/// A text as a part of a URL: letters, digits and "-._~" as they are, any other byte as %XX.
std::string escaped(std::string_view text);

/// What is behind the last dot of a name, in small letters; empty without one.
std::string suffix_of(std::string_view name);

/// The media type of a file with that suffix; a model's and an unknown one's is "application/octet-stream".
std::string_view media_type_of(std::string_view suffix);

}  // namespace muster
