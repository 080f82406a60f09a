// Which inquiry answers which question about templates.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "messages/batch.h"
#include "messages/session.h"
#include "server/questions/inquiry.h"
#include "server/questions/seldom.h"

namespace muster {

/// Judges a DefineTemplate of all that a session would have defined: the fault where it would exceed a limit.
using AdmitTemplates = std::function<std::optional<session::Fault>(BatchView)>;

/// The inquiry of ReadTemplates, whose work is done seldom.
std::unique_ptr<Inquiry> begin_read_templates(const Asked& asked, session::ReadTemplates what, Seldom& seldom,
                                              AdmitTemplates admit);
/// The inquiry of ListTemplates or GetTemplate, which was judged. Null: it is none of these. Owner's thread,
/// between inputs.
std::unique_ptr<Inquiry> begin_template_question(const Asked& asked, BatchView question);

}  // namespace muster
