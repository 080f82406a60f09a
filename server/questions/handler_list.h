// The world's handlers with what each reads and writes, page by page.
#pragma once

#include <memory>

#include "server/questions/inquiry.h"

namespace muster {

/// Owner's thread, between inputs.
std::unique_ptr<Inquiry> begin_handler_list(Asked asked, const session::ListHandlers& what);

}  // namespace muster
