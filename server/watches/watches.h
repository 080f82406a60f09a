// Manages the world thread's part of the sessions' watches. Lists changes (Looks), collects watched
// events, and passes both on in a single sequence, together with the sessions' requests. A separate
// thread (WatchTurns) compares, selects, and encodes. Without that thread, after_flush() does this
// work.
//
//   world thread     follow, after_flush ... Looks, EventKeeper -> news       passes news on and continues
//   watch thread     news -> WatchTurns -> Outgoing of each session           reads columns in place, or preserved copies
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/mirror/looks.h"
#include "server/session/seen_now.h"
#include "server/watches/watch_turns.h"
#include "system/mutex.h"

namespace muster {

/// Must be used only on the world thread, except for room_came().
class Watches {
 public:
  /// Creates watches without a thread, in which case after_flush() does all the work.
  /// `processor_ns` returns the processor time of this thread. If it is null, every watch gets a
  /// turn after each flush.
  explicit Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns = {});
  /// Creates watches with a thread. `wake` requests a flush. It may be called on any thread, and is
  /// called when another Look would be useful.
  struct Threaded {
    std::function<void()> wake;
  };
  Watches(EntityRegistry& registry, Threaded threaded);
  ~Watches();

  /// Opens or changes a watch. A new watch sends Watching and then the state. A changed watch sends
  /// Following, the differences, and then Followed. Returns a fault on failure.
  [[nodiscard]] std::optional<session::Fault> follow(std::shared_ptr<Session> session, std::uint64_t request,
                                                     const session::Follow& asked, std::size_t watches_max);
  /// Adds entities to a watch, drops entities from it, and opens and closes nodes. Sends the same
  /// frames as follow().
  [[nodiscard]] std::optional<session::Fault> follow_more(const Session& session, std::uint64_t request,
                                                          const session::FollowMore& asked);
  /// Closes a watch. If `answered` is given, sends Unwatched for that request. Afterwards, no
  /// further frames are sent for the watch. Returns false if the watch does not exist.
  bool close(const Session& session, std::uint64_t watch, std::optional<std::uint64_t> answered = {});
  /// Continues the watches of a resumed session, all at the same sequence, and opens those that do
  /// not exist. Each of them sends Resuming first. Closes the others, unless `asked.more` is set.
  /// `may_open` returns a Fault if a further watch may not be opened. The columns of `asked` must
  /// have equal lengths.
  session::WatchesResumed resume(const std::shared_ptr<Session>& session, const session::ResumeWatches& asked,
                                 std::size_t watches_max,
                                 const std::function<std::optional<session::Fault>()>& may_open);
  void close_all(const Session& session);
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

