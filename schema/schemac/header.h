// Writes the C++ header of one schema: the same bytes for the same schema, on every machine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "schema/load.h"

namespace muster::schemac {

struct HeaderInput {
  const Schema& schema;
  std::span<const std::byte> bfbs;
  std::string stem;                   ///< "game" of game.fbs: only types declared in that file are written
  std::vector<std::string> includes;  ///< headers of the files that it includes: "parts.h", "muster/schema/muster.h"
  std::vector<std::string> parts;     ///< included files whose types the TypeScript module has too: "users.fbs"
  bool in_tree = false;               ///< Muster's headers are "schema/builtin.h", not <muster/schema/builtin.h>
};

std::string write_header(const HeaderInput& input);

/// The files a binary schema was made of, its main file first: "//game.fbs", "//../schema/muster.fbs". Empty where flatc
/// kept none.
std::vector<std::string> source_files(std::span<const std::byte> verified_bfbs);

/// "//../schema/muster.fbs" -> "schema/muster.h", "//parts.fbs" -> "parts.h".
std::string header_of(std::string_view source_file);

}  // namespace muster::schemac
