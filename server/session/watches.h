// What sessions watch (server/session/watch.h), and whose turn it is to be told.
//
// What changed is noted once for all watches, by entity (server/session/recent_changes.h). A watch finds out what of it concerns
// it when its turn comes: as many have a turn after a flush as a stated time allows, the others come first after the next one.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/session/changes.h"
#include "server/session/recent_changes.h"
#include "server/session/session.h"
#include "server/session/watch.h"
#include "server/session/watch_events.h"

namespace muster {

/// Owner's thread only.
class Watches {
 public:
  /// `processor_ns`: that this thread has used; may be null: then every watch has a turn after each flush.
  explicit Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns = {});
  ~Watches();

  /// Opens a watch and sends Watching and as much of the state as the session's queue takes. Null, or the fault.
  [[nodiscard]] std::optional<session::Fault> open(std::shared_ptr<Session> session, std::uint64_t request,
                                                   const session::Watch& asked, std::size_t watches_max);
  /// The same; or changes a watch, and sends as much of what is different as the queue takes, then Followed. Returns about how many
  /// entities were looked at for it.
  [[nodiscard]] std::expected<std::size_t, session::Fault> follow(std::shared_ptr<Session> session,
                                                                  std::uint64_t request, const session::Follow& asked,
                                                                  std::size_t watches_max);
  /// Changes a watch a little, likewise.
  [[nodiscard]] std::expected<std::size_t, session::Fault> follow_more(const Session& session, std::uint64_t request,
                                                                       const session::FollowMore& asked);
  /// False: there is no such watch.
  bool close(const Session& session, std::uint64_t watch);
  void close_all(const Session& session);
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(watches_.size()); }

  /// Before delivery of an input: keeps it if somebody watches such.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns) {
    events_.on_input(envelope, batch, clock_ns);
  }
  /// After a flush: finds what changed, and sends what there is room for. Returns in how many ns a watch that was held
  /// back by its rate is due; 0: none is. Takes about `ns_max` of processor time, and what one watch needs to find out. Where finding
  /// what changed takes much longer, that is all, and watches have their turns after the next flush.
  std::uint64_t after_flush(std::uint64_t steady_now_ns, std::uint64_t ns_max = ~std::uint64_t{0});
  /// That they are of, each watch counted by itself.
  std::uint64_t entities() const;
  /// How many entities are marked in all watches: for tests and figures.
  std::size_t marks() const;
  /// Whether somebody watches what handlers push: it costs the registry something only then.
  bool hears_pushed() const noexcept { return events_.hears_pushed(); }
  /// Whether watches wait for their turn.
  bool can_go_on() const noexcept { return can_go_on_; }
  /// How many had a turn after one flush, at most: for tests and figures.
  std::uint64_t turns_max() const noexcept { return turns_max_; }

 private:
  std::optional<session::Fault> may_open(const Session& session, std::uint64_t request, std::size_t watches_max) const;
  Watch* find(const Session& session, std::uint64_t request) const;
  /// That can be changed now.
  std::expected<Watch*, session::Fault> find_changeable(const Session& session, std::uint64_t watch,
                                                        std::uint64_t request) const;
  std::size_t add(std::shared_ptr<Session> session, std::uint64_t request, WatchAsked asked);
  void end_change(Watch& watch, std::uint64_t request);
  void send(Watch& watch);
  std::uint64_t next_turn_in(std::uint64_t now_ns) const;
  /// And forgets them.
  void tell_events(const std::function<bool()>& time_is_left);
  std::uint64_t processor_ns() const { return processor_ns_ ? processor_ns_() : 0; }

  EntityRegistry& registry_;
  const std::function<std::uint64_t()> processor_ns_;
  Changes changes_;
  RecentChanges recent_;
  WatchEvents events_;
  std::vector<std::unique_ptr<Watch>> watches_;  // in the order they were opened
  std::size_t types_known_ = 0;
  std::uint64_t opened_ = 0;     // watches, for their numbers
  std::uint64_t last_turn_ = 0;  // number of the watch that had the last turn
  std::uint64_t turns_max_ = 0;
  bool can_go_on_ = false;
  bool turns_put_off_ = false;  // after the last flush
};

}  // namespace muster
