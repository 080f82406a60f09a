#include "examples/managers/debug_names.h"

#include "examples/managers/bytes.h"
#include "examples/managers/managers.h"

namespace managers {

using muster::Entity;
using muster::Text;

DebugNames::DebugNames(muster::EntityRegistry& registry) : registry_(registry) {
  registry_.add_manager("debug_names", *this);
  set_name_ = registry_.subscribe("debug_names.set", *this, &DebugNames::set, {.external_writes = {"debug_names"}});
}
DebugNames::~DebugNames() { registry_.remove_manager(*this); }

Text DebugNames::of(Entity e) const noexcept {
  const std::uint32_t* row = rows_.find(e);
  return row ? names_[*row] : Text{};
}

void DebugNames::set(const SetDebugName& message, Entity self) {
  if (!message.name) return remove(self);
  if (const std::uint32_t* row = rows_.find(self)) {
    names_[*row] = message.name;
    return;
  }
  rows_.put(self, static_cast<std::uint32_t>(entities_.size()));
  entities_.push_back(self);
  names_.push_back(message.name);
}

void DebugNames::remove(Entity e) {
  const std::uint32_t* found = rows_.find(e);
  if (!found) return;
  const std::uint32_t row = *found;
  entities_[row] = entities_.back();
  names_[row] = names_.back();
  rows_.put(entities_[row], row);
  rows_.erase(e);
  entities_.pop_back();
  names_.pop_back();
}

void DebugNames::on_destroyed(std::span<const Entity> gone) {
  for (const Entity e : gone) remove(e);
}

void DebugNames::describe(Entity e, const std::function<void(const muster::Held&)>& take) const {
  if (const Text name = of(e)) take({.name = "debug name", .bytes = std::as_bytes(std::span(&name, 1))});
}

void DebugNames::save(std::vector<std::byte>& out) const {
  put(out, std::uint64_t{entities_.size()});
  put(out, std::span<const Entity>(entities_));
  put(out, std::span<const Text>(names_));
}

std::expected<void, std::string> DebugNames::load(std::uint32_t, std::span<const std::byte> bytes) {
  Reader reader{bytes};
  const auto count = reader.take<std::uint64_t>();
  if (count > reader.bytes.size() / (sizeof(Entity) + sizeof(Text)))
    return std::unexpected("debug names are truncated");
  std::vector<Entity> entities(count);
  std::vector<Text> names(count);
  reader.take(entities.data(), count * sizeof(Entity));
  reader.take(names.data(), count * sizeof(Text));
  if (!reader.done()) return std::unexpected("debug names are truncated");
  rows_.clear();
  for (std::uint32_t i = 0; i < count; ++i) rows_.put(entities[i], i);
  if (rows_.size() != count) return std::unexpected("an entity has two debug names");
  entities_ = std::move(entities);
  names_ = std::move(names);
  return {};
}

}  // namespace managers
