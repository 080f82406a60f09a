// A template under construction. The tree is read from a file, copied from living entities, or
// built in code. It can be changed and merged with other trees until
// EntityRegistry::define_template turns it into a Template that can be spawned.
//
//   TemplateTree orc("game.orc");
//   orc.set("", game::Health{.value = 30}).set("body/arm", game::Armor{});
//   orc.refer<game::Member>("body/arm", &game::Member::squad, "");   // that field will be the new orc's id
//   registry.define_template(orc);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/handlers/types_known.h"
#include "registry/storage/flat_map.h"
#include "schema/muster.h"

namespace muster {

class EntityRegistry;

/// Owns all of its contents. A path consists of child names joined by `/`, starting from the root;
/// within names, `/` and `\` are escaped by `\`. The empty path and "." refer to the root. Not
/// thread-safe.
class TemplateTree {
 public:
  /// A field that will contain the id of another node in the tree.
  struct Reference {
    std::uint32_t offset = 0;
    std::uint32_t node = 0;  ///< the node's key
  };
  /// The value of a component or a message.
  struct Value {
    TypeId type = 0;
    std::uint64_t fingerprint = 0;
    std::vector<std::byte> bytes;
    /// Parallel to `bytes`: 1 if the template itself sets the byte, 0 if it is a default.
    std::vector<std::uint8_t> given;
    std::vector<Reference> references;

    /// Overwrites part of the value, and removes the references in that part.
    void put(std::uint32_t offset, std::span<const std::byte> part);
    /// Copies the parts that `over` sets into this value. Both values must have the same type.
    void merge(const Value& over);
  };
  class Node {
   public:
    std::vector<Value> components;
    std::vector<Value> messages;

    /// Returns the key, which is constant during the lifetime of the tree. It is 0 for the root.
    std::uint32_t key() const noexcept { return key_; }
    /// Returns the name, which is empty for the root.
    const std::string& name() const noexcept { return name_; }
    /// Returns the children in order of their keys. Valid until a child is added or removed.
    std::span<Node> children() noexcept { return children_; }
    std::span<const Node> children() const noexcept { return children_; }

    /// Returns the component with this type, or null if the node does not have it.
    Value* component(TypeId type) noexcept;
    /// Returns the first child with this name, or null if there is none or the name is empty. Takes
    /// constant time.
    Node* child(std::string_view child_name);
    /// Returns the child with this key, or null if there is none.
    Node* child(std::uint32_t child_key) noexcept;
    /// Returns the number of child names compared so far. Used by complexity tests.
    std::uint64_t compared() const noexcept { return compared_; }

   private:
    friend class TemplateTree;
    std::uint32_t key_ = 0;
    std::string name_;
    std::vector<Node> children_;
    // Maps the hash of a name to the first child with that name, for the first `indexed_` children.
    FlatMap<std::uint64_t, std::uint32_t> by_name_;
    std::size_t indexed_ = 0;
    std::uint64_t compared_ = 0;
  };

  explicit TemplateTree(std::string name) : name_(std::move(name)) {}
  /// Creates a tree from a definition that a registry holds.
  static TemplateTree read(DefineTemplateView defined);
  /// Copies a living entity and all its descendants, with values and names. Ids of copied entities
  /// become references; other ids are copied unchanged. The name of the top entity is not copied.
  /// If the entity is not alive, the result consists of only a root.
  static TemplateTree of(const EntityRegistry& registry, Entity top, std::string name);

  const std::string& name() const noexcept { return name_; }
  Node& root() noexcept { return root_; }
  /// Returns the node with this path, or null if there is none.
  Node* find(std::string_view path);
  Node* find(std::uint32_t key);
  /// Returns the node with this path. Creates any nodes that are missing.
  Node& at(std::string_view path);
  /// Adds a child after the existing ones. compile() detects duplicate names.
  Node& add_child(Node& parent, std::string name);
  /// Removes a child of `parent` together with all its descendants. Has no effect if no child has
  /// this key.
  void remove_child(Node& parent, std::uint32_t key);