  /// Collects an input if it is watched. Must be called before the input is delivered.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns) {
    events_.on_input(envelope, batch, clock_ns);
  }
  /// Must be called after each flush. Lists changes if a watch is due. If watches are waiting
  /// because of their rates, returns the number of ns until the first of them is due. Otherwise,
  /// returns 0. Without a thread, also gives watches their turns, for about `ns_max` of processor
  /// time plus the time that one watch needs to find its changes.
  std::uint64_t after_flush(std::uint64_t steady_now_ns, std::uint64_t ns_max = ~std::uint64_t{0});
  /// Must be called when a session's queue has room again. May be called on any thread. Returns
  /// false if there is no thread, in which case the next after_flush() notices the room.
  bool room_came();
  /// Returns the total number of entities in all scopes. For watches that are about to open, an
  /// upper bound is used.
  std::uint64_t entities() const;
  struct OfSession {
    std::uint32_t watches = 0;
    std::uint64_t entities = 0;   ///< total number of entities in the watches' scopes
    std::uint64_t oldest_ns = 0;  ///< age of the oldest unsent value, or 0 if there is none
  };
  std::unordered_map<const Session*, OfSession> by_session() const;
  /// Returns the sum over all sessions of a user. `oldest_ns` is 0.
  OfSession of_user(std::uint64_t user) const;
  /// Returns true if the thread has executed all orders. Otherwise, `wake` is called once all
  /// orders have been executed.
  bool orders_done();
  /// Returns how much processor time, in ns, the thread has spent on orders since the previous
  /// call. Returns 0 if there is no thread.
  std::uint64_t take_orders_ns() noexcept { return orders_ns_.exchange(0, std::memory_order_relaxed); }
  /// Returns the processor time of the thread, or 0 if there is no thread.
  std::uint64_t thread_ns() const noexcept { return thread_ns_.load(std::memory_order_relaxed); }

  /// A piece of work on watches and its duration, for use in a trace.
  struct Slice {
    std::uint64_t begin_ns = 0, ns = 0;  ///< begin (steady clock) and duration
    /// Number of changed chunks or, on the watch thread, number of turns.
    std::uint64_t count = 0;
    bool beside = false;  ///< true for work on the watch thread
  };
  /// Sets whether slices are recorded. At most slices_max slices are kept until they are taken.
  void record(bool on) noexcept { recording_ = on; }
  static constexpr std::size_t slices_max = 4096;
  std::vector<Slice> take_slices();

  /// Returns true if messages from handlers are watched. Otherwise, such messages need not be
  /// passed to this object.
  bool hears_pushed() const noexcept { return events_.hears_pushed(); }
  /// The next three functions are for use without a thread. can_go_on() returns true if watches are
  /// waiting for a turn. marks() returns the total number of marks. turns_max() returns the largest
  /// number of turns after one flush.
  bool can_go_on() const noexcept { return can_go_on_; }
  std::size_t marks() const { return turns_.marks(); }
  std::uint64_t turns_max() const noexcept { return turns_.turns_max(); }
  /// Without a thread, returns how many times a watch has reused rows that another watch had
  /// encoded.
  std::uint64_t equal_rows() const noexcept { return turns_.equal_rows(); }

 private:
  /// The parts of looks that a watch needs.
  struct Wants {
    std::vector<TypeId> components;
    bool links = false, texts = false;
  };
  struct Entry {
    std::shared_ptr<Session> session;
    std::uint64_t request = 0, number = 0;
    WatchAsked asked;            // the request, without its lists of entities
    std::uint64_t entities = 0;  // upper bound on the size of the scope until the watch is open
    Wants wants;
    std::shared_ptr<WatchFigures> figures;
    std::shared_ptr<SeenNow> seen;  // what its user may see, or null
  };

  std::shared_ptr<SeenNow> seen_by(const Session& session) {
    return session.rights.rules ? seen_.of(session.rights.rules->sight()) : nullptr;
  }
  static std::shared_ptr<const WatchSight> sight_of(SeenNow* seen);
  /// Notices that the users of limited sight see other places or types. Returns what they see now.
  std::vector<std::shared_ptr<const WatchSight>> notice_sights();
  std::optional<session::Fault> may_open(const Session& session, std::uint64_t request, std::size_t watches_max) const;
  static std::uint64_t entities_of(const Entry& entry);
  Entry* find(const Session& session, std::uint64_t request);
  const Entry* find(const Session& session, std::uint64_t request) const;
  /// Finds a watch, and checks that the watch can currently be changed.
  std::expected<Entry*, session::Fault> find_to_change(const Session& session, std::uint64_t watch,
                                                       std::uint64_t request);
  void add(std::shared_ptr<Session> session, std::uint64_t request, WatchAsked asked, bool resumed = false);
  /// Replaces what a watch asks for.
  void ask(Entry& entry, const WatchAsked& asked);
  Wants wants_of(const WatchAsked& asked, bool listing) const;
  void want(const Wants& wants);
  void drop(const Wants& wants);
  void forget(Entry& entry);
  /// Passes on everything that has been collected so far.
  void pass_on_news();
  void pass_on_events();
  void give(std::uint64_t watch, decltype(WatchOrder::what) what);
  void put(WatchNews news);
  void run();
  void note(const Slice& slice);

  EntityRegistry& registry_;
  Looks looks_;
  EventKeeper events_;
  SeenNows seen_;
  std::vector<Entry> entries_;
  std::size_t types_known_ = 0;
  std::uint64_t opened_ = 0;  // total number of watches opened so far
  bool told_any_ = false;     // true if a Look has been passed on since the first watch was opened
  bool can_go_on_ = false;
  std::size_t chunks_listed_ = 0;  // number of chunks in the previous Look

  WatchTurns turns_;  // used by the watch thread if there is one, otherwise here
  const bool has_thread_;
  const std::function<void()> wake_;
  std::thread thread_;  // started with the first watch
  Mutex mutex_;
  Condition came_;
  std::vector<WatchNews> news_ MUSTER_GUARDED_BY(mutex_);
  bool room_ MUSTER_GUARDED_BY(mutex_) = false, stops_ MUSTER_GUARDED_BY(mutex_) = false;
  /// Time until which the world thread skips Looks unless it is woken, or 0 if it does not skip
  /// any.
  std::uint64_t world_waits_until_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<Slice> slices_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> recording_ = false;
  std::atomic<std::uint64_t> thread_ns_ = 0;
  std::uint64_t orders_given_ = 0;
  std::atomic<std::uint64_t> orders_done_ = 0, orders_ns_ = 0;
  std::atomic<bool> orders_wanted_ = false;
  std::atomic<std::uint64_t> look_due_ns_ = 0;
  // Size of the events that were passed on but not yet sent.
  std::atomic<std::size_t> event_bytes_ = 0;
};

}  // namespace muster
