// Where sessions and the registry meet. The listener's thread puts edits and questions into the queue of their
// session and goes on. The world's thread takes them between inputs, pushes the edits, answers the questions,
// and queues receipts and changes for each session. It never waits for a socket.
//
//   listener's thread                         world's thread
//   desk.take_in(batch)   ... Requests ...    before_flush: edits are costed and pushed -> Ack       server/desk/intake.h
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
#include "server/desk/intake.h"
#include "server/desk/text_sweep.h"
#include "server/desk/timer_ids.h"
#include "server/plugins/reloaded_plugin.h"
#include "server/questions/clock_questions.h"
#include "server/questions/durable_questions.h"
#include "server/questions/question_queue.h"
#include "server/questions/seldom.h"
#include "server/session/activity_count.h"
#include "server/session/figures.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"
#include "server/session/session_trace.h"
#include "server/watches/watches.h"
#include "server/world/flush_visitor.h"
#include "system/mutex.h"

namespace muster {

/// What a desk needs of those around it.
struct DeskHost {
  std::function<void()> wake;                             ///< any thread: has the world flush soon
  std::function<void(std::chrono::nanoseconds)> wake_in;  ///< owner's thread: wakes it after that time
  using Saved = std::expected<void, std::string>;
  std::function<Saved()> save;  ///< owner's thread
  /// Owner's thread: begins a save of the state as it is; `then` is called between inputs when it is on the disk, or failed. False:
  /// one is under way; the host flushes when it is over. Null: `save` does it at once.
  std::function<bool(std::function<void(Saved)> then)> begin_save = {};
  std::function<std::uint64_t()> durable_sequence;  ///< of the last input that is on the disk; any thread
  DurableHost durable = {};                         ///< more of that
  /// What keeps the owner's thread from coming, a sentence; empty: nothing that is known. Any thread; may be null.
  std::function<std::string()> hang = {};
  /// One line for the log of whoever runs the server, on the owner's thread; may be null.
  std::function<void(const std::string&)> warn = {};
  /// Owner's thread, between inputs: loads a plugin again (empty: all); what stands in the way. Null: there are none.
  std::function<std::expected<std::vector<ReloadedPlugin>, std::string>(std::string_view)> reload;
  std::function<std::vector<std::string>()> plugins;  ///< owner's thread: name and build of each
  std::function<std::uint64_t()> processor_ns;        ///< any thread: that the owner's thread has used; may be null
  std::function<const TimeCounts&()> tick_times;      ///< owner's thread; may be null
  ClockHost clock = {};
  bool watch_thread = false;  ///< watches are told by a thread of their own; else after each flush, by the owner's
  std::uint64_t epoch = 0;    ///< of this start of the world: see World::epoch; 0: of the desk
  std::string world;          ///< its name
  std::string server;         ///< the program's name and version
};

class Desk final : public FlushVisitor, private InputSink {
 public:
  /// Owner's thread. Registry and host must outlive the desk. Whoever drives the registry calls the two visits.
  Desk(EntityRegistry& registry, DeskHost host, ServerLimits limits);
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
    if (!watches_.room_came()) host_.wake();
  }
  std::uint32_t sessions() const;  ///< how many there are
  /// The Fault that ended a session, by its secret number, where one did: of those that are here, and the last ended_max that are gone.
  std::optional<session::Fault> why_ended(std::uint64_t session_id) const;
  static constexpr std::size_t ended_max = 1024;
  /// Has `then` called on the owner's thread with the figures of the world as they are after the next flush, which comes soon.
  void ask_figures(std::function<void(const Figures&)> then);
  /// Of DeskHost; drawn here where that has none.
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }
  std::uint64_t clock_ns() const noexcept { return clock_ns_.load(std::memory_order_relaxed); }
  const ServerLimits& limits() const noexcept { return limits_; }
  const DeskHost& host() const noexcept { return host_; }
  std::uint64_t processor_ns() const { return host_.processor_ns ? host_.processor_ns() : 0; }  ///< see DeskHost
  std::string hang() const { return host_.hang ? host_.hang() : std::string(); }                ///< see DeskHost

  // --- owner's thread

  const QuestionCounters& question_counters() const noexcept { return questions_.counters(); }
  const IntakeCounters& intake_counters() const noexcept { return intake_.counters(); }
  std::size_t questions_waiting() const noexcept { return questions_.size(); }
  void before_flush() override;
  void after_flush(EntityRegistry& registry) override;

 private:
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  bool wants_receipts(InputKind) const noexcept override { return false; }
  /// A flush is asked for once, until it comes.
  void wake();
  void learn_types();
  void end_sessions();
  void end_session(const std::shared_ptr<Session>& session);
  std::unique_ptr<Inquiry> begin(const Question& question);
  std::unique_ptr<Inquiry> end_trace(const Asked& asked);
  std::unique_ptr<Inquiry> drop_texts(const Asked& asked);
  std::vector<std::shared_ptr<Session>> present() const;
  /// Tells all sessions where the disk has begun to fail, and `came` where it fails.
  void tell_of_disk(std::span<const std::shared_ptr<Session>> came);
  std::unique_ptr<Inquiry> seldom(const Asked& asked, Seldom& seldom, std::function<void()> work);
  /// The same of what opens or changes a watch: the next one waits for the watches' thread, too.
  std::unique_ptr<Inquiry> opening(const Asked& asked, std::function<void()> work);
  void grant(Session& to, std::uint64_t request, std::uint32_t count);
  std::uint64_t keep_unused(std::vector<session::Granted>& grants) const;
  void return_unused(Session& from);
  void add_schema(Session& to, std::uint64_t request, std::span<const std::uint8_t> bfbs);
  std::unique_ptr<Inquiry> save(const Asked& asked);
  void reload(Session& to, std::uint64_t request, const std::string& plugin);
  void tell_figures();
  void work_on_questions();
  void let_edits_in();
  Figures figures() const;
  std::uint64_t uptime_ns() const;
  void load(Session& to, std::uint64_t request) const;
  void list_ended(Session& to, std::uint64_t request, std::uint32_t limit) const;
  void list_sessions(Session& to, std::uint64_t request, const session::ListSessions& what) const;
  void tell_activity(Session& to, std::uint64_t request, std::uint32_t limit);
  void trace_watches();
  void info(Session& to, std::uint64_t request, bool with_hash);

  EntityRegistry& registry_;
  const DeskHost host_;
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
  struct EndedSession {
    std::uint64_t session_id = 0, author = 0, user = 0, at_ns = 0;
    std::string name, kind;
    session::Fault why;
  };
  std::deque<EndedSession> ended_ MUSTER_GUARDED_BY(mutex_);  // by a Fault; the newest last

  // Owner's thread.
  std::vector<std::shared_ptr<Session>> leaving_;  // some of what they sent may not be taken yet
  Intake intake_;
  QuestionQueue questions_;
  Seldom seldom_, watches_seldom_;  // to open a watch is another thing than what holds it up for long
  TextKeeper texts_;
  TimerIds timer_ids_;
  Watches watches_;
  Observation observation_;
  SessionTrace trace_;
  ActivityCount activity_;
  ClockQuestions clock_;
  DurableQuestions durable_;
  std::string disk_error_, save_error_;  // that sessions, and the log, were told
  std::size_t schemas_known_ = 0;
  std::uint64_t flush_begun_ns_ = 0, edits_taken_ns_ = 0;  // processor time
  bool questions_put_off_ = false, ends_put_off_ = false;  // in the last flush
  std::uint64_t wake_due_ns_ = 0;                          // steady clock, when the host was last asked to wake
};

}  // namespace muster
