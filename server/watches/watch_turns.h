// The watches of all sessions, on the side that is told: takes in what the world's thread hands over, in its order, and gives each watch
// its turn. It asks the world nothing.
//
//   look      -> SeenWorld, RecentChanges        once for all watches
//   order     -> Watch                           opens, changes, closes one
//   events    -> tell_events                     each watch that wants such
//   turn      -> Watch::catch_up, Watch::send    in the order of turn_order.h
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "server/session/session.h"
#include "server/watches/look.h"
#include "server/watches/recent_changes.h"
#include "server/watches/seen_world.h"
#include "server/watches/turn_order.h"
#include "server/watches/watch.h"
#include "server/watches/watch_events.h"

namespace muster {

/// What the world's thread says of watches. A watch is named by its number.
struct WatchOrder {
  struct Open {
    std::shared_ptr<Session> session;
    std::uint64_t request;
    WatchAsked asked;
    std::shared_ptr<WatchFigures> figures;
  };
  struct Become {
    std::uint64_t request;
    WatchAsked asked;
  };
  struct Change {
    std::uint64_t request;
    session::FollowMore what;
  };
  struct Close {
    std::optional<std::uint64_t> request;  ///< is answered by Unwatched
  };
  std::uint64_t watch = 0, sequence = 0;  ///< of the world when it was given
  std::variant<Open, Become, Change, Close> what;
};
struct NoWatches {};
using WatchNews = std::variant<std::shared_ptr<Look>, TextNews, EventNews, WatchOrder, NoWatches>;

/// One thread only.
class WatchTurns {
 public:
  /// `processor_ns`: that this thread has used; may be null: then every watch has a turn each time.
  explicit WatchTurns(std::function<std::uint64_t()> processor_ns)
      : processor_ns_(std::move(processor_ns)), recent_(world_) {}

  void take_in(WatchNews news);

  struct Turn {
    bool more = false;            ///< there was room, and no time
    std::uint64_t due_in_ns = 0;  ///< until a watch that is held back by its rate, or its budget, is due; 0: none is
    std::uint64_t watches = 0;    ///< that had one
  };
  /// Takes about `ns_max` of processor time, and what one watch needs to find out what concerns it.
  Turn turn(std::uint64_t steady_now_ns, std::uint64_t ns_max);
  /// Whether a watch that was opened or changed had room, and no time.
  bool more() const noexcept { return more_; }
  /// The steady time from which on a watch can tell what another look brings; the largest: none can until its session reads.
  std::uint64_t look_due_ns() const;

  /// How many entities are marked in all watches, and how many watches had a turn at once, at most: for tests and figures.
  std::size_t marks() const;
  std::uint64_t turns_max() const noexcept { return turns_max_; }
  /// How often rows that one watch told were told to another in the same bytes.
  std::uint64_t equal_rows() const noexcept { return equal_rows_.hits(); }

 private:
  void obey(WatchOrder& order);
  Watch* find(std::uint64_t number) const;
  void send(Watch& watch);
  void bound_memory();
  std::uint64_t processor_ns() const { return processor_ns_ ? processor_ns_() : 0; }

  const std::function<std::uint64_t()> processor_ns_;
  SeenWorld world_;
  RecentChanges recent_;
  EqualRows equal_rows_;
  Watch::Shared shared_{world_, recent_, equal_rows_};
  std::vector<std::unique_ptr<Watch>> watches_;  // in the order they were opened
  TurnOrder order_;
  std::uint64_t turns_max_ = 0;
  bool more_ = false;
};

}  // namespace muster
