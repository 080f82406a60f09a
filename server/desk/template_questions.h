// Answers about templates. Owner's thread, between inputs.
#pragma once

#include "messages/batch.h"
#include "server/session/session.h"

namespace muster {

class EntityRegistry;

/// Answers ListTemplates, GetTemplate or ReadTemplates, which were judged. False: it is none of these.
bool answer_template_question(EntityRegistry& registry, Session& to, std::uint64_t request, BatchView question);

}  // namespace muster
