// The question which timed messages wait.
#pragma once

#include <memory>

#include "server/questions/inquiry.h"

namespace muster {

std::unique_ptr<Inquiry> begin_timer_list(Asked asked, const session::ListTimers& what);

}  // namespace muster
