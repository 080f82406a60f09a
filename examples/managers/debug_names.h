// One debug name per entity: the smallest manager there is.
#pragma once

#include <vector>

#include <muster/registry.h>

#include "registry/storage/flat_map.h"

namespace managers {

struct SetDebugName;

/// Adds itself to the registry as "debug_names", and removes itself when it goes.
class DebugNames final : public muster::Manager {
 public:
  explicit DebugNames(muster::EntityRegistry& registry);
  ~DebugNames() override;
  DebugNames(const DebugNames&) = delete;
  DebugNames& operator=(const DebugNames&) = delete;

  /// The empty text where the entity has none.
  muster::Text of(muster::Entity e) const noexcept;
  std::size_t size() const noexcept { return entities_.size(); }

  void on_destroyed(std::span<const muster::Entity> gone) override;
  void describe(muster::Entity e, const std::function<void(const muster::Held&)>& take) const override;
  void save(std::vector<std::byte>& out) const override;
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override;

 private:
  void set(const SetDebugName& message, muster::Entity self);
  void remove(muster::Entity e);

  muster::EntityRegistry& registry_;
  muster::FlatMap<muster::Entity, std::uint32_t> rows_;
  std::vector<muster::Entity> entities_;
  std::vector<muster::Text> names_;
  muster::Subscription set_name_;
};

}  // namespace managers
