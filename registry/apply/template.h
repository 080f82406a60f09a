// A template as a registry holds it: judged, flat, and never changed. Spawning copies from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/batch_writer.h"
#include "registry/apply/receipt.h"
#include "registry/apply/row_sites.h"
#include "registry/apply/tree_rows.h"
#include "registry/handlers/types_known.h"
#include "registry/storage/archetype.h"
#include "registry/storage/text_table.h"
#include "schema/muster.h"

namespace muster {

/// Never changes, so any number of threads may read one and make batches from it.
class Template {
 public:
  struct Value {
    TypeId type = 0;
    std::uint32_t at = 0, bytes = 0;  ///< where its bytes are in data(), and how many; a tag has none
    std::uint32_t first_span = 0, spans = 0;
    std::uint32_t first_reference = 0, references = 0;
    bool table = false;  ///< a message that is a table
  };
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
    Text name;
    std::uint32_t first_component = 0, components = 0;
    std::uint32_t first_message = 0, messages = 0;
  };

  /// Judges a definition that the verifier passed: types, layouts, values, names, the shape of the tree.
  static std::expected<std::shared_ptr<const Template>, Refusal> read(DefineTemplateView defined, TypesKnown& types);

  std::string_view name() const noexcept { return name_; }
  /// How many nodes it has, and so how many ids one spawn needs.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::span<const Value> components(const Node& node) const noexcept {
    return std::span(values_).subspan(node.first_component, node.components);
  }
  std::span<const Value> messages(const Node& node) const noexcept {
    return std::span(values_).subspan(node.first_message, node.messages);
  }
  bool has_messages() const noexcept { return has_messages_; }
  /// The bytes of all values; each is aligned to 16.
  const std::byte* data() const noexcept { return reinterpret_cast<const std::byte*>(blocks_.data()); }
  std::span<const TemplateSpan> spans(const Value& value) const noexcept {
    return std::span(spans_).subspan(value.first_span, value.spans);
  }
  std::span<const TemplateReference> references(const Value& value) const noexcept {
    return std::span(references_).subspan(value.first_reference, value.references);
  }

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  Refusal read_nodes(DefineTemplateView defined, TypesKnown& types);
  Refusal read_value(TemplateValueView from, bool component, std::uint32_t nodes, TypesKnown& types);

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<TemplateSpan> spans_;
  std::vector<TemplateReference> references_;
  std::vector<Block> blocks_;
  bool has_messages_ = false;
};

/// The templates of one registry, by the hash of their names.
class TemplateTable {
 public:
  /// How a node's rows are made, remembered from one spawn to the next. For the registry's thread alone.
  struct NodePlan {
    Archetype* archetype = nullptr;
    struct Copy {
      std::uint16_t slot;
      std::uint32_t size;
      std::uint32_t at;  // of the value in the template
    };
    std::vector<Copy> copies;
    struct Patch {
      std::uint16_t slot;
      std::uint32_t size, offset, node;
    };
    std::vector<Patch> patches;  // references
    std::uint16_t name_slot = no_column;
  };
  struct Entry {
    std::shared_ptr<const Template> what;
    std::vector<std::byte> batch;  ///< the one DefineTemplate message, as saved and sent
    std::uint64_t version = 0;     ///< of storage, when it was defined
    std::vector<NodePlan> plans;   ///< beside its nodes; empty: to be made
    // What the root got beside the template when its plan was made.
    bool root_named = false;
    std::vector<RowSetEntry> root_rows;
    std::vector<NodePlan::Copy> root_row_copies;  ///< `at` is the offset in the message's payload
    TreePlan tree;                                ///< without blocks: to be made
    std::vector<std::uint32_t> unlisted;          ///< nodes with children that are left out of the index (Names)
    std::vector<std::uint32_t> listed;            ///< nodes with names that the index has
    bool patched = false;                         ///< a node refers to another
    /// Of the last spawn of a single tree from outside; without bytes: there was none.
    struct Sealed {
      SealedBytes bytes;
      std::span<const std::byte> batch;
      std::byte* message = nullptr;  ///< in `batch`, as the ids are
      std::span<Entity> ids;
    } sealed;
    /// Makes `sealed`.
    void seal(const Spawn& message);
  };

  /// Null where unknown.
  Entry* find(Text name) noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  const Entry* find(Text name) const noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  const Template* known(Text name) const noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : at->second.what.get();
  }
  Entry& put(Text name) { return entries_[name]; }
  void forget(Text name) { entries_.erase(name); }
  /// What is remembered of all templates from one spawn to the next.
  void forget_plans() {
    for (auto& [name, entry] : entries_) {
      Entry fresh;
      fresh.what = std::move(entry.what);
      fresh.batch = std::move(entry.batch);
      fresh.version = entry.version;
      entry = std::move(fresh);
    }
  }
  /// By the hash of the name.
  const std::map<Text, Entry>& entries() const noexcept { return entries_; }

 private:
  std::map<Text, Entry> entries_;
};

/// What to spawn, and where.
struct SpawnOptions {
  Entity parent = {};  ///< nil: a root of the world
  Entity before = {};  ///< the sibling it is put before; nil: it becomes the last child
  std::string_view name = {};
  NameClash clash = NameClash::suffix;
  std::uint32_t count = 1;             ///< trees
  std::vector<Entity>* ids = nullptr;  ///< receives the ids of all nodes in pre-order, tree after tree
};

/// Appends a Spawn under these ids: as many as the template has nodes, or a multiple. The roots get `root` in place of,
/// or beside, what the template gives them.
template <ComponentType... Cs>
void append_spawn(BatchWriter& out, std::span<const Entity> ids, const Spawn& how, const Cs&... root) {
  if constexpr (sizeof...(Cs) == 0)
    out.append_shared(ids, how);
  else
    out.append_rows_shared(ids, how, root...);
}
/// Appends a Spawn of `what`, for threads that write to an inbox lane, with ids that were granted to them. `how.what`
/// is filled in; the name in `how` must be known to the world.
template <ComponentType... Cs>
void append_spawn(BatchWriter& out, const Template& what, std::span<const Entity> ids, Spawn how, const Cs&... root) {
  how.what = text_of(what.name());
  append_spawn(out, ids, how, root...);
}

}  // namespace muster