  /// Merges another tree into a node. Components are merged field by field where `over` sets
  /// fields, children are matched by name, and messages are added after the existing ones.
  /// References in `over` will refer to the nodes into which their targets were merged.
  void merge(Node& node, const TemplateTree& over);
  /// Like merge() above, but subtracts the number of name comparisons from `compares_left`. If the
  /// result would be negative, returns false and leaves the tree partially merged.
  [[nodiscard]] bool merge(Node& node, const TemplateTree& over, std::uint64_t& compares_left);
  /// The number of nodes, and the total size of their values in bytes.
  struct Size {
    std::uint64_t nodes = 0, bytes = 0;
  };
  Size size() const noexcept;
  /// Returns the number of nodes ever added to the tree. All keys are less than this number.
  std::uint32_t keys() const noexcept { return static_cast<std::uint32_t>(parents_.size()); }

  /// Adds a component with this value to a node, or replaces the existing one.
  template <ComponentType C>
  TemplateTree& set(std::string_view path, const C& value) {
    need<C>();
    set(at(path), TypeTraits<C>::id, TypeTraits<C>::fingerprint, std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  Value& set(Node& node, TypeId type, std::uint64_t fingerprint, std::span<const std::byte> value);
  /// Removes a component. Has no effect if the node does not have it.
  template <ComponentType C>
  TemplateTree& remove(std::string_view path) {
    remove(at(path), TypeTraits<C>::id);
    return *this;
  }
  bool remove(Node& node, TypeId type);
  /// Adds a message that will be sent to the new entity, after the node's existing messages.
  template <MessageType M>
  TemplateTree& message(std::string_view path, const M& message) {
    need<M>();
    add_message(at(path), TypeTraits<M>::id, TypeTraits<M>::fingerprint, std::as_bytes(std::span(&message, 1)));
    return *this;
  }
  template <NativeTable T>
  TemplateTree& message(std::string_view path, const T& message) {
    need<T>();
    add_message(at(path), TypeTraits<T>::id, TypeTraits<T>::fingerprint, encode(message));
    return *this;
  }
  Value& add_message(Node& node, TypeId type, std::uint64_t fingerprint, std::span<const std::byte> value);
  /// Sets a field of a component to the id of the node at `target`. The node must have the
  /// component.
  template <ComponentType C>
  TemplateTree& refer(std::string_view path, Entity C::* field, std::string_view target) {
    static const C probe{};
    const auto offset = static_cast<std::uint32_t>(reinterpret_cast<const std::byte*>(&(probe.*field)) -
                                                   reinterpret_cast<const std::byte*>(&probe));
    const std::uint32_t key = at(target).key();
    if (Value* value = at(path).component(TypeTraits<C>::id)) {
      value->put(offset, std::as_bytes(std::span(&nil_, 1)));
      value->references.push_back({offset, key});
    }
    return *this;
  }
  /// Adds a text and returns its hash, which is the value of `text` fields.
  Text text(std::string_view content);

  /// Returns the message that defines the template. Returns an error if two children have the same
  /// name, or if a reference names a removed node.
  std::expected<DefineTemplate, std::string> compile() const;
  /// Registers the compiled types from which the tree was built.
  void add_types(TypesKnown& types) const {
    for (void (*add)(TypesKnown&) : needs_) add(types);
  }

 private:
  template <GeneratedType T>
  void need() {
    needs_.push_back([](TypesKnown& types) { types.need<T>(); });
  }
  bool mirror(Node& into, const Node& from, std::map<std::uint32_t, std::uint32_t>& keys, std::uint64_t& compares_left);
  void fill(Node& into, const Node& from, const std::map<std::uint32_t, std::uint32_t>& keys);
  static constexpr Entity nil_{};

  std::string name_;
  Node root_;
  std::vector<std::uint32_t> parents_ = {0};  // indexed by key: the key of the parent
  std::vector<std::string> texts_;
  FlatMap<std::uint64_t, std::uint32_t> text_numbers_;  // hash -> number in texts_
  std::vector<void (*)(TypesKnown&)> needs_;
};

/// Returns the unescaped names in a path.
std::vector<std::string> path_names(std::string_view path);

}  // namespace muster
