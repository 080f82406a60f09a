// Passes requests from sessions to the world. Edits are judged and pushed one at a time, so that
// each is judged against the current world. Questions go to their queue. Sessions take turns, and a
// turn is bounded in steps, or in the time that the steps should take if edits take longer. The
// session that would finish first comes first, so a session that sends little waits for one edit of
// another session, rather than for one edit of every session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/edits/edit_cost.h"
#include "server/questions/question_queue.h"
#include "server/session/session.h"
#include "server/session/world_side.h"

namespace muster {

/// Counts of requests, for tests and statistics.
struct IntakeCounters {
  std::uint64_t edits = 0;           ///< entered the world
  std::uint64_t refused = 0;         ///< rejected before they reached the world
  std::uint64_t steps = 0;           ///< the computed costs of edits
  std::uint64_t take_steps_max = 0;  ///< steps of the most expensive call of take
};

/// World thread only.
class Intake {
 public:
  /// Questions go to `questions`. All arguments must outlive this object.
  Intake(EntityRegistry& registry, const ServerLimits& limits, const WorldSide& world, QuestionQueue& questions)
      : registry_(registry), limits_(limits), world_(world), questions_(questions), judge_(registry, limits) {}

  /// Takes the session's requests from now on, for its present seat.
  void add(std::shared_ptr<Session> session);
  /// Takes no more of the session's requests.
  void remove(const Session& session);

  /// Takes requests for about `steps` steps. An edit that costs more than the remaining steps is
  /// taken if it is the first one, or if it was postponed once before.
  void take(std::uint64_t steps) { take(steps, false); }
  /// Takes only requests with a low cost.
  void take_cheap(std::uint64_t steps) { take(steps, true); }
  /// Checks an edit that seldom work makes and that adds permanent objects to the world. Returns
  /// the fault if it would exceed a limit; otherwise counts it against the seat.
  [[nodiscard]] std::optional<session::Fault> admit(Seat& from, BatchView edit);
  /// True if there are more requests to take immediately.
  bool can_go_on() const noexcept { return can_go_on_; }
  const IntakeCounters& counters() const noexcept { return counters_; }

 private:
  struct Line {
    std::shared_ptr<Session> session;
    std::shared_ptr<Seat> seat;
    std::uint64_t taken = 0;  // steps; an idle line continues at the value of the others
    bool idle = true;
    bool stands = false;           // nothing more can be taken from the line in this call
    bool put_off = false;          // the line's next edit exceeded the remaining steps of a call
    std::uint64_t next_steps = 0;  // steps of the line's next edit, if it was judged and postponed
  };
  /// Returns the processor time since the last call, which is the time of one request.
  std::uint64_t look_at_time();
  void take(std::uint64_t steps, bool cheap);
  /// Returns the line that would finish first, or null if no line has requests.
  Line* next();
  /// Records the cost of the line's next edit. Returns true if others would finish before it.
  bool others_first(Line& line, std::uint64_t steps);
  /// Takes messages of the game that each go to one entity and request no answer, as long as the
  /// next request is such a message and has a low cost. Like take_one, but faster.
  void take_known(Line& line, Steps& turn, const Steps& all);
  /// Returns false if the turn is over and the next edit was not taken.
  bool take_one(Line& line, Steps& turn, const Steps& all);
  /// Returns the reason why no edits are accepted at all, or nothing if they are.
  std::optional<session::Fault> closed() const;
  void refuse(Line& line, const session::Fault& fault);
  /// Answers an edit that was refused, and the edits that it replaced.
  static void tell_refused(Session& to, const Request& edit, const session::Fault& fault);
  /// Records the wait of an answered edit, as of the last look_at_time().
  void count_wait(Seat& from, const Request& edit);
  void enter(Seat& from, const EditCost& cost);
  void push(Line& line, const Request& edit, const EditCost& cost);

  EntityRegistry& registry_;
  const ServerLimits& limits_;
  const WorldSide& world_;
  QuestionQueue& questions_;
  EditJudge judge_;
  std::vector<Line> lines_;
  std::uint64_t clock_ = 0;   // `taken` of the line taken from last
  std::uint64_t now_ns_ = 0;  // processor time at the last look_at_time()
  bool can_go_on_ = false;
  bool cheap_ = false;    // only requests with a low cost are taken in this call
  bool put_off_ = false;  // an edit was postponed in the last call
  IntakeCounters counters_;
};

}  // namespace muster
