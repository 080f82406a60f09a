#include "messages/row_set.h"

#include "messages/require.h"

namespace muster {

RowSet::RowSet(PayloadShape message, std::span<const PayloadShape> components) : shape_(message) {
  require(components.size() <= row_set_components_max, "a row set holds at most 505 components");
  std::vector<PayloadShape> sorted(components.begin(), components.end());
  std::ranges::sort(sorted, {}, &PayloadShape::type);
  entries_.reserve(sorted.size());
  for (const PayloadShape& component : sorted) {
    require(entries_.empty() || entries_.back().type != component.type, "a row set names a component twice");
    const std::uint32_t at = round_up(shape_.bytes, component.align);
    entries_.push_back({component.type, at});
    shape_.bytes = at + component.bytes;
    shape_.align = std::max(shape_.align, component.align);
  }
}

RowSet::RowSet(const TypeDescriptor& message, std::span<const TypeDescriptor* const> components)
    : RowSet(PayloadShape::of(message), [&] {
        std::vector<PayloadShape> shapes;
        shapes.reserve(components.size());
        for (const TypeDescriptor* component : components) shapes.push_back(PayloadShape::of(*component));
        return shapes;
      }()) {}

std::uint32_t RowSet::offset(TypeId component) const noexcept {
  const auto at = std::ranges::lower_bound(entries_, component, {}, &RowSetEntry::type);
  return at != entries_.end() && at->type == component ? at->offset : shape_.bytes;
}

}  // namespace muster
