// Writes the two texts generated from the questions in schema/session.fbs: the C++ header that
// declares the handlers of the questions and the table for finding a handler, and the table of
// questions in docs/protocol.md. Equal schemas produce equal bytes on every machine.
#pragma once

#include <string>

#include "schema/schemac/header.h"

namespace muster::schemac {

/// Returns the C++ header server/questions/question_table.h for the questions of all included
/// files.
std::string write_question_table(const HeaderInput& input);

/// Returns the Markdown table of the questions.
std::string write_question_page(const HeaderInput& input);

}  // namespace muster::schemac
