#include "server/door/users_changes.h"

#include <memory>

namespace muster {

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

}  // namespace muster
