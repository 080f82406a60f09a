// Writes what a server and its documents say of the questions of schema/session.fbs: the declarations of their handlers
// with the table that finds them, and the table of docs/protocol.md. The same bytes for the same schema, on every machine.
#pragma once

#include <string>

#include "schema/schemac/header.h"

namespace muster::schemac {

/// The C++ header server/questions/question_table.h, with the questions of all included files.
std::string write_question_table(const HeaderInput& input);

/// The same questions as a table in Markdown.
std::string write_question_page(const HeaderInput& input);

}  // namespace muster::schemac
