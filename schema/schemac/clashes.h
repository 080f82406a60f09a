// Refuses schemas whose header or module would not compile.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/load.h"

namespace muster::schemac {

/// A mistake in a schema. Strings that do not apply are empty.
struct Clash {
  std::string file;  ///< for mistakes about an included file: its file name ("parts.fbs")
  SchemaError error;
};

struct ClashInput {
  const Schema& schema;
  std::span<const std::byte> bfbs;     ///< verified
  std::string file;                    ///< the schema that is compiled: "//game.fbs"
  std::vector<std::string> own_files;  ///< those that are Muster's own: "//../schema/muster.fbs"
};

/// Returns the first mistake: two types that would have one name in C++, types in Muster's
/// namespaces, types or fields with the same older name, files whose headers would replace each
/// other or another library's, and files that include each other.
std::optional<Clash> find_clash(const ClashInput& input);

}  // namespace muster::schemac
