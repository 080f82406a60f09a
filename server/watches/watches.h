// What sessions watch, as the world's thread sees it: it lists what changed (Looks), keeps events that are watched, and hands both over
// with what sessions ask, in one order. It compares nothing, asks no watch whom it concerns, and encodes nothing: that is done beside it,
// by a thread (WatchTurns), or by after_flush() where there is to be none.
//
//   world's thread   follow, after_flush ... Looks, EventKeeper -> news       hands over, and goes on
//   watch thread     news -> WatchTurns -> Outgoing of each session           reads columns where they lie, or as they were
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

#include "server/watches/looks.h"
#include "server/watches/watch_turns.h"
#include "system/mutex.h"

namespace muster {

/// Owner's thread only, but for room_came().
class Watches {
 public:
  /// Without a thread: after_flush() does all of it. `processor_ns`: that this thread has used; may be null: then every watch has a turn
  /// after each flush.
  explicit Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns = {});
  /// With one. `wake`: any thread: has the world flush soon; it is called where a look is of use again.
  struct Threaded {
    std::function<void()> wake;
  };
  Watches(EntityRegistry& registry, Threaded threaded);
  ~Watches();

  /// Opens a watch: Watching is sent, and the state. Null, or the fault.
  [[nodiscard]] std::optional<session::Fault> open(std::shared_ptr<Session> session, std::uint64_t request,
                                                   const session::Watch& asked, std::size_t watches_max);
  /// The same; or changes a watch: Following is sent, what is different, then Followed.
  [[nodiscard]] std::optional<session::Fault> follow(std::shared_ptr<Session> session, std::uint64_t request,
                                                     const session::Follow& asked, std::size_t watches_max);
  /// Changes a watch a little, likewise.
  [[nodiscard]] std::optional<session::Fault> follow_more(const Session& session, std::uint64_t request,
                                                          const session::FollowMore& asked);
  /// False: there is no such watch. Else nothing of it is sent any more, after Unwatched under `answered`, where that is given.
  bool close(const Session& session, std::uint64_t watch, std::optional<std::uint64_t> answered = {});
  void close_all(const Session& session);
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

  /// Before delivery of an input: keeps it if somebody watches such.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns) {
    events_.on_input(envelope, batch, clock_ns);
  }
  /// After a flush: lists what changed, where a watch is due. Returns in how many ns one is that was held back by its rate; 0: none.
  /// Without a thread it tells the watches besides, for about `ns_max` of processor time, and what one needs to find out.
  std::uint64_t after_flush(std::uint64_t steady_now_ns, std::uint64_t ns_max = ~std::uint64_t{0});
  /// A session's queue has room again. Any thread. False: without a thread; the next after_flush() sees it.
  bool room_came();
  /// That they are of, each watch counted by itself; of those that are about to be opened, what they may be of.
  std::uint64_t entities() const;
  struct OfSession {
    std::uint32_t watches = 0;
    std::uint64_t entities = 0;   ///< that they are of
    std::uint64_t oldest_ns = 0;  ///< no value that they owe is older; 0: they owe none
  };
  std::unordered_map<const Session*, OfSession> by_session() const;
  /// Whether the thread has done what it was told of watches: opened, changed or closed them. False: `wake` is called when it has.
  bool orders_done();
  /// Processor time that this took since it was asked for last. ns. Without a thread 0.
  std::uint64_t take_orders_ns() noexcept { return orders_ns_.exchange(0, std::memory_order_relaxed); }
  /// Processor time of the thread, if there is one.
  std::uint64_t thread_ns() const noexcept { return thread_ns_.load(std::memory_order_relaxed); }

  /// What was done for watches, and when; for a trace.
  struct Slice {
    std::uint64_t begin_ns = 0, ns = 0;  ///< steady clock
    std::uint64_t count = 0;             ///< chunks that changed; of the thread, watches that had a turn
    bool beside = false;                 ///< by the thread
  };
  /// Whether slices are kept from now on, slices_max of them until they are taken.
  void record(bool on) noexcept { recording_ = on; }
  static constexpr std::size_t slices_max = 4096;
  std::vector<Slice> take_slices();

  /// Whether somebody watches what handlers push: it costs the registry something only then.
  bool hears_pushed() const noexcept { return events_.hears_pushed(); }
  /// Without a thread: whether watches wait for their turn; how many entities are marked in all of them; how many had a turn after one
  /// flush, at most.
  bool can_go_on() const noexcept { return can_go_on_; }
  std::size_t marks() const { return turns_.marks(); }
  std::uint64_t turns_max() const noexcept { return turns_.turns_max(); }
  /// And how often rows were told in the bytes that another watch had made of them.
  std::uint64_t equal_rows() const noexcept { return turns_.equal_rows(); }

 private:
  /// What a watch wants of the looks.
  struct Wants {
    std::vector<TypeId> components;
    bool links = false, texts = false;
  };
  struct Entry {
    std::shared_ptr<Session> session;
    std::uint64_t request = 0, number = 0;
    WatchAsked asked;            // the lists of entities are empty
    std::uint64_t entities = 0;  // that it may be of, until it is open
    Wants wants;
    std::shared_ptr<WatchFigures> figures;
  };

  std::optional<session::Fault> may_open(const Session& session, std::uint64_t request, std::size_t watches_max) const;
  Entry* find(const Session& session, std::uint64_t request);
  const Entry* find(const Session& session, std::uint64_t request) const;
  /// That can be changed now.
  std::expected<Entry*, session::Fault> find_changeable(const Session& session, std::uint64_t watch,
                                                        std::uint64_t request);
  void add(std::shared_ptr<Session> session, std::uint64_t request, WatchAsked asked);
  Wants wants_of(const WatchAsked& asked, bool listing) const;
  void want(const Wants& wants);
  void drop(const Wants& wants);
  void forget(Entry& entry);
  /// What happened until now.
  void hand_over();
  void hand_over_events();
  void give(std::uint64_t watch, decltype(WatchOrder::what) what);
  void put(WatchNews news);
  void run();
  void note(const Slice& slice);

  EntityRegistry& registry_;
  Looks looks_;
  EventKeeper events_;
  std::vector<Entry> entries_;
  std::size_t types_known_ = 0;
  std::uint64_t opened_ = 0;  // watches, for their numbers
  bool told_any_ = false;     // a look was handed over since nobody watched
  bool can_go_on_ = false;
  std::size_t chunks_listed_ = 0;  // in the last look

  WatchTurns turns_;  // the thread's, where there is one
  const bool has_thread_;
  const std::function<void()> wake_;
  std::thread thread_;  // begins with the first watch
  Mutex mutex_;
  Condition came_;
  std::vector<WatchNews> news_ MUSTER_GUARDED_BY(mutex_);
  bool room_ MUSTER_GUARDED_BY(mutex_) = false, stops_ MUSTER_GUARDED_BY(mutex_) = false;
  /// The world passed over a look: it comes again at this time, or when it is woken. 0: it did not.
  std::uint64_t world_waits_until_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<Slice> slices_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> recording_ = false;
  std::atomic<std::uint64_t> thread_ns_ = 0;
  std::uint64_t orders_given_ = 0;
  std::atomic<std::uint64_t> orders_done_ = 0, orders_ns_ = 0;
  std::atomic<bool> orders_wanted_ = false;
  std::atomic<std::uint64_t> look_due_ns_ = 0;
  std::atomic<std::size_t> event_bytes_ = 0;  // that were handed over and not told
};

}  // namespace muster
