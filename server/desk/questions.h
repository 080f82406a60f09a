// Answers about entities. Owner's thread, between inputs; each answer is one consistent moment.
#pragma once

#include "messages/batch.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"

namespace muster {

class EntityRegistry;

/// Answers ListChildren, Resolve, Find, Show, GetText, or what is asked about templates; it was judged. False: it is none of these.
bool answer_question(EntityRegistry& registry, const ServerLimits& limits, Session& to, std::uint64_t request,
                     BatchView question);

}  // namespace muster
