// Passes requests from sessions to the world. Edits are judged and pushed one at a time, so that
// each is judged against the current world. Questions go to their queue. Sessions take turns. A
// turn is limited to a number of steps or, if edits take longer than estimated, to the time that
// these steps should take. The session whose next edit would finish first goes first. As a result,
// a session that sends little waits for a single edit of another session rather than for an edit of
// every session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/edits/edit_cost.h"
#include "server/edits/made_things.h"
#include "server/questions/question_queue.h"
#include "server/session/seen_now.h"
#include "server/session/session.h"
#include "server/session/world_side.h"
#include "server/world/journal/applied_requests.h"

namespace muster {

/// Counts of requests, for tests and statistics.
struct IntakeCounters {
  std::uint64_t edits = 0;           ///< edits that entered the world
  std::uint64_t refused = 0;         ///< edits rejected before they reached the world
  std::uint64_t steps = 0;           ///< total computed cost of edits
  std::uint64_t take_steps_max = 0;  ///< steps in the most expensive call to take()
};

/// Everything but the constructor must be used on the world thread.
class Intake {
 public:
  /// `questions` receives the questions. All arguments must outlive this object.
  Intake(EntityRegistry& registry, const ServerLimits& limits, const WorldSide& world, QuestionQueue& questions,
         MadeThings& made, AppliedRequests& applied, SeenNows& seen)
      : registry_(registry),
        limits_(limits),
        world_(world),
        questions_(questions),
        made_(made),
        applied_(applied),
        seen_(seen),
        judge_(registry, limits) {}

  /// Starts taking the session's requests on behalf of its current seat.
  void add(std::shared_ptr<Session> session) MUSTER_REQUIRES(world_thread);
  /// Stops taking the session's requests.
  void remove(const Session& session) MUSTER_REQUIRES(world_thread);

  /// Takes requests for about `steps` steps. An edit that costs more than the remaining steps is
  /// taken only if it is the first edit of the call or has already been postponed once.
  void take(std::uint64_t steps) MUSTER_REQUIRES(world_thread) { take(steps, false); }
  /// Takes only requests with a low cost.
  void take_cheap(std::uint64_t steps) MUSTER_REQUIRES(world_thread) { take(steps, true); }
  /// Checks an edit that seldom work makes and that adds permanent objects to the world. If the
  /// edit would exceed a limit, returns the fault. Otherwise, counts the edit toward the limits of
  /// the session's seat and user.
  [[nodiscard]] std::optional<session::Fault> admit(const Session& from, BatchView edit) MUSTER_REQUIRES(world_thread);
  /// Returns the changes that an edit of the session would make now, or the fault that it would
  /// get. Nothing changes. Without a history, the world refuses a Step.
  [[nodiscard]] std::expected<session::WouldChange, session::Fault> try_edit(const Session& from,
                                                                             const session::DryRun& what,
                                                                             bool keeps_history)
      MUSTER_REQUIRES(world_thread);
  /// Returns true if further requests can be taken immediately.
  bool can_go_on() const noexcept MUSTER_REQUIRES(world_thread) { return can_go_on_; }
  /// Sets the epoch. From now on, edits of sessions that have not entered it are refused.
  void set_epoch(std::uint64_t epoch) noexcept MUSTER_REQUIRES(world_thread) { epoch_ = epoch; }
  const IntakeCounters& counters() const noexcept { return counters_; }

 private:
  struct Line {
    std::shared_ptr<Session> session;
    std::shared_ptr<Seat> seat;
    std::uint64_t taken = 0;  // steps used; an idle line continues at clock_
    bool idle = true;
    bool stands = false;           // no further request can be taken from the line in this call
    bool put_off = false;          // the next edit exceeded the remaining steps of an earlier call
    std::uint64_t next_steps = 0;  // steps of the next edit, if it was judged and postponed
    // Entities in the next edit that are hidden from the user (server/edits/hidden_targets.h).
    std::vector<Entity> hidden = {};
  };
  /// Returns the processor time used since the previous call, which is the time that one request
  /// took.
  std::uint64_t look_at_time();
  void take(std::uint64_t steps, bool cheap) MUSTER_REQUIRES(world_thread);
  /// Returns the line whose next request would finish first, or null if no line has requests.
  Line* next() MUSTER_REQUIRES(world_thread);
  /// Records the cost of the line's next edit. Returns true if other lines would finish before it.
  bool others_first(Line& line, std::uint64_t steps) MUSTER_REQUIRES(world_thread);
  /// Takes consecutive requests that are cheap, single-entity game messages and do not ask for an
  /// answer. Equivalent to repeated calls of take_one(), but faster.
  void take_known(Line& line, Steps& turn, const Steps& all) MUSTER_REQUIRES(world_thread);
  /// Takes the next request. Returns false if the turn is over and the next edit was not taken.
  bool take_one(Line& line, Steps& turn, const Steps& all) MUSTER_REQUIRES(world_thread);
  /// If all edits are currently refused, returns the reason. Otherwise, returns nothing.
  std::optional<session::Fault> closed() const;
  void refuse(Line& line, session::Fault fault) MUSTER_REQUIRES(world_thread);
  /// Answers an edit that a resumable session has sent again although it was handled. Returns false
  /// if the edit is new.
  bool answer_repeated(Session& from, const Request& edit);
  void answer_handled(Session& from, std::uint64_t request);
  /// Keeps the answer to an edit of a resumable session.
  void keep_refusal(Session& from, const Request& edit, const session::Fault& fault) const;
  void keep_applied(Session& from, const Request& edit, const Receipt& receipt);
  /// Answers a refused edit, as well as the edits that it replaced.
  void tell_refused(Session& to, const Request& edit, const session::Fault& fault);
  /// Records how long an answered edit waited, as of the previous look_at_time().
  void count_wait(Seat& from, const Request& edit);
  /// Returns the fault that the edit would get now, before the world itself judges it.
  std::optional<session::Fault> judge(const Session& from, BatchView edit);
  /// Judges what the sender of an EditIf expects, and replaces `edit` by the batch in it. Returns a
  /// fault if the world, as the sender sees it, is not as expected.
  std::optional<session::Fault> open_conditional(std::span<std::byte>& edit, SeenNow* sight, Steps& turn);
  /// Adds a line about an edit to the audit log. `fault` is null if the edit was accepted.
  void audit(const Session& from, const Request& edit, const session::Fault* fault, std::uint64_t sequence) const;
  void enter(Seat& from, const EditCost& cost);
  /// Pushes `batch`, which is the batch of the request or the one in its EditIf.
  void push(Line& line, const Request& edit, BatchView batch, const EditCost& cost) MUSTER_REQUIRES(world_thread);

  EntityRegistry& registry_;
  const ServerLimits& limits_;
  const WorldSide& world_;
  QuestionQueue& questions_;
  MadeThings& made_;
  AppliedRequests& applied_;
  SeenNows& seen_;
  EditJudge judge_;
  std::vector<Line> lines_;
  std::uint64_t epoch_ = 0;
  std::uint64_t clock_ = 0;   // `taken` of the line that was taken from most recently
  std::uint64_t now_ns_ = 0;  // processor time at the previous look_at_time()
  bool can_go_on_ = false;
  bool cheap_ = false;    // only requests with a low cost are taken in this call
  bool put_off_ = false;  // an edit was postponed in the previous call
  IntakeCounters counters_;
  session::EditIf conditional_;  // the EditIf that is being taken
};

}  // namespace muster
