// Writes the C++ header of one schema. Equal schemas produce equal bytes on every machine.
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
  std::string stem;                   ///< file name without extension ("game" for game.fbs); only
                                      ///< the types of this file are written
  std::vector<std::string> includes;  ///< headers to include: "parts.h", "muster/schema/muster.h"
  std::vector<std::string> parts;     ///< included files whose types are written to the same module
  bool ts_comments = true;            ///< if true, the binary schema in the TypeScript module
                                      ///< includes the comments on the module's types
  bool in_tree = false;               ///< if true, the header includes "schema/builtin.h" instead
                                      ///< of <muster/schema/builtin.h>
};

std::string write_header(const HeaderInput& input);

/// Returns the files from which a binary schema was compiled, the main file first: "//game.fbs",
/// "//../schema/muster.fbs". The result is empty if flatc did not record any files.
std::vector<std::string> source_files(std::span<const std::byte> verified_bfbs);

/// Returns the header of a source file: "//../schema/muster.fbs" -> "schema/muster.h",
/// "//parts.fbs" -> "parts.h".
std::string header_of(std::string_view source_file);

}  // namespace muster::schemac
