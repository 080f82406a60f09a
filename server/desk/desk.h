// Where sessions and the registry meet. Sessions hand in questions from their threads and go on; the owner's thread takes
// them in step with the inbox, answers them between inputs, and passes on receipts and changes. Nobody waits for a socket.
//
//   session thread                        owner's thread
//   lane->put(batch)      ... inbox ...   flush: on_receipt -> Ack
//   desk.ask(question)    ... queue ...   before_flush takes it, after_flush answers: a session reads its own writes
//
// Questions are worked on in slices (server/desk/question_queue.h): one after each flush, and the next flush comes at once
// while there is more to do and no tick is due.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/entity_registry.h"
#include "server/desk/question_queue.h"
#include "server/desk/seldom.h"
#include "server/plugins/reloaded_plugin.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"
#include "server/session/session_trace.h"
#include "server/session/watches.h"
#include "server/world/flush_visitor.h"

namespace muster {

/// What a desk needs of those around it.
struct DeskHost {
  std::function<void()> wake;                              ///< any thread: has the world flush soon
  std::function<void(std::chrono::nanoseconds)> wake_in;   ///< owner's thread: wakes it after that time
  std::function<std::expected<void, std::string>()> save;  ///< owner's thread
  std::function<std::uint64_t()> durable_sequence;         ///< of the last input that is on the disk; any thread
  /// Owner's thread, between inputs: loads a plugin again (empty: all); what stands in the way. Null: there are none.
  std::function<std::expected<std::vector<ReloadedPlugin>, std::string>(std::string_view)> reload;
  std::function<std::vector<std::string>()> plugins;  ///< owner's thread: name and build of each
  std::string world;                                  ///< its name
  std::string server;                                 ///< the program's name and version
  double hz = 0;
};

class Desk final : public FlushVisitor, private InputSink {
 public:
  /// Owner's thread. Registry and host must outlive the desk. Whoever drives the registry calls the two visits.
  Desk(EntityRegistry& registry, DeskHost host, ServerLimits limits);
  ~Desk() override;

  // --- any thread

  /// A session that was let in. Null where there are sessions_max already.
  std::shared_ptr<Session> join(session::Role role, std::string name, std::string kind,
                                std::shared_ptr<Outgoing> outgoing);
  void leave(std::shared_ptr<Session> session);
  /// `question` was judged and is copied. At most requests_max are open for one session: see open_questions.
  void ask(std::shared_ptr<Session> session, std::uint64_t request, BatchView question);

  /// The world's types and those of the session. Another table where the registry learned types.
  std::shared_ptr<const TypeTable> types() const;
  std::uint32_t sessions() const;  ///< how many there are
  std::uint64_t instance() const noexcept { return instance_; }
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }
  std::uint64_t clock_ns() const noexcept { return clock_ns_.load(std::memory_order_relaxed); }
  const ServerLimits& limits() const noexcept { return limits_; }
  const DeskHost& host() const noexcept { return host_; }

  // --- owner's thread

  const QuestionCounters& question_counters() const noexcept { return questions_.counters(); }
  std::size_t questions_waiting() const noexcept { return questions_.size(); }
  void before_flush() override;
  void after_flush(EntityRegistry& registry) override;

 private:
  struct Refused {
    std::shared_ptr<Session> to;
    std::uint64_t request = 0;
    Receipt receipt;
  };

  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override;
  bool wants_receipts(InputKind kind) const noexcept override {  // those that may have an author
    return kind == InputKind::inbox || kind == InputKind::push;
  }
  void enqueue(Question question);  // without a batch: its session leaves
  void learn_types();
  void tell_refused(const Refused& refused);
  void take_questions();
  void end_session(const std::shared_ptr<Session>& session);
  std::unique_ptr<Inquiry> begin(const Question& question);
  std::unique_ptr<Inquiry> end_trace(const Asked& asked);
  std::unique_ptr<Inquiry> seldom(const Asked& asked, std::function<void()> work);
  void grant(Session& to, std::uint64_t request, std::uint32_t count);
  std::uint64_t keep_unused(std::vector<session::Granted>& grants) const;
  void return_unused(Session& from);
  void add_schema(Session& to, std::uint64_t request, std::span<const std::uint8_t> bfbs);
  void save(Session& to, std::uint64_t request);
  void reload(Session& to, std::uint64_t request, const std::string& plugin);
  void info(Session& to, std::uint64_t request, bool with_hash);

  EntityRegistry& registry_;
  const DeskHost host_;
  const ServerLimits limits_;
  const std::uint64_t instance_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> sequence_ = 0, clock_ns_ = 0;

  mutable std::mutex mutex_;                                              // of the following four
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;  // by author
  std::uint32_t authors_ = 0;
  std::vector<Question> asked_;
  std::shared_ptr<const TypeTable> types_;

  // Owner's thread.
  std::vector<Question> taken_;
  std::vector<Refused> refused_;
  QuestionQueue questions_;
  Seldom seldom_;
  Watches watches_;
  SessionTrace trace_;
  std::size_t schemas_known_ = 0;
  std::uint64_t wake_due_ns_ = 0;  // steady clock, when the host was last asked to wake
};

}  // namespace muster
