// Connects sessions to the registry, each through a seat (server/session/session.h). The listener's
// thread adds edits and questions to their session's queue without waiting. The world thread takes
// them between inputs, pushes the edits, answers the questions, and queues receipts and changes for
// each session. The world thread never waits for a socket.
//
//   listener's thread                         world thread
//   desk.take_next(batch) ... Requests ...    before_flush: edits are costed and pushed -> Ack
//    server/edits/intake.h desk.pass_on()                            after_flush: questions in
//    slices, edits between them   server/questions/question_queue.h
//
// A question begins after the session's earlier edits have been pushed, so a session reads its own
// writes. The number of steps is limited for edits and for questions. While work remains and no
// tick is due, the next flush follows immediately.
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
#include <unordered_set>
#include <vector>

#include "registry/entity_registry.h"
#include "server/edits/intake.h"
#include "server/edits/made_things.h"
#include "server/edits/text_sweep.h"
#include "server/edits/timer_ids.h"
#include "server/figures/figures.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_queue.h"
#include "server/session/server_limits.h"
#include "server/session/shares.h"
#include "server/world/flush_visitor.h"
#include "server/world/journal/applied_requests.h"
#include "system/mutex.h"

namespace muster {

class Desk final : public FlushVisitor, private InputSink, private DeskSide {
 public:
  /// Must be constructed on the world thread. The registry and the world must outlive the desk. The
  /// code that drives the registry must call before_flush() and after_flush().
  Desk(EntityRegistry& registry, WorldSide& world, ServerLimits limits);
  ~Desk() override;

  // --- any thread, unless the declaration names one

  /// Returns the Fault of a further session with these rights, or nothing if there may be one. The
  /// Fault is `sessions_max` if the server has too many sessions, and `user_sessions_max` if the
  /// user has.
  std::optional<session::Fault> full_for(const Rights& rights, std::uint64_t user) const
      MUSTER_REQUIRES(listener_thread);
  /// Adds an accepted session with its first connection. `user` is the number of the session's
  /// user, or 0 if the session uses one of the server's own tokens. Returns null if full_for()
  /// would return a Fault. `greet` is called before anything else can be sent to the
  /// session, so that the client receives the Welcome first. `greet` must not call the desk except
  /// to read numbers. The session takes its seat at the beginning of the next flush.
  std::shared_ptr<Session> join(const Rights& rights, std::string name, std::string kind,
                                std::shared_ptr<Connection> connection, std::uint64_t user,
                                const std::function<void(Session&)>& greet, bool resumable = false)
      MUSTER_REQUIRES(listener_thread);
  /// Must be called when a connection has ended. If the connection belonged to a session, that
  /// session ends once all of its requests have been processed, unless it can be resumed: then it
  /// is away, and ends after resume_time_max. A session is not away if its client said Goodbye, if
  /// it was evicted, or if it was closed because of an error in the protocol.
  void leave(const Connection& connection) MUSTER_REQUIRES(listener_thread);
  /// A request to resume a session, whose proof (server/access/resume_key.h) has been accepted.
  struct ResumeAsked {
    std::uint64_t session = 0, user = 0;
    std::uint64_t epoch = 0, lineage = 0;  ///< as in session::Hello
  };
  /// The reason why a session was not resumed, as a word and as a sentence.
  struct NotResumed {
    const char* reason;
    std::string text;
  };
  /// Gives a session to a new connection. If the session has another connection, that one is told
  /// and closed. `greet` is called, like in join(), before anything else can be sent on the new
  /// connection; it must queue the Welcome there. A session of the world's previous process can be
  /// resumed within resume_time_max after the start of this desk; it then gets `rights`, `name` and
  /// `kind`.
  std::expected<std::shared_ptr<Session>, NotResumed> resume(const ResumeAsked& asked, const Rights& rights,
                                                             std::string name, std::string kind,
                                                             const std::shared_ptr<Connection>& connection,
                                                             const std::function<void(Session&)>& greet)
      MUSTER_REQUIRES(listener_thread);
  /// Ends the sessions of a user that are away, and drops their requests. Returns their number.
  std::uint32_t evict_away(std::uint64_t user) MUSTER_REQUIRES(listener_thread);
  std::uint32_t away_sessions() const;  ///< number of sessions that are away
  /// Accepts a copy of a batch that has passed judge(). Returns false, without accepting the batch,
  /// if the session has too many pending bytes. A session may have at most requests_max unanswered
  /// questions; see open_questions. If `latest` is set, only the last pending message of this type
  /// counts; see Requests::put. `came_ns` is the processor time of the world thread at which the
  /// request arrived; 0 means the current time. Several batches can be passed on together: the
  /// world may not see a batch until pass_on() is called.
  [[nodiscard]] bool take_next(Session& session, std::uint64_t request, BatchView batch, bool for_world, bool latest,
                               std::uint64_t came_ns = 0) MUSTER_REQUIRES(listener_thread);
  /// Passes the accepted batches of the session, if there are any, on to the world thread.
  void pass_on(Session& session) MUSTER_REQUIRES(listener_thread) {
    if (session.requests.pass_on()) wake();
  }

