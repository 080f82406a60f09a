// What sessions watch, and what each watch has still to be told. A watch keeps no values: only which rows to look at again when
// there is room in its session's queue. So a slow client costs a list of ids and gets the newest values when it is back,
// and the simulation never waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "registry/delivery/input_sink.h"
#include "server/session/changes.h"
#include "server/session/session.h"

namespace muster {

/// Owner's thread only.
class Watches {
 public:
  explicit Watches(EntityRegistry& registry);
  ~Watches();

  /// Opens a watch and sends Watching and as much of the state as the session's queue takes. Null, or the fault.
  [[nodiscard]] std::optional<session::Fault> open(std::shared_ptr<Session> session, std::uint64_t request,
                                                   const session::Watch& asked, std::size_t watches_max);
  /// False: there is no such watch.
  bool close(const Session& session, std::uint64_t watch);
  void close_all(const Session& session);
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(watches_.size()); }

  /// Before delivery of an input: keeps it if somebody watches such.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns);
  /// After a flush: finds what changed, and sends what there is room for. Returns in how many ns a watch that was held
  /// back by its rate is due; 0: none is.
  std::uint64_t after_flush(std::uint64_t steady_now_ns);

 private:
  struct Watch;
  struct Event {
    FrameEnvelope envelope;
    std::size_t offset = 0, bytes = 0;
    bool lost = false;  ///< the bytes were too many to keep
  };

  void note(const Changes::Found& found);
  void find_members(Watch& watch);
  bool send_events(Watch& watch);
  void send(Watch& watch);
  void mark_all(Watch& watch);
  void forget(Watch& watch);

  EntityRegistry& registry_;
  Changes changes_;
  std::vector<std::unique_ptr<Watch>> watches_;  // in the order they were opened
  std::size_t event_watches_ = 0;
  std::vector<Event> events_;
  std::vector<std::byte> event_bytes_;
  std::size_t types_known_ = 0;
};

}  // namespace muster
