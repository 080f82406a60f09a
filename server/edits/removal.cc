// Answers RemoveOf, which removes what a user left in the world.
#include <malloc.h>

#include <algorithm>
#include <unordered_set>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/edits/made_things.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"
#include "system/random_id.h"

namespace muster {
namespace {

/// Number of entities or timers after which a piece of work ends. A subtree is destroyed as a
/// whole.
constexpr std::size_t piece_count = 10'000;

/// Returns freed memory to the system. It takes some milliseconds, so it is not done more often.
void give_back_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

/// Removes in pieces, so that the world is not held up. The pieces that an Undo can take back have
/// the same gesture, and are therefore one step of the sender's history.
class Removal final : public SeldomWork {
 public:
  Removal(const Asked& asked, const session::RemoveOf& what)
      : SeldomWork(asked, asked.of().seldom), what_(what), gesture_(random_id()) {}

 private:
  Progress piece() override {
    if (const std::string* const error = asked_.of().world.recording_error(); error && what_.dry == 0) {
      asked_.fault(not_recorded_fault(*error));
      return Progress::done;
    }
    if (!begun_) begin();
    if (what_.dry == 0) {
      if (remove_timers() || remove_things()) return Progress::later;
      if (EditHistory* const history = asked_.of().world.history()) {
        history->drop_steps(what_.user);
        asked_.of().world.wake();
      }
      give_back_memory();
    }
    removed_.sequence = asked_.registry.sequence();
    asked_.answer(removed_);
    return Progress::done;
  }

  void begin() {
    begun_ = true;
    const EntityRegistry& registry = asked_.registry;
    left_ = asked_.of().made.of(what_.user);
    const std::unordered_set<Entity> own(left_.entities.begin(), left_.entities.end());
    const auto below_own = [&](Entity e) {
      for (Entity at = registry.parent(e); at; at = registry.parent(at))
        if (own.contains(at)) return true;
      return false;
    };
    std::uint64_t all = 0;
    for (const Entity e : left_.entities)
      if (!below_own(e)) {
        tops_.push_back(e);
        all += count_below(e);
      }
    removed_.timers = static_cast<std::uint32_t>(left_.timers.size());
    removed_.templates = static_cast<std::uint32_t>(left_.templates.size());
    removed_.entities = static_cast<std::uint32_t>(left_.entities.size());
    removed_.others = static_cast<std::uint32_t>(all - left_.entities.size());
    if (const EditHistory* const history = asked_.of().world.history())
      removed_.steps = history->steps(what_.user, HistoryAct::undo) + history->steps(what_.user, HistoryAct::redo);
  }
  /// Returns the number of entities in a subtree.
  std::uint64_t count_below(Entity top) const {
    const EntityRegistry& registry = asked_.registry;
    std::uint64_t count = 0;
    for (Entity at = top; at;) {
      ++count;
      Entity next = registry.first_child(at);
      while (!next && at != top) {
        next = registry.next_sibling(at);
        if (!next) at = registry.parent(at);
      }
      at = next;
    }
    return count;
  }

  Sender by() const { return {.session = asked_.to().number, .user = asked_.to().user, .request = asked_.request}; }

  /// Returns true if it has done a piece.
  bool remove_timers() {
    if (left_.timers.empty()) return false;
    BatchBuilder batch;
    for (std::size_t i = 0; i < piece_count && !left_.timers.empty(); ++i) {
      batch.append_world(CancelTimer{.timer = left_.timers.back()});
      left_.timers.pop_back();
    }
    asked_.registry.host().push_batch(batch.bytes(), by());
    return true;
  }
  bool remove_things() {
    if (tops_.empty() && left_.templates.empty()) return false;
    BatchBuilder batches;
    std::uint64_t count = 0;
    for (; count < piece_count && !tops_.empty(); tops_.pop_back()) {
      if (!asked_.registry.alive(tops_.back())) continue;  // removed by somebody else since
      count += count_below(tops_.back());
      batches.append(tops_.back(), Destroy{});
    }
    for (; count < piece_count && !left_.templates.empty(); left_.templates.pop_back(), ++count)
      if (asked_.registry.host().find_template(left_.templates.back()))
        session::append(batches, DefineTemplate{.name = left_.templates.back()});
    if (batches.bytes().empty()) return true;
    ++asked_.to().seat()->edits;
    if (!asked_.of().world.history()) {  // a Step cannot be applied then
      asked_.registry.host().push_batch(batches.bytes(), by());
      return true;
    }
    muster::Step step;
    step.batches = step_bytes(batches.bytes());
    step.label = "Remove what user " + std::to_string(what_.user) + " left";
    step.gesture = gesture_;
    BatchBuilder batch;
    session::append(batch, step);
    asked_.registry.host().push_batch(batch.bytes(), by());
    return true;
  }

  const session::RemoveOf what_;
  const std::uint64_t gesture_;
  MadeThings::OfUser left_;
  std::vector<Entity> tops_;  // the user's entities that are not below another one
  bool begun_ = false;
  session::Removed removed_;
};

}  // namespace

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::RemoveOf& what) {
  return std::make_unique<Removal>(asked, what);
}

}  // namespace muster
