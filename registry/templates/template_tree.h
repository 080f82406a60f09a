// A template while it is made: a tree that is read from a file, taken from living entities or put together in code, laid over
// others and changed, until it is defined (EntityRegistry::define) and becomes a Template that can be spawned.
//
//   TemplateTree orc("game.orc");
//   orc.set("", game::Health{.value = 30}).set("body/arm", game::Armor{});
//   orc.refer<game::Member>("body/arm", &game::Member::squad, "");   // that field will be the new orc's id
//   registry.define(orc);
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

/// Owns everything it holds. Paths are names of children joined by `/`, from the root, `/` and `\` in names escaped by `\`;
/// the empty path and "." are the root. Not thread-safe.
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
    std::vector<std::uint8_t> given;  ///< beside bytes: 1 where the template says so itself, 0 where it is a default
    std::vector<Reference> references;

    /// Overwrites a part; references inside it are gone.
    void put(std::uint32_t offset, std::span<const std::byte> part);
    /// Lays what `over` gives over this value, which is of the same type.
    void merge(const Value& over);
  };
  class Node {
   public:
    std::vector<Value> components;
    std::vector<Value> messages;

    /// Never changes while the tree lives; of the root 0.
    std::uint32_t key() const noexcept { return key_; }
    /// Of the root empty.
    const std::string& name() const noexcept { return name_; }
    /// In their order, which is that of their keys. Valid until one comes or goes.
    std::span<Node> children() noexcept { return children_; }
    std::span<const Node> children() const noexcept { return children_; }

    /// Null where it lacks the type.
    Value* component(TypeId type) noexcept;
    /// The first of this name; null where there is none, and for the empty name. Costs as much however many there are.
    Node* child(std::string_view child_name);
    /// Null where none of the children has the key.
    Node* child(std::uint32_t child_key) noexcept;
    /// Names of children that were compared so far: what growth is tested by.
    std::uint64_t compared() const noexcept { return compared_; }

   private:
    friend class TemplateTree;
    std::uint32_t key_ = 0;
    std::string name_;
    std::vector<Node> children_;
    // By the hash of a name: the first of the first indexed_ children that has it.
    FlatMap<std::uint64_t, std::uint32_t> by_name_;
    std::size_t indexed_ = 0;
    std::uint64_t compared_ = 0;
  };

  explicit TemplateTree(std::string name) : name_(std::move(name)) {}
  /// What a registry was told.
  static TemplateTree read(DefineTemplateView defined);
  /// A living entity and everything below it, values and names; references inside are kept as such, ids of others stay. The
  /// entity's own name is not taken. Without anything below the root where it is not alive.
  static TemplateTree of(const EntityRegistry& registry, Entity top, std::string name);

  const std::string& name() const noexcept { return name_; }
  Node& root() noexcept { return root_; }
  /// Null where no node has the path.
  Node* find(std::string_view path);
  Node* find(std::uint32_t key);
  /// The node with this path; those missing are added.
  Node& at(std::string_view path);
  /// A new last child. A name that the parent has already is found out by compile().
  Node& add_child(Node& parent, std::string name);
  /// Takes a child of `parent` away with everything below it; nothing where it has none with this key.
  void remove_child(Node& parent, std::uint32_t key);

  /// Lays another tree over a node: components field by field as far as it gives them, children by name, messages behind
  /// those that are there. References inside it come to mean the nodes they were laid over.
  void merge(Node& node, const TemplateTree& over);
  /// Also counts down the compares of names that it takes. False, and the tree half done, where they are used up.
  [[nodiscard]] bool merge(Node& node, const TemplateTree& over, std::uint64_t& compares_left);
  /// Nodes, and bytes of all values.
  struct Size {
    std::uint64_t nodes = 0, bytes = 0;
  };
  Size size() const noexcept;
  /// Keys below which those of its nodes are: as many nodes as it ever had.
  std::uint32_t keys() const noexcept { return static_cast<std::uint32_t>(parents_.size()); }

  /// Gives a node a component with this value, in place of the one it has.
  template <ComponentType C>
  TemplateTree& set(std::string_view path, const C& value) {
    need<C>();
    set(at(path), TypeTraits<C>::id, TypeTraits<C>::fingerprint, std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  Value& set(Node& node, TypeId type, std::uint64_t fingerprint, std::span<const std::byte> value);
  /// Takes a component away; nothing where the node lacks it.
  template <ComponentType C>
  TemplateTree& remove(std::string_view path) {
    remove(at(path), TypeTraits<C>::id);
    return *this;
  }
  bool remove(Node& node, TypeId type);
  /// A message for the new entity, behind those the node has.
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
  /// Makes a field of a component, which the node must have, the id of the node at `target`.
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
  /// A content that `text` fields of the values hold the hash of.
  Text text(std::string_view content);

  /// The message that defines the template, or what is wrong: two children of one name, a reference to a node that is gone.
  std::expected<DefineTemplate, std::string> compile() const;
  /// Makes the compiled types that it was put together from known.
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
  std::vector<std::uint32_t> parents_ = {0};  // by key: the parent's key
  std::vector<std::string> texts_;
  FlatMap<std::uint64_t, std::uint32_t> text_numbers_;  // hash -> number in texts_
  std::vector<void (*)(TypesKnown&)> needs_;
};

/// The names of a path, unescaped.
std::vector<std::string> path_names(std::string_view path);

}  // namespace muster
