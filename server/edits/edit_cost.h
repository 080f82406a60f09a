// Computes the cost of an edit before it enters the registry. An edit is applied whole and at once,
// so one that would cost more than a stated limit is refused; nothing of it reaches the world.
#pragma once

#include <cstdint>
#include <expected>
#include <unordered_map>
#include <vector>

#include "messages/batch.h"
#include "registry/entity_registry.h"
#include "server/edits/budgets.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"
#include "server/session/steps.h"

namespace muster {

/// The cost of an accepted edit, and the things it adds permanently.
struct EditCost {
  std::uint64_t steps = 0;     ///< server/session/steps.h
  std::uint64_t delivery = 0;  ///< of a message of the game: the part of it before its handlers' dearness
  std::uint64_t texts = 0;     ///< that the world does not know
  std::uint64_t text_bytes = 0;
  std::uint64_t row_bytes = 0;           ///< at most
  std::uint64_t template_bytes = 0;      ///< those that are replaced are not taken off
  std::vector<std::uint64_t> told = {};  ///< hashes of all that it names by their bytes
};

/// Owner's thread, between inputs. Counting costs at most as much as the limit allows the edit to.
class EditJudge {
 public:
  EditJudge(const EntityRegistry& registry, const ServerLimits& limits)
      : registry_(registry), limits_(limits), timer_budget_(registry), world_budget_(registry) {}

  /// The cost for the world as it is now, or the fault: the edit would cost too much, would make
  /// what is too deep, names ids that are not the session's, or brings more than the session or the
  /// world may hold.
  [[nodiscard]] std::expected<EditCost, session::Fault> judge(const Session& from, BatchView edit);
  /// As judge, but for its cost: what is done seldom may cost more.
  [[nodiscard]] std::expected<EditCost, session::Fault> judge_bounds(const Session& from, BatchView edit);
  /// The steps of one message of the game to one entity, of a type that was judged just before; 0:
  /// judge() must say. No limit but that on steps concerns such an edit.
  std::uint64_t steps_of_known(BatchView edit) const noexcept {
    const BatchHeader& header = edit.header();
    if (header.type != known_type_ || header.count != 1 || header.kind != BatchKind::each || header.flags != 0)
      return 0;
    return known_steps_ + header.bytes / 64;
  }
  /// An edit of that cost came into the world.
  void entered(const EditCost& cost) { world_budget_.add(cost.row_bytes, cost.template_bytes); }
  /// A timed batch of that cost waits now.
  void waits(BatchView timed, const EditCost& cost) {
    timer_budget_.add(timed.header().argument, {.steps = cost.steps, .bytes = timed.bytes().size()});
  }
  /// Tells how long an edit took for its `delivery` cost. Later messages of its type cost more
  /// according to the recent time of their handlers.
  void took(BatchView edit, std::uint64_t delivery, std::uint64_t ns) {
    if (delivery > 0 && (ns > (delivery + steps_around) * step_ns || !dearness_.empty())) note_time(edit, delivery, ns);
  }
  /// That the last judging counted.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  friend class EditWalk;
  static constexpr std::uint64_t steps_around = 50;  // of the work around a batch
  void note_time(BatchView edit, std::uint64_t delivery, std::uint64_t ns);
  const EntityRegistry& registry_;
  const ServerLimits& limits_;
  TimerBudget timer_budget_;
  WorldBudget world_budget_;
  std::uint64_t steps_ = 0;
  std::unordered_map<TypeId, double>
      dearness_;                      // of messages of the game whose handlers take longer than is counted: above 1
  TypeId known_type_ = 0;             // that steps_of_known() knows; 0: none
  std::uint64_t known_steps_ = 0;     // of one message of that type, its bytes not counted
  std::vector<std::uint32_t> marks_;  // by index: the walk that last passed the entity
  std::uint32_t walk_ = 0;
};

/// Whether the id is one of those granted to the session.
bool owns(const Session& session, Entity e) noexcept;

}  // namespace muster
