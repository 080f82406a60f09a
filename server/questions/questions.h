// Dispatches a question to its handler. The handlers are declared in
// server/questions/question_table.h, which schemac generates from schema/session.fbs. Each handler
// is defined in the file for its subject.
#pragma once

#include <memory>

#include "messages/batch.h"
#include "server/questions/inquiry.h"

namespace muster {

/// Creates the inquiry for a question that has passed judge(). Never returns null. Must be called
/// on the world thread, between inputs.
std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question);

}  // namespace muster
