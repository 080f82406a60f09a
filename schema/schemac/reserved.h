// The names that generated C++ code cannot use as they are.
#pragma once

#include <string_view>

namespace muster::schemac {

/// Returns true for keywords, for names that C++ reserves for compilers (`_Bool`, `__linux__`), and
/// for macros that the headers of Muster, C++ and C define.
bool is_reserved(std::string_view name);

/// Returns true for names that the headers of C or compilers declare in the global namespace, such
/// as `time`.
bool is_global(std::string_view name);

/// Returns true for the headers of C, without their `.h`, such as `math`. A game's header of the
/// same name would be included in its place.
bool is_c_header(std::string_view stem);

}  // namespace muster::schemac