  /// Returns a table of the types of the world and of session messages. Whenever the registry
  /// learns types, a new table is created.
  std::shared_ptr<const TypeTable> types() const;
  /// Returns the number of tables created so far. If it has changed, call types() again.
  std::uint64_t types_made() const noexcept { return types_made_.load(std::memory_order_acquire); }
  /// Called when a session's queue has room for watches again.
  void on_watch_room() {
    if (!watches_.room_came()) world_.wake();
  }
  std::uint32_t sessions() const;  ///< number of sessions

  /// If a session with this secret number was ended by a Fault, returns that Fault. Searches the
  /// current sessions and the ended_max sessions that left most recently.
  std::optional<session::Fault> why_ended(std::uint64_t secret) const;
  static constexpr std::size_t ended_max = 1024;
  /// Requests a flush, and then calls `then` on the world thread with the world's figures as of
  /// that flush.
  void ask_figures(std::function<void(const Figures&)> then);
  /// Returns WorldSide::epoch(), or a random number.
  std::uint64_t epoch() const noexcept override { return epoch_.load(std::memory_order_relaxed); }
  /// Returns true if a run is on.
  bool is_playing() const noexcept { return playing_.load(std::memory_order_relaxed); }
  /// Returns WorldSide::lineage().
  std::uint64_t lineage() const noexcept { return lineage_.load(std::memory_order_relaxed); }
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }
  std::uint64_t clock_ns() const noexcept { return clock_ns_.load(std::memory_order_relaxed); }
  const ServerLimits& limits() const noexcept { return limits_; }
  /// Changes the limits before the next flush. Sessions keep the limits on their queues
  /// (`request_bytes_max` and those of `outgoing`), and all_request_bytes_max and
  /// wrong_token_delay_max stay as they are.
  void set_limits(const ServerLimits& limits);
  /// Calls `act` on the world thread before the next flush, while the listener's thread rests. May
  /// be called on any thread.
  void at_rest(std::function<void()> act);
  /// Returns what each user holds. Thread-safe.
  Shares& shares() noexcept { return shares_; }
  /// Returns the world that the desk serves. The caller may use only functions that may be called
  /// on any thread.
  WorldSide& world() const noexcept { return world_; }

  // --- world thread

  /// Gives an empty seat to a session that has no seat at this desk, and starts taking the
  /// session's edits. Must be called between inputs.
  void take_seat(const std::shared_ptr<Session>& session) MUSTER_REQUIRES(world_thread);
  /// Ends a session's seat: returns its unused ids to the world, and forgets its timers, texts, and
  /// counts. Pending timers stay in the world, and the ids that they will use stay granted until
  /// the timers have fired or been cancelled. The session keeps its connection, rights, watches,
  /// and open questions. Its pending requests are kept until it takes another seat, which it must
  /// do before any other function is called for it. Must be called between inputs.
  void leave_seat(const Session& session) MUSTER_REQUIRES(world_thread);

