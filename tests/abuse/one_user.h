// One user against all: what the owner is answered meanwhile, and what is left afterward.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messages/session.h"
#include "tests/abuse/abuse.h"

namespace muster::abuse {

struct OneUserReport {
  /// The longest waits of the owner, by question: while the user was there, and while it was not.
  std::map<std::string, std::chrono::nanoseconds> longest, longest_calm;
  std::map<std::string, std::uint64_t> faults;   ///< of the user's requests, by reason
  std::uint64_t asked = 0;                       ///< questions of the owner
  std::uint64_t requests = 0, sessions_max = 0;  ///< of the user
  /// By the owner's removal, and by another one after it.
  session::Removed removed, left;
  std::uint64_t memory_before = 0, memory_max = 0, memory_after = 0;  ///< bytes
  std::vector<std::uint64_t> memory_visits;                           ///< after each visit, bytes
  /// Bytes of a server that has just opened a copy of the world. They tell how much the world
  /// itself has grown, because edits of entities of others remain. 0 if no copies were opened.
  std::uint64_t opened_before = 0, opened_after = 0;
  std::uint32_t entities_before = 0, entities_after = 0;
  session::Load load_before, load_after;
  int exit_code = -1;

  std::string text() const;
};

/// Serves a new world, whose log is not read. A user with this role opens all sessions that the
/// limits allow, sends half frames, and abuses the server until the visit is over, while the owner
/// asks. Then the owner ends the user's sessions and removes what the user left. The last visit
/// ends with the user's token. If `opens_copies`, another server opens a copy of the world before
/// and after the visits. Throws std::runtime_error if the owner is not answered.
OneUserReport one_user(const AbuseOptions& options, session::Role role, bool opens_copies);

}  // namespace muster::abuse
