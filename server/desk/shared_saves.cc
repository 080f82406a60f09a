#include "server/desk/shared_saves.h"

#include <utility>

namespace muster {

void SharedSaves::Group::tell(const WorldSide::Saved& saved) {
  for (const Then& then : std::exchange(askers, {})) then(saved);
}

void SharedSaves::ask(Then then) {
  waiting_.push_back(std::move(then));
  begin();
}

void SharedSaves::look() {
  if (running_) {
    const std::uint64_t saved = world_.saved();
    // If nothing has changed, the number is the same before and after the save. The world then
    // reports the end.
    if (saved != running_->saved_before && saved >= running_->sequence) running_->tell({});
    if (running_->askers.empty()) running_.reset();
  }
  if (!waiting_.empty()) begin();
}

void SharedSaves::begin() {
  const auto group = std::make_shared<Group>();
  group->askers = std::move(waiting_);
  group->sequence = world_.sequence();
  group->saved_before = world_.saved();
  waiting_.clear();
  if (world_.begin([group](const WorldSide::Saved& saved) { group->tell(saved); }))
    running_ = group;
  else
    waiting_ = std::move(group->askers);
}

}  // namespace muster
