#include "server/door/door_audit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/kinds.h"
#include "server/session/audit_line.h"

namespace muster {
namespace {

/// Messages that require a right to change things although they only read.
constexpr std::array only_read = {TypeTraits<session::RequestGrant>::id, TypeTraits<session::ReadTemplates>::id,
                                  TypeTraits<session::GetActivity>::id,  TypeTraits<session::BeginTrace>::id,
                                  TypeTraits<session::EndTrace>::id,     TypeTraits<session::ListTokens>::id,
                                  TypeTraits<session::DryRun>::id};

}  // namespace

void audit_login(const Desk& desk, const Session& session) {
  if (!desk.world().audits()) return;
  AuditLine line("login");
  line.by(session).add("kind", session.kind).add("role", right_name(session.rights.role));
  desk.world().audit(line.text());
}

void audit_refused_login(const Desk& desk, const session::Hello& hello, const std::string& address,
                         const session::Fault& why) {
  if (!desk.world().audits()) return;
  AuditLine line("login_refused");
  line.add("claimed_name", std::string_view(hello.name).substr(0, 64)).add("from", address).refused(why);
  desk.world().audit(line.text());
}

void audit_logout(const Desk& desk, const Session& session, const std::optional<session::Fault>& why) {
  if (!desk.world().audits()) return;
  AuditLine line("logout");
  line.by(session);
  if (why) line.add("reason", why->reason).add("why", why->text);
  desk.world().audit(line.text());
}

void audit_faults_of(const Desk& desk, Session& session) {
  session.outgoing()->on_fault(
      [&desk, weak = session.weak_from_this()](const session::Fault& fault, std::uint64_t request) {
        // A Fault that ends the session is in the line about its end.
        const auto to = desk.world().audits() && !fault.closes ? weak.lock() : nullptr;
        if (!to) return;
        AuditLine line("refused");
        line.by(*to).add("request", request).refused(fault);
        desk.world().audit(line.text());
      });
}

void audit_silent_refusal(const Desk& desk, const Session& session, const session::Fault& why) {
  if (!desk.world().audits()) return;
  AuditLine line("refused");
  line.by(session).add("request", 0).refused(why);
  desk.world().audit(line.text());
}

void audit_act(const Desk& desk, const Session& session, const TypeDescriptor& type, std::uint64_t request) {
  if (type.remote < RemoteRight::edit || !desk.world().audits() ||
      std::ranges::find(only_read, type.id) != only_read.end())
    return;
  AuditLine line("act");
  line.by(session).add("type", type.name).add("request", request);
  desk.world().audit(line.text());
}

void audit_drain(const Desk& desk, const Session& by, double seconds, const std::string& resume_at) {
  if (!desk.world().audits()) return;
  AuditLine line("drain");
  line.by(by).add("seconds", seconds).add("resume_at", resume_at);
  desk.world().audit(line.text());
}

void audit_users(const Desk& desk, const Session& by, std::string_view event, std::uint64_t user,
                 const std::string& name, session::Role role) {
  if (!desk.world().audits()) return;
  AuditLine line(event);
  line.by(by).add("of_user", user).add("of_name", name);
  if (role != session::Role::none) line.add("role", right_name(role));
  desk.world().audit(line.text());
}

}  // namespace muster
