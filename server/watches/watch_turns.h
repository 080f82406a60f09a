// Manages the watches of all sessions on the watch thread. Takes Looks, orders, and events from the
// world thread, in order, and gives each watch its turns. Never accesses the registry.
//
//   look      -> SeenWorld, RecentChanges        once for all watches
//   order     -> Watch                           opens, changes, or closes a watch
//   events    -> tell_events                     each watch that requested events
//   turn      -> Watch::catch_up, Watch::send    in the order of turn_order.h
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "server/mirror/look.h"
#include "server/mirror/recent_changes.h"
#include "server/mirror/seen_world.h"
#include "server/session/session.h"
#include "server/watches/turn_order.h"
#include "server/watches/watch.h"
#include "server/watches/watch_events.h"

namespace muster {

/// An order from the world thread to a watch. The watch is identified by its number.
struct WatchOrder {
  struct Open {
    std::shared_ptr<Session> session;
    std::uint64_t request;
    WatchAsked asked;
    std::shared_ptr<WatchFigures> figures;
    bool resumed = false;  ///< true if it was open before its session was resumed
  };
  struct Become {
    std::uint64_t request;
    WatchAsked asked;
  };
  struct Change {
    std::uint64_t request;
    session::FollowMore what;
  };
  /// Continues a watch on the current connection of its session.
  struct Resume {
    std::shared_ptr<Session> session;
    std::uint64_t sequence;  ///< see Watch::resume(); 0 to open the watch anew
    WatchAsked asked;        ///< used if the watch is opened anew
  };
  struct Close {
    /// If set, number of the request to answer with Unwatched.
    std::optional<std::uint64_t> request;
  };
  /// `sequence` is the world's sequence number at the time when the order was given.
  std::uint64_t watch = 0, sequence = 0;
  std::variant<Open, Become, Change, Resume, Close> what;
};
struct NoWatches {};
/// A Look after which users see other places or types.
struct SeenLook {
  std::shared_ptr<Look> look;
  std::vector<std::shared_ptr<const WatchSight>> sights;
};
using WatchNews = std::variant<std::shared_ptr<Look>, SeenLook, TextNews, EventNews, WatchOrder, NoWatches>;

/// Must be used by only one thread.
class WatchTurns {
 public:
  /// `processor_ns` returns the processor time of this thread. If it is null, there is no time
  /// limit, and every watch gets a turn each time.
  explicit WatchTurns(std::function<std::uint64_t()> processor_ns)
      : processor_ns_(std::move(processor_ns)), recent_(world_) {}

  void take_in(WatchNews news);

  struct Turn {
    bool more = false;  ///< true if the time ran out although the queues still had room

    /// Time until the next watch that is waiting for its rate or budget is due, or 0 if there is
    /// none.
    std::uint64_t due_in_ns = 0;
    std::uint64_t watches = 0;  ///< number of watches that had a turn
  };
  /// Gives watches their turns. Takes about `ns_max` of processor time, plus the time that one
  /// watch needs to find its changes.
  Turn turn(std::uint64_t steady_now_ns, std::uint64_t ns_max);
  /// Returns true if the time ran out for a watch that had been opened or changed.
  bool more() const noexcept { return more_; }
  /// Returns the steady-clock time from which another Look is useful, or the maximum value if all
  /// watches are waiting for their sessions to read.
  std::uint64_t look_due_ns() const;

  /// marks() returns the number of marks in all watches, and turns_max() returns the largest number
  /// of turns taken at once. Both are for tests and statistics.
  std::size_t marks() const;
  std::uint64_t turns_max() const noexcept { return turns_max_; }
  /// Returns how many times a watch has reused rows that another watch had encoded.
  std::uint64_t equal_rows() const noexcept { return equal_rows_.hits(); }

 private:
  void take_in(Look& look, std::span<const std::shared_ptr<const WatchSight>> sights);
  void obey(WatchOrder& order);
  std::unique_ptr<Watch>* find(std::uint64_t number);
  void resume(std::unique_ptr<Watch>& watch, WatchOrder& order);
  void forget_changes();
  void send(Watch& watch);
  void bound_memory();
  std::uint64_t processor_ns() const { return processor_ns_ ? processor_ns_() : 0; }

  const std::function<std::uint64_t()> processor_ns_;
  SeenWorld world_;
  RecentChanges recent_;
  EqualRows equal_rows_;
  Watch::Shared shared_{world_, recent_, equal_rows_};
  std::vector<std::unique_ptr<Watch>> watches_;  // in the order in which they were opened
  TurnOrder order_;
  std::uint64_t turns_max_ = 0;
  bool more_ = false;
};

}  // namespace muster