  /// Closes the connections of users whose sight has changed, and drops their questions and traces.
  /// Sessions that can be resumed go on when their clients connect again. Must be called while the
  /// listener's thread rests.
  void end_sights(const std::vector<std::uint64_t>& users) MUSTER_REQUIRES(world_thread);

  const QuestionCounters& question_counters() const noexcept MUSTER_REQUIRES(world_thread) {
    return questions_.counters();
  }
  const IntakeCounters& intake_counters() const noexcept MUSTER_REQUIRES(world_thread) { return intake_.counters(); }
  std::size_t questions_waiting() const noexcept override {
    world_thread.is_here();
    return questions_.size();
  }
  void before_flush() override;
  void after_flush(EntityRegistry& registry) override;
  void epoch_ends() override;
  void epoch_began(bool replaced) override;

 private:
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  bool wants_receipts(InputKind) const noexcept override { return false; }
  /// Requests a flush, unless one has already been requested.
  void wake();
  void learn_types() override;
  static void tell_visible_schemas(Session& to, const TypeTable& before, const TypeTable& now);
  /// Sends the schemas behind the first `known` ones.
  static void tell_schemas(Session& to, std::span<const std::vector<std::byte>> schemas, std::size_t known);
  struct Away {
    std::shared_ptr<Session> session;
    std::uint64_t until_ns;  // steady-clock time
  };
  bool is_of_earlier_desk(std::uint64_t session) const noexcept { return (session ^ instance_) >> 32 != 0; }
  void end_sessions() MUSTER_REQUIRES(world_thread);
  bool stays_away(const Session& session) const;
  /// Begins to end a session that is not in away_.
  void let_go(std::shared_ptr<Session> session) MUSTER_REQUIRES(mutex_);
  void end_away(std::deque<Away>::iterator at) MUSTER_REQUIRES(mutex_);
  /// Ends the sessions that have been away for too long. Returns the time, in ns, until the next
  /// one is due, or 0 if there is none.
  std::uint64_t end_away() MUSTER_REQUIRES(world_thread);
  std::expected<std::shared_ptr<Session>, NotResumed> resume_own(const ResumeAsked& asked,
                                                                 const std::shared_ptr<Connection>& connection,
                                                                 const std::function<void(Session&)>& greet)
      MUSTER_REQUIRES(listener_thread);
  void end_session(const std::shared_ptr<Session>& session) MUSTER_REQUIRES(world_thread);
  std::unique_ptr<Inquiry> begin(const Question& question) MUSTER_REQUIRES(world_thread);
  std::shared_ptr<SeenNow> seen_by(const Session& session) MUSTER_REQUIRES(world_thread) {
    return session.rights.rules ? seen_.of(session.rights.rules->sight()) : nullptr;
  }
  std::vector<std::shared_ptr<Session>> present() const override;
  std::vector<EndedSession> ended(std::size_t limit) const override;
  std::expected<session::Granted, session::Fault> grant(Session& to, std::uint32_t count) override;
  std::optional<session::Fault> admit(Session& from, BatchView edit) override {
    world_thread.is_here();
    return intake_.admit(from, edit);
  }
  std::expected<session::WouldChange, session::Fault> try_edit(const Session& from, const session::DryRun& what,
                                                               bool keeps_history) override {
    world_thread.is_here();
    return intake_.try_edit(from, what, keeps_history);
  }
  std::uint64_t uptime_ns() const override;
  std::uint64_t processor_ns() const { return world_.processor_ns(); }
  /// Notifies all sessions when the disk begins to fail. While the disk is failing, notifies the
  /// new sessions in `came`.
  void tell_of_disk(std::span<const std::shared_ptr<Session>> came) MUSTER_REQUIRES(world_thread);
  std::uint64_t keep_unused(std::vector<session::Granted>& grants) const;
  /// Returns the Fault if all sessions of the user together would have too many unused ids after a
  /// grant of `more`.
  std::optional<session::Fault> refuses_ids(const Session& to, std::uint32_t more) const;
  void return_unused(Seat& from) MUSTER_REQUIRES(world_thread);
  void tell_figures() MUSTER_REQUIRES(world_thread);
  void work_on_questions() MUSTER_REQUIRES(world_thread);
  void let_edits_in() MUSTER_REQUIRES(world_thread);
  Figures figures() const MUSTER_REQUIRES(world_thread);
  void trace_watches() MUSTER_REQUIRES(world_thread);

