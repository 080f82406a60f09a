// A session without a desk: a test takes its frames from the queue of its connection.
#pragma once

#include <memory>
#include <utility>

#include "server/session/session.h"

namespace muster::testing {

inline std::shared_ptr<Session> made_session(OutgoingLimits limits = {}, SessionIdentity identity = {},
                                             const Rights& rights = {}) {
  auto made = std::make_shared<Session>(std::move(identity), rights, 1u << 20, nullptr);
  made->connect(std::make_shared<Connection>(limits));
  return made;
}

}  // namespace muster::testing
