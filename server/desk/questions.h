// Which inquiry answers which question about entities, texts and templates.
#pragma once

#include <memory>

#include "messages/batch.h"
#include "server/desk/inquiry.h"

namespace muster {

/// The inquiry of ListChildren, Resolve, Find, Show, GetText, or of what is asked about templates; the question was judged. Null:
/// it is none of these. Owner's thread, between inputs.
std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question);

}  // namespace muster
