// What watches tell of messages: inputs, and what handlers push and timers deliver. The world's thread keeps those that somebody watches,
// within a bound, from one flush to the next; whoever tells them gets them all at once. Values are kept for a slow client, these are not:
// it is told by a Gap how many it lost.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "registry/delivery/input_sink.h"
#include "registry/delivery/pushed_sink.h"
#include "registry/entity_registry.h"
#include "server/watches/watch.h"

namespace muster {

/// Of one or several flushes.
struct EventNews {
  struct Event {
    FrameEnvelope envelope;
    std::size_t offset = 0;
    TypeId type = 0;
    bool lost = false;  ///< the bytes were too many to keep
    bool pushed = false;
  };
  std::vector<Event> events;
  std::vector<std::byte> bytes;
  std::uint64_t pushed_overflow = 0,
                pushed_overflow_through = 0;  ///< batches that were too many to keep; the last's input
  std::shared_ptr<const TypeTable> types;     ///< that the batches are of
  bool empty() const noexcept { return events.empty() && pushed_overflow == 0; }
};

/// Keeps what is watched. Owner's thread only.
class EventKeeper final : private PushedSink {
 public:
  explicit EventKeeper(EntityRegistry& registry) : registry_(registry) {}
  ~EventKeeper() override;
  EventKeeper(const EventKeeper&) = delete;
  EventKeeper& operator=(const EventKeeper&) = delete;

  /// Somebody watches what this asks for, from now on, until drop() of the same.
  void want(const WatchAsked& asked);
  void drop(const WatchAsked& asked);
  bool wanted() const noexcept { return users_ > 0; }
  bool hears_pushed() const noexcept { return !pushed_.empty(); }

  /// Before delivery of an input.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns) {
    if (users_ > 0) note(envelope, batch, clock_ns);
  }
  /// Those since the last call. `room`: what may be kept until the next one, in bytes.
  EventNews take(std::size_t room);
  bool empty() const noexcept { return news_.empty(); }

 private:
  void on_pushed(const BatchView& batch) noexcept override;
  void note(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns);
  void keep(std::span<const std::byte> batch, const FrameEnvelope& envelope, bool pushed);
  bool wants_input(TypeId type) const;

  EntityRegistry& registry_;
  std::vector<WatchAsked> inputs_;                    // that want inputs: their types alone
  std::unordered_map<TypeId, std::uint32_t> pushed_;  // who wants each type
  std::size_t users_ = 0;
  FrameEnvelope last_;  // of the last input
  EventNews news_;
  std::size_t room_ = std::size_t{64} << 20, pushed_bytes_ = 0;
  BatchBuilder plain_;  // a batch without its causes
  std::shared_ptr<const TypeTable> types_;
  std::size_t schemas_known_ = 0;
};

/// Tells a watch those of the events that concern it. Where the session's queue is full they are counted, and told by a Gap when there is
/// room. One thread only.
void tell_events(Watch& watch, const SeenState& world, const EventNews& news);
/// Tells the Gap that is owed, where there is room.
void tell_gap(Watch& watch);

}  // namespace muster
