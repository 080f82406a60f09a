// Answers about templates. Owner's thread, between inputs.
#pragma once

#include "messages/batch.h"
#include "server/session/participant.h"

namespace muster {

class EntityRegistry;

/// Answers ListTemplates, GetTemplate or ReadTemplates, which were judged. False: it is none of these.
bool answer_template_question(EntityRegistry& registry, Participant& to, std::uint64_t request, BatchView question);

}  // namespace muster
