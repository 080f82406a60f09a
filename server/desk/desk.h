// Where sessions and the registry meet. The listener's thread puts edits and questions into the queue of their
// session and goes on. The world's thread takes them between inputs, pushes the edits, answers the questions,
// and queues receipts and changes for each session. It never waits for a socket.
//
//   listener's thread                         world's thread
//   desk.take_in(batch)   ... Requests ...    before_flush: edits are costed and pushed -> Ack       server/edits/intake.h
//                                             after_flush: questions are worked on in slices         server/questions/question_queue.h
//
// Questions are begun after what their session sent before them was pushed: a session reads its own writes. Both halves are
// bounded in steps; the next flush comes at once while there is more to do and no tick is due.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/entity_registry.h"
#include "server/edits/intake.h"
#include "server/edits/text_sweep.h"
#include "server/edits/timer_ids.h"
#include "server/figures/figures.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_queue.h"
#include "server/session/server_limits.h"
#include "server/world/flush_visitor.h"
#include "system/mutex.h"

namespace muster {

class Desk final : public FlushVisitor, private InputSink, private DeskSide {
 public:
  /// World thread. Registry and world outlive the desk. The code that drives the registry calls the two visits.
  Desk(EntityRegistry& registry, WorldSide& world, ServerLimits limits);
  ~Desk() override;

  // --- any thread

  /// A session that was let in, of the user with this number (0: it has a token of the server's own). Null where there are
  /// sessions_max already. `greet` is called before anybody else can send the session anything, so that a Welcome is the first that
  /// its client reads; it asks the desk for nothing but numbers.
  std::shared_ptr<Session> join(session::Role role, std::string name, std::string kind,
                                std::shared_ptr<Outgoing> outgoing, std::uint64_t user,
                                const std::function<void(Session&)>& greet);
  void leave(std::shared_ptr<Session> session);
  /// The batch was judged and is copied. False, and nothing taken, where the session has sent as much as may wait; at most
  /// requests_max questions are open for one session: see open_questions.
  /// `latest`: of a type of which only the last that waits counts, see Requests::put.
  [[nodiscard]] bool take_in(Session& session, std::uint64_t request, BatchView batch, bool for_world,
                             bool latest = false) {
    const bool took = take_next(session, request, batch, for_world, latest);
    hand_over(session);
    return took;
  }
  /// The same, where more of that session may come at once: the world comes to it after hand_over(), or before.
  [[nodiscard]] bool take_next(Session& session, std::uint64_t request, BatchView batch, bool for_world, bool latest);
  void hand_over(Session& session) {
    if (session.requests.hand_over()) wake();
  }

  /// The world's types and those of the session. Another table where the registry learned types.
  std::shared_ptr<const TypeTable> types() const;
  /// How many tables there were: who keeps the last one asks again where there is another.
  std::uint64_t types_made() const noexcept { return types_made_.load(std::memory_order_acquire); }
  /// A session's queue has room again for what it watches.
  void on_watch_room() {
    if (!watches_.room_came()) world_.wake();
  }
  std::uint32_t sessions() const;  ///< how many there are
  /// The Fault that ended a session, by its secret number, where one did: of those that are here, and the last ended_max that are gone.
  std::optional<session::Fault> why_ended(std::uint64_t session_id) const;
  static constexpr std::size_t ended_max = 1024;
  /// Has `then` called on the owner's thread with the figures of the world as they are after the next flush, which comes soon.
  void ask_figures(std::function<void(const Figures&)> then);
  /// Of WorldFacts, or drawn here.
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }
  std::uint64_t clock_ns() const noexcept { return clock_ns_.load(std::memory_order_relaxed); }
  const ServerLimits& limits() const noexcept { return limits_; }
  /// What the desk serves; the calls that any thread may make.
  WorldSide& world() const noexcept { return world_; }

  // --- owner's thread

  const QuestionCounters& question_counters() const noexcept { return questions_.counters(); }
  const IntakeCounters& intake_counters() const noexcept { return intake_.counters(); }
  std::size_t questions_waiting() const noexcept override { return questions_.size(); }
  void before_flush() override;
  void after_flush(EntityRegistry& registry) override;

 private:
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  bool wants_receipts(InputKind) const noexcept override { return false; }
  /// A flush is asked for once, until it comes.
  void wake();
  void learn_types() override;
  void end_sessions();
  void end_session(const std::shared_ptr<Session>& session);
  std::unique_ptr<Inquiry> begin(const Question& question);
  std::vector<std::shared_ptr<Session>> present() const override;
  std::vector<EndedSession> ended(std::size_t limit) const override;
  std::expected<session::Granted, session::Fault> grant(Session& to, std::uint32_t count) override;
  std::optional<session::Fault> admit(Session& from, BatchView edit) override { return intake_.admit(from, edit); }
  std::uint64_t uptime_ns() const override;
  std::uint64_t processor_ns() const { return world_.processor_ns(); }
  /// Tells all sessions where the disk has begun to fail, and `came` where it fails.
  void tell_of_disk(std::span<const std::shared_ptr<Session>> came);
  std::uint64_t keep_unused(std::vector<session::Granted>& grants) const;
  void return_unused(Session& from);
  void tell_figures();
  void work_on_questions();
  void let_edits_in();
  Figures figures() const;
  void trace_watches();

  EntityRegistry& registry_;
  WorldSide& world_;
  const ServerLimits limits_;
  const std::uint64_t epoch_;
  const std::uint64_t instance_;  // this desk, at random
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> sequence_ = 0, clock_ns_ = 0;

  std::atomic<bool> woken_ = false, figures_wanted_ = false;

  const std::shared_ptr<RequestBytes> requests_;  // of all sessions
  mutable Mutex mutex_;
  std::vector<std::function<void(const Figures&)>> figures_asked_ MUSTER_GUARDED_BY(mutex_);
  // By author.
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_ MUSTER_GUARDED_BY(mutex_);
  std::uint32_t authors_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::size_t ending_ MUSTER_GUARDED_BY(mutex_) = 0;  // sessions that left and whose requests wait
  std::vector<std::shared_ptr<Session>> came_ MUSTER_GUARDED_BY(mutex_), left_
      MUSTER_GUARDED_BY(mutex_);  // since the last flush
  std::shared_ptr<const TypeTable> types_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> types_made_ = 0;
  std::deque<EndedSession> ended_ MUSTER_GUARDED_BY(mutex_);  // by a Fault; the newest last

  // Owner's thread.
  std::vector<std::shared_ptr<Session>> leaving_;  // some of what they sent may not be taken yet
  QuestionQueue questions_;
  Intake intake_;
  Seldom seldom_, watches_seldom_;  // to open a watch is another thing than what holds it up for long
  TextKeeper texts_;
  TimerIds timer_ids_;
  Watches watches_;
  Observation observation_;
  SessionTrace trace_;
  ActivityCount activity_;
  ClockQuestions clock_;
  DurableQuestions durable_;
  const AnswerSources sources_;
  std::string disk_error_, save_error_;  // that sessions, and the log, were told
  std::size_t schemas_known_ = 0;
  std::uint64_t flush_begun_ns_ = 0, edits_taken_ns_ = 0;  // processor time
  bool questions_put_off_ = false, ends_put_off_ = false;  // in the last flush
  std::uint64_t wake_due_ns_ = 0;                          // steady clock, when the host was last asked to wake
};

}  // namespace muster
