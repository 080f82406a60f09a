// What watches tell of messages: inputs, and what handlers push and timers deliver. Kept from one flush to the next, within a bound,
// and only such as somebody watches. Values are kept for a slow client, these are not: it is told by a Gap how many it lost.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "registry/delivery/input_sink.h"
#include "registry/delivery/pushed_sink.h"
#include "server/session/watch.h"

namespace muster {

/// Owner's thread only.
class WatchEvents final : private PushedSink {
 public:
  explicit WatchEvents(EntityRegistry& registry) : registry_(registry) {}
  ~WatchEvents() override;
  WatchEvents(const WatchEvents&) = delete;
  WatchEvents& operator=(const WatchEvents&) = delete;

  /// The watch is one of those that are told from now on, until drop() with what it asks now; `anew`: of nothing that came before.
  void want(Watch& watch, bool anew);
  void drop(const Watch& watch, const WatchAsked& asked);

  /// Before delivery of an input.
  void on_input(const Envelope& envelope, std::span<const std::byte> batch, std::uint64_t clock_ns);
  bool wanted() const noexcept { return !watches_.empty(); }
  bool hears_pushed() const noexcept { return !pushed_.empty(); }
  bool empty() const noexcept { return events_.empty(); }
  /// Those told since the last clear() that concern the watch. Where the session's queue is full, or `time_is_left` is false, they are
  /// counted, and told by a Gap when there is room.
  void send(Watch& watch, bool time_is_left);
  void clear();

 private:
  struct Event {
    FrameEnvelope envelope;
    std::size_t offset = 0;
    TypeId type = 0;
    bool lost = false;  // the bytes were too many to keep
    bool pushed = false;
  };
  void on_pushed(const BatchView& batch) noexcept override;
  void keep(std::span<const std::byte> batch, const FrameEnvelope& envelope, bool pushed);

  EntityRegistry& registry_;
  std::vector<const Watch*> watches_;                 // that want any
  std::unordered_map<TypeId, std::uint32_t> pushed_;  // who wants each type
  FrameEnvelope last_;                                // of the last input
  std::vector<Event> events_;
  std::vector<std::byte> bytes_;
  std::size_t pushed_bytes_ = 0;
  std::uint64_t pushed_overflow_ = 0,
                pushed_overflow_through_ = 0;  // batches that were too many to keep; the last's input
  BatchBuilder plain_;                         // a batch without its causes
};

}  // namespace muster
