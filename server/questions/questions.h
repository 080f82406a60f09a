// Dispatches a question to its handler. The handlers are declared in
// server/questions/question_table.h, which schemac generates from schema/session.fbs, and defined
// in the files of their subjects.
#pragma once

#include <memory>

#include "messages/batch.h"
#include "server/questions/inquiry.h"

namespace muster {

/// Creates the inquiry of a question that passed judge(). Never returns null. World thread, between
/// inputs.
std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question);

}  // namespace muster
