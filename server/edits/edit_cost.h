// Computes the cost of an edit before the edit enters the registry. An edit is always applied as a
// whole. Therefore, an edit that exceeds a limit is refused, and no part of it reaches the world.
#pragma once

#include <cstdint>
#include <expected>
#include <unordered_map>
#include <vector>

#include "messages/batch.h"
#include "registry/entity_registry.h"
#include "server/edits/budgets.h"
#include "server/session/seat.h"
#include "server/session/server_limits.h"
#include "server/session/steps.h"

namespace muster {

/// The cost of an accepted edit, and the objects that it adds permanently.
struct EditCost {
  std::uint64_t steps = 0;     ///< see server/session/steps.h
  std::uint64_t delivery = 0;  ///< steps for game messages, before the factor for slow handlers is
                               ///< applied
  std::uint64_t texts = 0;     ///< number of interned texts that the world did not have
  std::uint64_t text_bytes = 0;
  std::uint64_t entities = 0;            ///< number of entities that the edit creates
  std::uint64_t templates = 0;           ///< number of templates that the world did not have
  std::uint64_t row_bytes = 0;           ///< upper bound on the bytes of new rows
  std::uint64_t template_bytes = 0;      ///< size of new templates; replaced ones are not
                                         ///< subtracted
  std::vector<std::uint64_t> told = {};  ///< hashes of all interned texts in the edit

  /// Returns true if the edit adds anything of which users have a share.
  bool adds() const noexcept { return (texts | entities | templates | template_bytes) != 0; }
};

/// Must be used only on the world thread, between inputs. Computing a cost takes no longer than an
/// edit is allowed to take.
class EditJudge {
 public:
  EditJudge(const EntityRegistry& registry, const ServerLimits& limits)
      : registry_(registry), limits_(limits), timer_budget_(registry), world_budget_(registry) {}

  /// Returns the cost of an edit in the current world. Returns a fault if the edit costs too much,
  /// nests entities too deeply, names ids that do not belong to the session, or exceeds a limit of
  /// the session or of the world.
  [[nodiscard]] std::expected<EditCost, session::Fault> judge(const Seat& from, BatchView edit);
  /// Like judge(), but without the limit on cost, which does not apply to seldom work
  /// (server/questions/seldom.h).
  [[nodiscard]] std::expected<EditCost, session::Fault> judge_bounds(const Seat& from, BatchView edit);
  /// Returns the number of steps of a game message to a single entity, provided that the most
  /// recent call to judge() was for the same message type. Otherwise, returns 0, and judge() must
  /// be called. The limit on steps is the only limit that applies to such an edit.
  std::uint64_t steps_of_known(BatchView edit) const noexcept {
    const BatchHeader& header = edit.header();
    if (header.type != known_type_ || header.count != 1 || header.kind != BatchKind::each || header.flags != 0)
      return 0;
    return known_steps_ + header.bytes / 64;
  }
  /// Records that an edit with this cost has entered the world.
  void entered(const EditCost& cost) { world_budget_.add(cost.row_bytes, cost.template_bytes); }
  /// Records that a timed batch with this cost is pending.
  void waits(BatchView timed, const EditCost& cost) {
    timer_budget_.add(timed.header().argument, {.steps = cost.steps, .bytes = timed.bytes().size()});
  }
  /// Records how long an edit with this `delivery` cost took. If the handlers of a message have
  /// recently been slow, later messages of the same type cost more.
  void took(BatchView edit, std::uint64_t delivery, std::uint64_t ns) {
    if (delivery > 0 && (ns > (delivery + steps_around) * step_ns || !dearness_.empty())) note_time(edit, delivery, ns);
  }
  /// Returns the number of steps used by the previous computation.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  friend class EditWalk;
  static constexpr std::uint64_t steps_around = 50;  // fixed cost of a batch
  // --- server/edits/slow_edits.cc ---
  void note_time(BatchView edit, std::uint64_t delivery, std::uint64_t ns);
  static std::uint64_t with_dearness(std::uint64_t steps, double times) noexcept;

  const EntityRegistry& registry_;
  const ServerLimits& limits_;
  TimerBudget timer_budget_;
  WorldBudget world_budget_;
  std::uint64_t steps_ = 0;
  std::unordered_map<TypeId, double> dearness_;  // factors above 1 for messages with slow handlers
  TypeId known_type_ = 0;                        // message type for which steps_of_known() returns
                                                 // a result, or 0
  std::uint64_t known_steps_ = 0;                // steps of one message of that type, excluding its
                                                 // bytes
  std::vector<std::uint32_t> marks_;             // number of the most recent walk that visited each
                                                 // entity, by index
  std::uint32_t walk_ = 0;
};

/// Returns true if the entity's id was granted to the seat.
bool owns(const Seat& seat, Entity e) noexcept;

}  // namespace muster
