// A template of a registry, in a checked, flat, and immutable form. Spawning copies from it.
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

/// Immutable, so any number of threads may read a template and build batches from it.
class Template {
 public:
  struct Value {
    TypeId type = 0;
    std::uint32_t at = 0, bytes = 0;  ///< offset and size of the value's bytes in data(); tags have
                                      ///< none
    std::uint32_t first_span = 0, spans = 0;
    std::uint32_t first_reference = 0, references = 0;
    bool table = false;  ///< true for a message that is a table
  };
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
    Text name;
    std::uint32_t first_component = 0, components = 0;
    std::uint32_t first_message = 0, messages = 0;
  };

  /// Checks a definition that has passed the verifier: its types, layouts, values, and names, and
  /// the shape of the tree.
  static std::expected<std::shared_ptr<const Template>, Refusal> read(DefineTemplateView defined, TypesKnown& types);

  std::string_view name() const noexcept { return name_; }
  /// Returns the number of nodes, which is also the number of ids that one spawn needs.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::span<const Value> components(const Node& node) const noexcept {
    return std::span(values_).subspan(node.first_component, node.components);
  }
  std::span<const Value> messages(const Node& node) const noexcept {
    return std::span(values_).subspan(node.first_message, node.messages);
  }
  bool has_messages() const noexcept { return has_messages_; }
  /// Returns the bytes of all values. Each value is aligned to 16 bytes.
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

/// The templates of a registry, keyed by the hashes of their names.
class TemplateTable {
 public:
  /// Describes how the rows of a node are created. Remembered between spawns, and used only on the
  /// registry's thread.
  struct NodePlan {
    Archetype* archetype = nullptr;
    struct Copy {
      std::uint16_t slot;
      std::uint32_t size;
      std::uint32_t at;  // offset of the value in the template's data
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
    std::vector<std::byte> batch;  ///< the DefineTemplate message, as saved and sent
    std::uint64_t version = 0;     ///< version of the storage when the template was defined
    std::vector<NodePlan> plans;   ///< parallel to the template's nodes; empty if not yet made
    // The values that the root had received, in addition to the template's own, when its plan was
    // made.
    bool root_named = false;
    std::vector<RowSetEntry> root_rows;
    std::vector<NodePlan::Copy> root_row_copies;  ///< `at` is the offset in the message's payload
    TreePlan tree;                                ///< has no blocks if not yet made
    /// Nodes whose children are not in the index of names (see Names).
    std::vector<std::uint32_t> unlisted;
    std::vector<std::uint32_t> listed;  ///< nodes whose names are in the index of names
    bool patched = false;               ///< true if any node refers to another node
    /// The batch of the previous single-tree spawn that came from outside. Empty if there was none.
    struct Sealed {
      SealedBytes bytes;
      std::span<const std::byte> batch;
      std::byte* message = nullptr;  ///< points into `batch`, as does `ids`
      std::span<Entity> ids;
    } sealed;
    /// Builds `sealed`.
    void seal(const Spawn& message);
  };

  /// Returns null if the template is unknown.
  Entry* find(Text name) noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  const Entry* find(Text name) const noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  /// Returns the current template, or null if the template is unknown.
  const Template* template_of(Text name) const noexcept {
    const auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : at->second.what.get();
  }
  Entry& put(Text name) {
    ++changes_;
    return entries_[name];
  }
  void forget(Text name) {
    ++changes_;
    entries_.erase(name);
  }
  /// Changes whenever a template is defined, replaced, or forgotten.
  std::uint64_t changes() const noexcept { return changes_; }
  /// Forgets the data remembered between spawns for all templates.
  void forget_plans() {
    for (auto& [name, entry] : entries_) {
      Entry fresh;
      fresh.what = std::move(entry.what);
      fresh.batch = std::move(entry.batch);
      fresh.version = entry.version;
      entry = std::move(fresh);
    }
  }
  /// Returns the entries, sorted by the hash of the name.
  const std::map<Text, Entry>& entries() const noexcept { return entries_; }

 private:
  std::map<Text, Entry> entries_;
  std::uint64_t changes_ = 0;
};

/// Specifies where to spawn trees, their name, and how many to spawn.
struct SpawnOptions {
  Entity parent = {};  ///< the parent of the tree; if nil, the tree becomes a root of the world
  Entity before = {};  ///< the next sibling; if nil, the tree becomes the last child
  std::string_view name = {};
  NameClash clash = NameClash::suffix;
  std::uint32_t count = 1;  ///< number of trees
  /// Receives the ids of all nodes in pre-order, one tree after another. Unchanged if the spawn is
  /// refused.
  std::vector<Entity>* ids = nullptr;
};

/// Appends a Spawn with the given ids. Their number must be a multiple of the template's node
/// count. The components in `root` are added to each root's components from the template, replacing
/// those of the same type.
template <ComponentType... Cs>
void append_spawn(BatchWriter& out, std::span<const Entity> ids, const Spawn& how, const Cs&... root) {
  if constexpr (sizeof...(Cs) == 0)
    out.append_shared(ids, how);
  else
    out.append_rows_shared(ids, how, root...);
}
/// Appends a Spawn of `what` with granted ids. Intended for threads that write to an inbox lane.
/// Sets `how.what`. The name in `how` must be known to the world.
template <ComponentType... Cs>
void append_spawn(BatchWriter& out, const Template& what, std::span<const Entity> ids, Spawn how, const Cs&... root) {
  how.what = text_of(what.name());
  append_spawn(out, ids, how, root...);
}

}  // namespace muster
