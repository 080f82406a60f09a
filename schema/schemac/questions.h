// Writes the files that depend on the questions of schema/session.fbs: the declarations of their
// handlers with the table that finds them, and the table of docs/protocol.md. Equal schemas give
// equal bytes on every machine.
#pragma once

#include <string>

#include "schema/schemac/header.h"

namespace muster::schemac {

/// Writes the C++ header server/questions/question_table.h with the questions of all included
/// files.
std::string write_question_table(const HeaderInput& input);

/// Writes the Markdown table of the questions.
std::string write_question_page(const HeaderInput& input);

}  // namespace muster::schemac
