// The answer to ListChildren: a page of an entity's children in their order, or of the roots by id.
#pragma once

#include <memory>

#include "messages/session.h"
#include "server/questions/inquiry.h"

namespace muster {

std::unique_ptr<Inquiry> begin_child_list(Asked asked, const session::ListChildren& what);

}  // namespace muster
