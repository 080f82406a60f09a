// Changes the list of users without making the listener's thread wait for the disk. The answers to
// sessions that ask for such changes are in users_changes.cc as well.
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <utility>

#include "server/access/users.h"

namespace muster {

/// Must be used only on the listener's thread. `users` must outlive this object.
class UsersChanges {
 public:
  explicit UsersChanges(Users& users) : users_(users) {}

  /// Calls `work` on another thread, and then `then` on the listener's thread (Loop::run_beside).
  using Beside = std::function<void(std::move_only_function<void()> work, std::move_only_function<void()> then)>;
  /// Without this call, changes are written immediately.
  void write_beside(Beside beside) { beside_ = std::move(beside); }

  using Change = std::expected<Users::Change, UserFault>;
  using Plan = std::move_only_function<Change(const Users&)>;
  using Done = std::move_only_function<void(const Change&)>;
  /// Calls `plan` once no other change is being written, writes the change that it returns, and
  /// makes that change. Then calls `done` with the change or with the reason of the failure, in
  /// which case nothing has changed.
  void make(Plan plan, Done done);

 private:
  void next();

  Users& users_;
  Beside beside_;
  std::deque<std::pair<Plan, Done>> waiting_;
  bool writes_ = false;
};

/// Returns the Fault that ends a session whose user no longer has access.
session::Fault token_ended_fault();

}  // namespace muster