  EntityRegistry& registry_;
  WorldSide& world_;
  void call_at_rest();

  ServerLimits limits_;  // changed on the world thread while the listener's thread rests
  std::atomic<bool> rest_wanted_ = false;
  std::atomic<std::uint64_t> epoch_ = 0;
  std::atomic<bool> playing_ = false;
  std::atomic<std::uint64_t> lineage_ = 0;
  const std::uint64_t instance_;  // random, identifies this desk
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> sequence_ = 0, clock_ns_ = 0;

  std::atomic<bool> woken_ = false, figures_wanted_ = false;

  const std::shared_ptr<RequestBytes> requests_;  // shared by all sessions
  mutable Mutex mutex_;
  std::vector<std::function<void(const Figures&)>> figures_asked_ MUSTER_GUARDED_BY(mutex_);
  // Keyed by SessionIdentity::number.
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_ MUSTER_GUARDED_BY(mutex_);
  std::uint32_t numbers_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::size_t ending_ MUSTER_GUARDED_BY(mutex_) = 0;  // sessions that left with pending requests

  // Sessions added since the last flush.
  std::vector<std::shared_ptr<Session>> came_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Session>> left_ MUSTER_GUARDED_BY(mutex_);
  // Sessions that were resumed since the last flush.
  std::vector<std::shared_ptr<Session>> returned_ MUSTER_GUARDED_BY(mutex_);
  std::deque<Away> away_ MUSTER_GUARDED_BY(mutex_);  // in the order in which they left
  // Epochs of this desk, and numbers of ended sessions that began at an earlier desk.
  std::vector<std::uint64_t> epochs_ MUSTER_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> ended_earlier_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<const TypeTable> types_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> at_rest_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> types_made_ = 0;
  // Sessions ended by a Fault, newest last.
  std::deque<EndedSession> ended_ MUSTER_GUARDED_BY(mutex_);

  std::vector<std::shared_ptr<Session>> leaving_
      MUSTER_GUARDED_BY(world_thread);  // some of their requests may still be pending
  Shares shares_;                       // thread-safe
  MadeThings made_;
  SeenNows seen_;
  AppliedRequests own_applied_;  // used if the world does not remember them
  AppliedRequests& applied_;
  bool earlier_forgotten_ MUSTER_GUARDED_BY(world_thread) =
      false;  // requests of sessions of an earlier desk that did not return
  QuestionQueue questions_;
  Intake intake_;
  Seldom seldom_, watches_seldom_;  // scheduled separately, because opening a watch is quick
  TextKeeper texts_;
  std::optional<TimerIds> timer_ids_;  // always set
  Watches watches_;
  Observation observation_;
  SessionTrace trace_;
  ActivityCount activity_;
  ClockQuestions clock_;
  DurableQuestions durable_;
  HistoryQuestions history_;
  FollowedLog log_;
  const AnswerSources sources_;
  std::string disk_error_ MUSTER_GUARDED_BY(world_thread), save_error_
      MUSTER_GUARDED_BY(world_thread);  // state most recently reported to sessions and the log
  std::size_t schemas_known_ MUSTER_GUARDED_BY(world_thread) = 0;
  std::uint64_t flush_begun_ns_ MUSTER_GUARDED_BY(world_thread) = 0, edits_taken_ns_ MUSTER_GUARDED_BY(world_thread) =
                                                                         0;  // processor time
  bool questions_put_off_ MUSTER_GUARDED_BY(world_thread) = false, ends_put_off_ MUSTER_GUARDED_BY(world_thread) =
                                                                       false;  // in the last flush
  // Steady-clock time of the most recent wake request.
  std::uint64_t wake_due_ns_ = 0;
};

}  // namespace muster
