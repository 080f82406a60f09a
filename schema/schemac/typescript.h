// Writes the TypeScript module of one schema: an interface for each struct and table, an object for
// each enum, and the keys by which client/ts identifies types. Equal schemas produce equal bytes on
// every machine.
#pragma once

#include <string>

#include "schema/schemac/header.h"

namespace muster::schemac {

/// Returns the text of the module. Ignores `input.includes`. If the module uses types of an
/// included file, it imports that file's module, as in "./parts.js". However, the types of files
/// listed in `input.parts` are written into this module.
std::string write_typescript(const HeaderInput& input);

}  // namespace muster::schemac
