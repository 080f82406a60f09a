// Takes what sessions sent into the world: edits are costed and pushed one by one, so that each is judged against the world as it
// finds it; questions go on to their queue. Sessions take turns, and a turn is bounded in steps, or in the time that they should
// take, where edits take longer. A session that would be done first comes first: one that sends little waits for one edit of another, not for
// one of each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/edits/edit_cost.h"
#include "server/questions/question_queue.h"
#include "server/session/world_side.h"

namespace muster {

/// What was taken, for tests and figures.
struct IntakeCounters {
  std::uint64_t edits = 0;           ///< that went into the world
  std::uint64_t refused = 0;         ///< that were not let in: the world saw nothing of them
  std::uint64_t steps = 0;           ///< as edits were costed
  std::uint64_t take_steps_max = 0;  ///< of the dearest call of take
};

/// Owner's thread only.
class Intake {
 public:
  /// Questions go to `questions`. All outlive it.
  Intake(EntityRegistry& registry, const ServerLimits& limits, const WorldSide& world, QuestionQueue& questions)
      : registry_(registry), limits_(limits), world_(world), questions_(questions), judge_(registry, limits) {}

  void add(std::shared_ptr<Session> session);
  /// Forgets the session, and what it sent.
  void remove(const Session& session);

  /// Takes what sessions sent, for about `steps` steps; an edit that is dearer than what is left of them is taken where it is
  /// the first, or was put off once.
  void take(std::uint64_t steps) { take(steps, false); }
  /// Takes those that cost little only.
  void take_cheap(std::uint64_t steps) { take(steps, true); }
  /// For what is done seldom and brings the world something for good, as this edit would: the fault where it would exceed a
  /// limit; else it counts as the session's.
  [[nodiscard]] std::optional<session::Fault> admit(Session& from, BatchView edit);
  /// Whether there is more to be taken at once.
  bool can_go_on() const noexcept { return can_go_on_; }
  const IntakeCounters& counters() const noexcept { return counters_; }

 private:
  struct Line {
    std::shared_ptr<Session> session;
    std::uint64_t taken = 0;  // steps, counted from where the others were when it had something again
    bool idle = true;
    bool stands = false;           // there is nothing more to take from it in this call
    bool put_off = false;          // its next edit was too dear for what was left of a call
    std::uint64_t next_steps = 0;  // of its next edit, where it was judged and let others first
  };
  /// Processor time since the last look at it: of what was done for one request.
  std::uint64_t look_at_time();
  void take(std::uint64_t steps, bool cheap);
  /// Who would be done first. Null: nobody has anything.
  Line* next();
  /// Notes what the line's next edit costs. True: others would be done before it.
  bool others_first(Line& line, std::uint64_t steps);
  /// Takes messages of the game to one entity each, of which nobody wants to know what became, for as long as the next is one and costs
  /// little. As take_one, for less.
  void take_known(Line& line, Steps& turn, const Steps& all);
  /// False: the turn is over, and its next edit not taken.
  bool take_one(Line& line, Steps& turn, const Steps& all);
  /// Why no edit is taken, whatever it is. None: they are.
  std::optional<session::Fault> closed() const;
  void refuse(Line& line, const session::Fault& fault);
  /// Answers an edit that did not happen, and those whose place it took.
  static void tell_refused(Session& to, const Request& edit, const session::Fault& fault);
  /// The edit is answered, as of the last look at the time.
  void count_wait(Session& from, const Request& edit);
  void enter(Session& from, const EditCost& cost);
  void push(Session& from, const Request& edit, const EditCost& cost);

  EntityRegistry& registry_;
  const ServerLimits& limits_;
  const WorldSide& world_;
  QuestionQueue& questions_;
  EditJudge judge_;
  std::vector<Line> lines_;
  std::uint64_t clock_ = 0;   // `taken` of the line that was last taken from
  std::uint64_t now_ns_ = 0;  // processor time, as last looked at
  bool can_go_on_ = false;
  bool cheap_ = false;    // nothing dear is taken in this call
  bool put_off_ = false;  // an edit, in the last call
  IntakeCounters counters_;
};

}  // namespace muster
