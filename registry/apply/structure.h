// What the registry does itself with the messages that change structure: Create, Destroy, Set, Remove, SetField,
// Reparent, Rename, InternText and the grants. Each is applied whole or refused without effect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "messages/batch.h"
#include "registry/apply/receipt.h"
#include "registry/apply/template.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/types_known.h"
#include "registry/storage/bulk_rows.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/names.h"
#include "registry/storage/storage.h"
#include "registry/storage/text_table.h"
#include "schema/muster.h"

namespace muster {

/// Always by reference: as the last of many arguments a span would go through memory in halves that are read back whole,
/// and wait for both.
using RowSetSpan = std::span<const RowSetEntry>;

class Structure {
 public:
  Structure(Storage& storage, Hierarchy& hierarchy, TypesKnown& types, TextTable& texts)
      : storage_(storage),
        types_(types),
        texts_(texts),
        hierarchy_(hierarchy),
        bulk_(storage, hierarchy),
        names_(hierarchy) {}

  Hierarchy& hierarchy() noexcept { return hierarchy_; }
  const Hierarchy& hierarchy() const noexcept { return hierarchy_; }
  Names& names() noexcept { return names_; }
  const Names& names() const noexcept { return names_; }

  /// A POD message to one entity; `rows` is the batch's row set. A refusal's code is none where it was applied.
  Refusal apply(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows);
  /// A Create to many ids that nobody watches; false, and nothing done, where it must go one by one. Ids that were not
  /// granted are appended to `refused`.
  bool create_many(std::span<const Entity> ids, const std::byte* payload, const RowSetSpan& rows,
                   std::vector<Entity>& refused);
  /// Those that are alive, one after another; how many were.
  std::uint32_t destroy_many(std::span<const Entity> ids);
  /// A message to the world: Grant, ReturnGrant. InternText comes as its text.
  void grant(const Grant& grant);
  void return_grant(const ReturnGrant& grant);
  Refusal intern(std::string_view text);

  TemplateTable& templates() noexcept { return templates_; }
  const TemplateTable& templates() const noexcept { return templates_; }
  /// Adds, replaces or forgets a template.
  Refusal define(std::span<const std::byte> table);
  /// `ids`: of all nodes in pre-order, tree after tree. `rows` of the payload are what the roots get besides.
  Refusal spawn(const Spawn& message, std::span<const Entity> ids, const std::byte* payload, const RowSetSpan& rows);
  Refusal merge(const MergeTemplate& message, std::span<const Entity> ids);
  /// Beside the ids of the last merge: 1 where the entity was there before.
  std::span<const std::uint8_t> previously() const noexcept { return previously_; }
  /// What it did to components of entities that were there before.
  struct Merged {
    Entity entity;
    TypeId component;
    bool added;  ///< false: changed
  };
  std::span<const Merged> merged() const noexcept { return merged_; }

  /// The name of an entity, nil if it has none.
  Text name_of(Entity e) const noexcept { return hierarchy_.name(e); }
  /// Rebuilds the index of names after the rows were read back. Stops at an entity whose sibling has its name, and returns
  /// it; else nil.
  Entity restore_names();
  /// `e` and all below it in the order of destruction: reverse pre-order, so children go before their parents.
  std::span<const Entity> doomed(Entity e);

 private:
  /// A child comes to its siblings, or leaves them.
  void link(Entity child, Entity parent, Entity before) {
    hierarchy_.link(child, parent, before);
    names_.child_came(parent);
  }
  void unlink(Entity child, Entity parent) {
    hierarchy_.unlink(child, parent);
    if (hierarchy_.children(parent) == 0) names_.forget(parent);
  }
  Refusal create(Entity e, const Create& message, const std::byte* payload, const RowSetSpan& rows);
  Refusal destroy(Entity e) {
    destroy(e, storage_.find(e));
    return {};
  }
  /// With all below it.
  void destroy(Entity top, Row row) {
    if (stands_alone(row, top, hierarchy_)) [[likely]]
      storage_.destroy_plain(row, top);
    else
      destroy_linked(top, row);
  }
  void destroy_linked(Entity top, Row row);
  Refusal set(Entity e, const Set& message, const std::byte* payload, const RowSetSpan& rows);
  Refusal remove(Entity e, const Remove& message);
  Refusal set_field(Entity e, const SetField& message, const std::uint8_t* expected);
  Refusal reparent(Entity e, const Reparent& message);
  Refusal rename(Entity e, const Rename& message);

  /// Which archetype a row set asks for, remembered for the next message.
  struct RowPlan {
    std::vector<RowSetEntry> rows;
    bool named = false;
    Archetype* from = nullptr;  // null for Create
    Archetype* to = nullptr;
    std::uint32_t layout = 0;  // of `to`
    std::vector<ValuePlace> values;
    Refusal refusal;
  };
  /// Whether these components can be given. An archetype is made only for a message that is not refused.
  Refusal judge(const RowSetSpan& rows);
  const RowPlan& plan(const RowSetSpan& rows, bool named, Archetype* from, RowPlan& remembered);
  static bool same_rows(const std::vector<RowSetEntry>& known, const RowSetSpan& rows) noexcept;
  /// Whether a remembered plan is of this, and of components that can be given.
  static bool planned(const RowSetSpan& rows, bool named, const Archetype* from, const RowPlan& p) noexcept;
  /// `fresh`: a row just appended, whose columns are touched.
  void write(Row row, const RowPlan& plan, const std::byte* payload, bool fresh);
  void write_name(Row row, Text name);

  void give_up_reserved(std::span<const Entity> ids);
  /// An id that is in the list twice; nil if none is.
  Entity named_twice(std::span<const Entity> ids);
  void plan_spawn(TemplateTable::Entry& entry, bool named, const RowSetSpan& rows);
  void plan_node(TemplateTable::Entry& entry, std::uint32_t number, bool named);
  void plan_blocks(TemplateTable::Entry& entry);
  void spawn_tree(const TemplateTable::Entry& entry, const Spawn& message, std::span<const Entity> ids,
                  std::uint32_t depth, const std::byte* payload);
  /// A node's row with the template's values.
  Row spawn_node(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                 std::uint32_t depth, Entity parent);
  /// Names of other nodes in its values become those of `ids`.
  static void patch(const TemplateTable::NodePlan& plan, Row row, std::span<const Entity> ids);
  /// With name and links; `depth` of the root.
  void spawn_child(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                   std::uint32_t depth);
  /// All nodes but the root, block by block; the open chunks have room for them.
  void spawn_blocks(const TemplateTable::Entry& entry, std::span<const Entity> ids, std::uint32_t depth);
  void merge_node(const Template& what, const Template::Node& node, std::span<const Entity> ids, Entity e);

  Storage& storage_;
  TypesKnown& types_;
  TextTable& texts_;
  Hierarchy& hierarchy_;
  BulkRows bulk_;
  Names names_;
  RowPlan create_plan_, set_plan_;
  std::vector<Entity> subtree_;
  std::vector<TypeId> types_scratch_;
  TemplateTable templates_;
  std::vector<std::uint8_t> previously_;
  std::vector<Merged> merged_;
  std::vector<std::byte> merge_before_;
  std::vector<std::byte> field_scratch_;
};

}  // namespace muster
