// A world as commands use it: a client, entities by what people call them, values by what they
// refer to.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cpp/client.h"
#include "messages/value_text.h"

namespace muster::cli {

struct NamedEntity {
  Entity entity;
  std::string path;  ///< may be empty for entities without names
  /// "/town/tower (12:1)"
  std::string text() const;
};

struct Child {
  Entity entity;
  std::string name;
  std::uint32_t children = 0;
  std::vector<TypeId> components;
};

/// Throws Failure on errors.
class RemoteWorld final : public ValueReferences {
 public:
  explicit RemoteWorld(Client client) : client_(std::move(client)) {}

  Client& client() noexcept { return client_; }
  const TypeTable& types() const noexcept { return client_.types(); }

  /// By id (12:1, #12:1), path (/town/tower) or name (tower, town/tower); several of one name are
  /// an error that lists them.
  NamedEntity find(std::string_view text);
  /// As find; "/" is the world, a nil entity.
  NamedEntity find_or_root(std::string_view text);
  /// Calls f for every child in order, however many.
  void each_child(Entity of, const std::function<void(const Child&)>& f);
  /// New ids that this session may create entities with.
  std::vector<Entity> grant(std::size_t count);
  /// Where --durable asks for that: returns when the input of this sequence survives a loss of
  /// power.
  void wait_until_durable(const Common& common, std::uint64_t sequence);
  /// Full names of components, without the two that say name and parent; separated by ", ".
  std::string component_names(const std::vector<TypeId>& components) const;

  // --- ValueReferences
  ValueResult<Entity> find_entity(std::string_view text) override { return find_or_root(text).entity; }
  ValueResult<Text> intern(std::string_view text) override { return found_text(client_.intern(text)); }
  std::string text(Text text) override;

 private:
  static Text found_text(Result<Text> text);
  [[noreturn]] void missing(std::string_view text);

  Client client_;
};

/// True for Muster's own components of every entity, which are shown in another way.
bool is_kept_by_registry(TypeId component);

}  // namespace muster::cli
