// Collects and sends the events of watches. Events are inputs, and messages from handlers and
// timers. The world thread collects watched events between flushes, up to a limit, and passes them
// on together. Unlike values, events are not kept for a slow client. Instead, a Gap message reports
// how many events were lost.
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

/// The events of one or more flushes.
struct EventNews {
  struct Event {
    FrameEnvelope envelope;
    std::size_t offset = 0;
    TypeId type = 0;
    bool lost = false;  ///< true if the event's bytes exceeded the limit
    bool pushed = false;
  };
  std::vector<Event> events;
  std::vector<std::byte> bytes;
  /// Number of batches beyond the limit, and the sequence number of the input that contained the
  /// last of them.
  std::uint64_t pushed_overflow = 0, pushed_overflow_through = 0;
  std::shared_ptr<const TypeTable> types;  ///< types used by the batches
  bool empty() const noexcept { return events.empty() && pushed_overflow == 0; }
};

/// Collects watched events. Must be used only on the world thread.
class EventKeeper final : private PushedSink {
 public:
  explicit EventKeeper(EntityRegistry& registry) : registry_(registry) {}
  ~EventKeeper() override;
  EventKeeper(const EventKeeper&) = delete;
  EventKeeper& operator=(const EventKeeper&) = delete;

  /// Starts collecting the events that `asked` selects, until drop() is called with an equal
  /// argument.
  void want(const WatchAsked& asked);
  void drop(const WatchAsked& asked);
  bool wanted() const noexcept { return users_ > 0; }
  bool hears_pushed() const noexcept { return !pushed_.empty(); }

  /// Must be called before an input is delivered.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns) {
    if (users_ > 0) note(envelope, batch, clock_ns);
  }
  /// Returns the events collected since the previous call. `room` is the limit on the number of
  /// bytes collected until the next call.
  EventNews take(std::size_t room);
  bool empty() const noexcept { return news_.empty(); }

 private:
  void on_pushed(const BatchView& batch) noexcept override;
  void note(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns);
  void keep(std::span<const std::byte> batch, const FrameEnvelope& envelope, bool pushed);
  bool wants_input(TypeId type) const;

  EntityRegistry& registry_;
  // Number of watches of inputs; only types are used.
  std::vector<WatchAsked> inputs_;
  std::unordered_map<TypeId, std::uint32_t> pushed_;  // number of watches per type
  std::size_t users_ = 0;
  FrameEnvelope last_;  // envelope of the most recent input
  EventNews news_;
  std::size_t room_ = std::size_t{64} << 20, pushed_bytes_ = 0;
  BatchBuilder plain_;  // builds a copy of a batch without its causes
  std::shared_ptr<const TypeTable> types_;
  std::size_t schemas_known_ = 0;
};

/// Sends a watch its events. If the session's queue is full, counts the events instead, and sends a
/// Gap once there is room. Must be used by only one thread.
void tell_events(Watch& watch, const SeenState& world, const EventNews& news);
/// Sends the pending Gap if there is room for it.
void tell_gap(Watch& watch);

}  // namespace muster
