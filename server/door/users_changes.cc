#include "server/door/users_changes.h"

#include <memory>

#include "server/door/door_audit.h"
#include "server/door/session_protocol.h"
#include "server/questions/answers.h"

namespace muster {
namespace {

session::Fault user_fault(const UserFault& fault) {
  const auto code = fault.reason == std::string_view("not_found") ? session::FaultCode::not_found
                    : fault.reason == std::string_view("users_file") || fault.reason == std::string_view("token_file")
                        ? session::FaultCode::failed
                        : session::FaultCode::refused;
  return fault_of(code, fault.reason, fault.text);
}

}  // namespace

session::Fault token_ended_fault() {
  return closing_fault(session::FaultCode::bad_token, "token_ended", "the token was revoked or has expired");
}

void UsersChanges::make(Plan plan, Done done) {
  waiting_.emplace_back(std::move(plan), std::move(done));
  next();
}

void UsersChanges::next() {
  while (!writes_ && !waiting_.empty()) {
    std::pair<Plan, Done> first = std::move(waiting_.front());
    waiting_.pop_front();
    auto change = std::make_shared<Change>(first.first(users_));
    if (!*change) {
      first.second(*change);
      continue;
    }
    writes_ = true;
    auto written = std::make_shared<std::expected<void, UserFault>>();
    auto write = [change, written] { *written = Users::write(**change); };
    auto then = [this, change, written, done = std::move(first.second)]() mutable {
      writes_ = false;
      if (*written) users_.accept(**change);
      done(*written ? *change : Change(std::unexpected(written->error())));
      next();
    };
    if (beside_) return beside_(std::move(write), std::move(then));
    write();
    then();
  }
}

void SessionProtocol::refuse_user(const UserFault& fault, std::uint64_t request) { refuse(user_fault(fault), request); }

bool SessionProtocol::refuse_if_displaced(std::uint64_t request) {
  // If the world file was moved, the list at that path may belong to another world.
  const std::string* const moved = door_.displaced ? door_.displaced() : nullptr;
  if (!moved) return false;
  refuse_user({"displaced", "the list of users is not changed: the world file " + *moved}, request);
  return true;
}

void SessionProtocol::answer_at_door(const session::CreateToken& what, std::uint64_t request) {
  if (refuse_if_displaced(request)) return;
  // The session may have ended when the change has been made; its queue then drops the answer.
  door_.users_changes.make(
      [what](const Users& users) {
        return users.to_create(what.name, static_cast<session::Role>(what.role), what.expires_s, Users::Clock::now());
      },
      [&door = door_, session = session_, what, request](const UsersChanges::Change& made) {
        if (!made) return session->outgoing()->fault(user_fault(made.error()), request);
        if (door.log) door.log("a token for user " + std::to_string(made->user) + ": " + what.name);
        audit_users(door.desk, *session, "token_created", made->user, what.name, static_cast<session::Role>(what.role));
        session::TokenCreated created;
        created.user = made->user;
        created.token = made->token;
        answer(*session, request, created);
      });
}

void SessionProtocol::answer_at_door(const session::RevokeToken& what, std::uint64_t request) {
  if (refuse_if_displaced(request)) return;
  door_.users_changes.make([what](const Users& users) { return users.to_revoke(what.name); },
                           [&door = door_, session = session_, what, request](const UsersChanges::Change& made) {
                             if (!made) return session->outgoing()->fault(user_fault(made.error()), request);
                             const std::uint64_t user = made->user;
                             if (door.log) door.log("token revoked of user " + std::to_string(user) + ": " + what.name);
                             audit_users(door.desk, *session, "token_revoked", user, what.name);
                             answer(*session, request, session::TokenRevoked{.user = user});
                             if (door.evict) door.evict(user, token_ended_fault());
                           });
}

void SessionProtocol::answer_at_door(const session::Kick& what, std::uint64_t request) {
  const User* const user = door_.users.find(what.name);
  if (!user) return refuse_user({"not_found", "there is no user \"" + what.name + "\""}, request);
  session::Kicked kicked;
  // The asking session may be one of them, so it receives its answer first.
  const bool itself = user->number == admitted_.user;
  const session::Fault why =
      closing_fault(session::FaultCode::kicked, "kicked", "an admin ended the sessions of user " + what.name);
  if (door_.log) door_.log("user " + std::to_string(user->number) + " is kicked: " + what.name);
  audit_users(desk_, *session_, "kicked", user->number, what.name);
  if (itself) kicked.sessions = static_cast<std::uint32_t>(desk_.shares().held(user->number, ShareOf::sessions));
  if (itself) answer(*session_, request, kicked);
  if (door_.evict) kicked.sessions = door_.evict(user->number, why);
  if (!itself) answer(*session_, request, kicked);
}

void SessionProtocol::answer_at_door(const session::RotateToken& what, std::uint64_t request) {
  const auto told = [session = session_, request](std::uint64_t user, const std::string& token) {
    session::TokenRotated rotated;
    rotated.user = user;
    rotated.token = token;
    answer(*session, request, rotated);
  };
  if (what.name.empty()) {
    if (admitted_.user != 0 || !door_.rotate_own)
      return refuse_user({"not_own", "only a session with the server's own token can exchange that token"}, request);
    // Its sessions, this one included, end after the answer.
    return door_.rotate_own([&door = door_, session = session_, request, told](const auto& rotated) {
      if (!rotated) return session->outgoing()->fault(user_fault(rotated.error()), request);
      if (door.log) door.log("the server's own token was exchanged");
      audit_users(door.desk, *session, "own_token_replaced", 0, "");
      told(0, *rotated);
    });
  }
  if (refuse_if_displaced(request)) return;
  door_.users_changes.make([what](const Users& users) { return users.to_rotate(what.name); },
                           [&door = door_, session = session_, what, request, told](const UsersChanges::Change& made) {
                             if (!made) return session->outgoing()->fault(user_fault(made.error()), request);
                             if (door.log)
                               door.log("a new token for user " + std::to_string(made->user) + ": " + what.name);
                             audit_users(door.desk, *session, "token_rotated", made->user, what.name);
                             told(made->user, made->token);
                             if (door.evict)
                               door.evict(made->user, closing_fault(session::FaultCode::bad_token, "token_ended",
                                                                    "the token was exchanged for a new one"));
                           });
}

void SessionProtocol::answer_at_door(const session::CleanTokens& what, std::uint64_t request) {
  if (refuse_if_displaced(request)) return;
  auto cleaned = std::make_shared<session::TokensCleaned>();
  const auto choose = [cleaned, &rules = door_.rules](const Users& users) {
    *cleaned = {};
    for (const User& user : users.past_users(Users::Clock::now())) {
      // A rule that names an unknown user would prevent the next start.
      if (rules.names(user.name) && !users.find(user.name)) {
        cleaned->kept.push_back(user.name);
        continue;
      }
      cleaned->users.push_back(user.number);
      cleaned->names.push_back(user.name);
    }
  };
  choose(door_.users);
  if (what.dry != 0 || cleaned->users.empty()) return answer(*session_, request, *cleaned);
  door_.users_changes.make(
      [cleaned, choose](const Users& users) {
        choose(users);
        return users.to_remove(cleaned->users);
      },
      [&door = door_, session = session_, cleaned, request](const UsersChanges::Change& made) {
        if (!made) return session->outgoing()->fault(user_fault(made.error()), request);
        for (std::size_t i = 0; i < cleaned->users.size(); ++i) {
          if (door.log)
            door.log("removed from the list: user " + std::to_string(cleaned->users[i]) + ": " + cleaned->names[i]);
          audit_users(door.desk, *session, "user_removed", cleaned->users[i], cleaned->names[i]);
        }
        answer(*session, request, *cleaned);
        // Sessions of a user who has just expired may not have ended yet.
        if (door.evict)
          for (const std::uint64_t user : cleaned->users) door.evict(user, token_ended_fault());
      });
}

void SessionProtocol::answer_at_door(const session::ListTokens&, std::uint64_t request) {
  session::Tokens tokens;
  for (const User& user : door_.users.all()) {
    tokens.users.push_back(user.number);
    tokens.names.push_back(user.name);
    tokens.roles.push_back(static_cast<std::uint8_t>(user.role));
    tokens.expires_s.push_back(user.expires_s);
    tokens.seen_s.push_back(door_.rates.seen_s(user.number));
  }
  answer(*session_, request, tokens);
}

}  // namespace muster
