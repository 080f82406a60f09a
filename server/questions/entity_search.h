// The answers to Find and Resolve: entities by id, in pages.
#pragma once

#include <memory>

#include "messages/session.h"
#include "server/questions/inquiry.h"

namespace muster {

/// The question may be refused instead, at once.
std::unique_ptr<Inquiry> begin_find(const Asked& asked, session::Find what);
std::unique_ptr<Inquiry> begin_resolve(const Asked& asked, session::Resolve what);

}  // namespace muster
