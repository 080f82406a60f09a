// Which inquiry answers which question about templates.
#pragma once

#include <memory>

#include "messages/batch.h"
#include "server/questions/inquiry.h"

namespace muster {

/// The inquiry of ListTemplates, GetTemplate or ReadTemplates, which was judged. Null: it is none of these. Owner's thread,
/// between inputs.
std::unique_ptr<Inquiry> begin_template_question(const Asked& asked, BatchView question);

}  // namespace muster
