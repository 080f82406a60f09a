#include "server/host/admissions.h"

#include <chrono>
#include <vector>

#include "server/access/server_error.h"

namespace muster::hosting {
namespace {

/// Returns true if the list accepts the Hello. A client that proves its token instead of sending it
/// names the token by an id. The world's server judges the proof.
template <class List, class Hello>
bool accepts(const List& users, const Hello& hello) {
  const auto now = Users::Clock::now();
  if constexpr (requires { users.known(hello.token_id, now); })
    if (!hello.token_id.empty()) return users.known(hello.token_id, now).has_value();
  return users.admit(hello.token, now).rights.any();
}

bool accepts_token(const Users& users, std::string_view token) {
  return users.admit(token, Users::Clock::now()).rights.any();
}

}  // namespace

Admissions::Admissions(const WorldFolders& folders, const std::string& token)
    : folders_(folders), own_(std::vector{Admission{token, session::Role::admin}}, {}) {}

bool Admissions::is_hosts(std::string_view token) const { return accepts_token(own_, token); }
bool Admissions::is_hosts(const session::Hello& hello) const { return accepts(own_, hello); }

bool Admissions::opens(const std::string& world, std::string_view token) {
  if (is_hosts(token)) return true;
  const auto users = users_of(world);
  return users && accepts_token(*users, token);
}

bool Admissions::edits(const std::string& world, std::string_view token) {
  return may(world, token, RemoteRight::edit);
}

bool Admissions::controls(const std::string& world, std::string_view token) {
  return may(world, token, RemoteRight::control);
}

bool Admissions::may(const std::string& world, std::string_view token, RemoteRight right) {
  if (is_hosts(token)) return true;
  const auto users = users_of(world);
  return users && users->admit(token, Users::Clock::now()).rights.role >= right;
}

bool Admissions::opens(const std::string& world, const session::Hello& hello) {
  if (is_hosts(hello)) return true;
  const auto users = users_of(world);
  return users && accepts(*users, hello);
}

std::shared_ptr<const Users> Admissions::users_of(const std::string& world) {
  const std::string path = folders_.file_of(world) + "-users";
  struct stat found{};
  const MutexLock lock(mutex_);
  if (!folders_.has(world) || ::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    lists_.erase(world);
    return nullptr;
  }
  List& list = lists_[world];
  const bool is_same = list.inode == found.st_ino && list.bytes == found.st_size &&
                       list.changed.tv_sec == found.st_mtim.tv_sec && list.changed.tv_nsec == found.st_mtim.tv_nsec;
  if (is_same) return list.users;
  list = {found.st_mtim, found.st_size, found.st_ino, nullptr};
  try {
    list.users = std::make_shared<const Users>(std::vector<Admission>(), path);
  } catch (const ServerError&) {
    // The world's server says what is wrong with the list when it starts.
  }
  return list.users;
}

}  // namespace muster::hosting
