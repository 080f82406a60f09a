// Represents the world on which a command works. Finds entities by the names that users type, and
// resolves references in values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cpp/client.h"
#include "messages/value_text.h"

namespace muster::cli {

struct NamedEntity {
  Entity entity;
  std::string path;  ///< The entity's path. May be empty if the entity has no name.
  /// Returns a string for display, such as "/town/tower (12:1)".
  std::string text() const;
};

struct Child {
  Entity entity;
  std::string name;
  std::uint32_t children = 0;
  std::vector<TypeId> components;
};

/// The world that a command works on. Member functions throw Failure on errors.
class RemoteWorld final : public ValueReferences {
 public:
  explicit RemoteWorld(Client client) : client_(std::move(client)) {}

  Client& client() noexcept { return client_; }
  const TypeTable& types() const noexcept { return client_.types(); }

  /// Finds an entity by id (12:1, #12:1), path (/town/tower), or name (tower, town/tower). If
  /// several entities match, the error lists them.
  NamedEntity find(std::string_view text);
  /// Like find(), but also accepts "/" for the world, and then returns a nil entity.
  NamedEntity find_or_root(std::string_view text);
  /// Calls f for every child, in order. The number of children is not limited.
  void each_child(Entity of, const std::function<void(const Child&)>& f);
  /// Returns `count` ids that have been granted to this session for creating entities.
  std::vector<Entity> grant(std::size_t count);
  /// From now on, intern() only keeps the texts, so that nothing is changed.
  void hold_texts() noexcept { holds_texts_ = true; }
  const std::vector<std::string>& held_texts() const noexcept { return held_texts_; }
  /// If --durable is set, waits until the input with this sequence would survive a power failure.
  void wait_until_durable(const Common& common, std::uint64_t sequence);
  /// Returns the full names of components, separated by ", ". Omits the two components that store
  /// an entity's name and parent.
  std::string component_names(const std::vector<TypeId>& components) const;

  // --- ValueReferences
  ValueResult<Entity> find_entity(std::string_view text) override { return find_or_root(text).entity; }
  ValueResult<Text> intern(std::string_view text) override;
  std::string text(Text text) override;

 private:
  static Text found_text(Result<Text> text);
  [[noreturn]] void missing(std::string_view text);

  Client client_;
  bool holds_texts_ = false;
  std::vector<std::string> held_texts_;
};

/// Notices when a client's connection is lost, and when its session goes on.
class Interruptions {
 public:
  enum class Change : std::uint8_t { none, lost, back };
  /// Returns what has changed since the previous call.
  Change next(const Client& client);
  /// Returns a sentence about the loss.
  const std::string& text() const noexcept { return text_; }

 private:
  bool is_lost_ = false;
  std::string text_;
};

// --- expecting.cc

/// Sends an edit. If `dry` is true, prints what it would do instead, and returns nothing. If the
/// world refuses the edit because of a value, the error's text gives the value.
std::optional<Result<Acknowledged>> send_edit(RemoteWorld& world, const Common& common, bool dry,
                                              std::span<const std::byte> batch,
                                              const std::vector<session::Expectation>& expected = {});

/// Returns what an assignment such as "value=30" says about a component of an entity.
session::Expectation expected_field(RemoteWorld& world, const NamedEntity& entity, const TypeDescriptor& component,
                                    const std::string& assignment);

/// Names users. Asks the server for the names at most once.
class UserNames {
 public:
  explicit UserNames(RemoteWorld& world) noexcept : world_(world) {}
  /// Returns the user's name for display. Only connected users have names that every session may
  /// know.
  std::string name(std::uint64_t user);

 private:
  RemoteWorld& world_;
  std::optional<std::map<std::uint64_t, std::string>> names_;
};

/// Returns true for the components that Muster itself adds to every entity. Commands display these
/// components in a different form.
bool is_kept_by_registry(TypeId component);

}  // namespace muster::cli
