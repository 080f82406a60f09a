#include "server/mirror/seen_state.h"

#include <algorithm>
#include <cstring>

#include "schema/muster.h"

namespace muster {

const SeenState::Column* SeenState::column(TypeId type) const noexcept {
  const auto at = std::ranges::lower_bound(columns_, type, {}, &Column::type);
  return at != columns_.end() && at->type == type ? &*at : nullptr;
}

const std::byte* SeenState::find(Entity e, TypeId type) const noexcept {
  const Place* const at = place(e);
  const Column* const of = at ? column(type) : nullptr;
  return of ? value(*at, *of) : nullptr;
}

const std::byte* SeenState::value(const Place& at, const Column& column) const noexcept {
  static constexpr std::byte nothing{};
  const SeenKinds& kinds = chunks_[at.chunk].kinds;
  if (column.size == 0) return kinds.at(at.row).has(column.type) ? &nothing : nullptr;
  if (kinds.each && !kinds.at(at.row).has(column.type)) return nullptr;
  const std::byte* const values = column.of(at.chunk);
  return values ? values + std::size_t{at.row} * column.size : nullptr;
}

Text SeenState::name_text(Entity e) const noexcept {
  Text name;
  if (const std::byte* value = find(e, TypeTraits<Name>::id)) std::memcpy(&name, value, sizeof name);
  return name;
}

std::string_view SeenState::text(Text text) const noexcept {
  const auto at = texts_->find(text.hash);
  return at == texts_->end() ? std::string_view{} : std::string_view(at->second);
}

}  // namespace muster
