// A template under construction: a tree that is read from a file, copied from living entities or
// built in code, merged with others and changed, until EntityRegistry::define_template makes it a
// Template that can be spawned.
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

/// Owns everything it holds. Paths are child names joined by `/`, from the root, with `/` and `\`
/// in names escaped by `\`; the empty path and "." are the root. Not thread-safe.
class TemplateTree {
 public:
  /// A field that will hold the id of another node of the tree.
  struct Reference {
    std::uint32_t offset = 0;
    std::uint32_t node = 0;  ///< the node's key
  };
  /// A component or a message.
  struct Value {
    TypeId type = 0;
    std::uint64_t fingerprint = 0;
    std::vector<std::byte> bytes;
    /// Parallel to bytes: 1 if set by the template itself, 0 if a default.
    std::vector<std::uint8_t> given;
    std::vector<Reference> references;

    /// Overwrites a part of the value, and removes references in it.
    void put(std::uint32_t offset, std::span<const std::byte> part);
    /// Applies the parts that `over` sets to this value, which must be of the same type.
    void merge(const Value& over);
  };
  class Node {
   public:
    std::vector<Value> components;
    std::vector<Value> messages;

    /// Constant during the tree's lifetime; 0 for the root.
    std::uint32_t key() const noexcept { return key_; }
    /// Empty for the root.
    const std::string& name() const noexcept { return name_; }
    /// Returns the children in order of their keys. Valid until a child is added or removed.
    std::span<Node> children() noexcept { return children_; }
    std::span<const Node> children() const noexcept { return children_; }

    /// Returns null if the node lacks the type.
    Value* component(TypeId type) noexcept;
    /// Returns the first child with this name, or null if there is none or if the name is empty.
    /// Takes constant time.
    Node* child(std::string_view child_name);
    /// Null if no child has the key.
    Node* child(std::uint32_t child_key) noexcept;
    /// Names of children compared so far. Used by tests of complexity.
    std::uint64_t compared() const noexcept { return compared_; }

   private:
    friend class TemplateTree;
    std::uint32_t key_ = 0;
    std::string name_;
    std::vector<Node> children_;
    // Maps the hash of a name to the first child that has it, among the first indexed_ children.
    FlatMap<std::uint64_t, std::uint32_t> by_name_;
    std::size_t indexed_ = 0;
    std::uint64_t compared_ = 0;
  };

  explicit TemplateTree(std::string name) : name_(std::move(name)) {}
  /// Reads a definition that a registry holds.
  static TemplateTree read(DefineTemplateView defined);
  /// Copies a living entity and everything below it, with values and names. Ids of copied entities
  /// become references; others are copied. The entity's own name is not copied. If it is not alive,
  /// the result is only a root.
  static TemplateTree of(const EntityRegistry& registry, Entity top, std::string name);

  const std::string& name() const noexcept { return name_; }
  Node& root() noexcept { return root_; }
  /// Null if no node has that path.
  Node* find(std::string_view path);
  Node* find(std::uint32_t key);
  /// The node with this path; creates missing nodes.
  Node& at(std::string_view path);
  /// Adds a last child. compile() detects duplicate names.
  Node& add_child(Node& parent, std::string name);
  /// Removes a child of `parent` with everything below it; does nothing if no child has this key.
  void remove_child(Node& parent, std::uint32_t key);

  /// Merges another tree into a node: components field by field where `over` sets them, children by
  /// name, and messages after the existing ones. References in `over` then refer to the nodes into
  /// which their targets were merged.
  void merge(Node& node, const TemplateTree& over);
  /// Like merge() above, but also decrements the allowed number of name comparisons. Returns false,
  /// with the tree partially merged, if that number runs out.
  [[nodiscard]] bool merge(Node& node, const TemplateTree& over, std::uint64_t& compares_left);
  /// The number of nodes, and the bytes of all values.
  struct Size {
    std::uint64_t nodes = 0, bytes = 0;
  };
  Size size() const noexcept;
  /// All keys are less than this number, which is the number of nodes ever added to the tree.
  std::uint32_t keys() const noexcept { return static_cast<std::uint32_t>(parents_.size()); }

  /// Gives a node a component with this value, replacing an existing one.
  template <ComponentType C>
  TemplateTree& set(std::string_view path, const C& value) {
    need<C>();
    set(at(path), TypeTraits<C>::id, TypeTraits<C>::fingerprint, std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  Value& set(Node& node, TypeId type, std::uint64_t fingerprint, std::span<const std::byte> value);
  /// Removes a component; does nothing if the node lacks it.
  template <ComponentType C>
  TemplateTree& remove(std::string_view path) {
    remove(at(path), TypeTraits<C>::id);
    return *this;
  }
  bool remove(Node& node, TypeId type);
  /// Adds a message for the new entity, after the node's existing messages.
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
  /// Sets a field of a component, which the node must have, to the id of the node at `target`.
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
  /// Adds a text, and returns its hash, which `text` fields of the values contain.
  Text text(std::string_view content);

  /// Returns the message that defines the template, or an error: two children with the same name,
  /// or a reference to a removed node.
  std::expected<DefineTemplate, std::string> compile() const;
  /// Registers the compiled types that the tree was built from.
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
  std::vector<std::uint32_t> parents_ = {0};  // indexed by key: the parent's key
  std::vector<std::string> texts_;
  FlatMap<std::uint64_t, std::uint32_t> text_numbers_;  // hash -> number in texts_
  std::vector<void (*)(TypesKnown&)> needs_;
};

/// Returns the unescaped names in a path.
std::vector<std::string> path_names(std::string_view path);

}  // namespace muster
