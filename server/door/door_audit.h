// Adds lines to the audit log about what the listener's thread sees. Without an audit log, these
// functions do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messages/session.h"
#include "server/desk/desk.h"

namespace muster {

void audit_login(const Desk& desk, const Session& session);
void audit_refused_login(const Desk& desk, const session::Hello& hello, const std::string& address,
                         const session::Fault& why);
/// `why` is the reason if the server ended the session.
void audit_logout(const Desk& desk, const Session& session, const std::optional<session::Fault>& why);
/// From now on, adds a line for each Fault that the session receives, except for edits, whose lines
/// are added by the world thread. Must be called before other threads know the session.
void audit_faults_of(const Desk& desk, Session& session);
/// Adds a line for a Fault that the client does not receive, because it asked for no answer.
void audit_silent_refusal(const Desk& desk, const Session& session, const session::Fault& why);
/// Adds a line for a message to the server that changes something. Its answer, if it is a Fault,
/// has a line of its own with the same request.
void audit_act(const Desk& desk, const Session& session, const TypeDescriptor& type, std::uint64_t request);
/// Adds a line about a server that drains because the session asked for it.
void audit_drain(const Desk& desk, const Session& by, double seconds, const std::string& resume_at);
/// Adds a line about a change of a user's access.
void audit_users(const Desk& desk, const Session& by, std::string_view event, std::uint64_t user,
                 const std::string& name, session::Role role = session::Role::none);

}  // namespace muster
