// Writes the TypeScript of one schema: an interface for each struct and table, an object for each enum, and what names a
// type to client/ts. The same bytes for the same schema, on every machine.
#pragma once

#include <string>

#include "schema/schemac/header.h"

namespace muster::schemac {

/// `input.includes` is not looked at: included files that are referred to are imported as "./parts.js",
/// except those of `input.parts`, whose types are written here.
std::string write_typescript(const HeaderInput& input);

}  // namespace muster::schemac
