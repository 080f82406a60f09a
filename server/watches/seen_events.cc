#include "server/watches/seen_events.h"

#include <cstring>
#include <span>

namespace muster {
namespace {

/// Copies a batch item by item, and leaves out some of the items.
class EventPart {
 public:
  EventPart(BatchView event, std::vector<std::byte>& out) : event_(event), out_(out) {
    const std::byte* const body = event.kind() == BatchKind::shared ? event.shared_targets() : event.body();
    out_.assign(event.bytes().data(), body);
  }
  void add(std::span<const std::byte> item) {
    out_.insert(out_.end(), item.begin(), item.end());
    ++count_;
  }
  BatchView made() {
    out_.resize(round_up(static_cast<std::uint32_t>(out_.size()), batch_alignment));
    BatchHeader header = event_.header();
    header.bytes = static_cast<std::uint32_t>(out_.size());
    header.count = count_;
    std::memcpy(out_.data(), &header, sizeof header);
    return BatchView(out_.data());
  }

 private:
  const BatchView event_;
  std::vector<std::byte>& out_;
  std::uint32_t count_ = 0;
};

/// Calls f(target, item) for each item of a batch that has targets.
template <class F>
void for_each_event_item(BatchView event, F&& f) {
  if (event.kind() == BatchKind::table) {
    const std::byte* at = event.body();
    for (std::uint32_t i = 0; i < event.count(); ++i) {
      const TableItem item = table_item(event, at);
      f(item.target, std::span(at, item.next));
      at = item.next;
    }
    return;
  }
  const bool is_shared = event.kind() == BatchKind::shared;
  for (std::uint32_t i = 0; i < event.count(); ++i)
    f(event.target(i), is_shared ? std::span(event.shared_targets() + std::size_t{i} * 8, 8)
                                 : std::span(event.item(i), event.header().item_bytes));
}

}  // namespace

bool tells_events_of(TypeId type, const WatchSight& sight, const TypeTable& types) {
  const TypeDescriptor* const known = types.find(type);
  return known && !known->name.starts_with("muster.") && !sight.hidden->contains(type) &&
         !sight.rules->hides_messages_of(*known);
}

std::optional<BatchView> visible_part(BatchView event, const WatchSight& sight, const SeenState& world,
                                      std::vector<std::byte>& room) {
  if (event.kind() == BatchKind::timed) return std::nullopt;
  if (event.kind() == BatchKind::world) return event;
  const auto is_seen = [&](Entity target) { return !target || sight.places->sees(world, target); };
  std::uint32_t seen = 0;
  for_each_event_item(event, [&](Entity target, std::span<const std::byte>) { seen += is_seen(target) ? 1 : 0; });
  if (seen == 0) return std::nullopt;
  if (seen == event.count()) return event;
  EventPart part(event, room);
  for_each_event_item(event, [&](Entity target, std::span<const std::byte> item) {
    if (is_seen(target)) part.add(item);
  });
  return part.made();
}

}  // namespace muster
