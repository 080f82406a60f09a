// The only place where messages change structure. Applies Create, Destroy, Set, Remove, SetField,
// Reparent, Rename, InternText, grants, and templates. Each message is either applied completely or
// refused without effect.
//
//   Delivery, for every message     apply, destroy_many, spawn, merge, define ...   the message is checked
//     edited()                      a log sees it, if a session sent it             registry/apply/edit_log.h
//       create, set, remove ...     row by row                                      registry/storage/storage.h, hierarchy.h, names.h
//       many rows at once           Create, Destroy; Reparent to another depth      registry/storage/bulk_rows.h
//       a tree                      Spawn                                           registry/apply/tree_rows.h
//     begin_step(), end_step()      parked ids, and a Step that is taken back       registry/apply/steps.cc
//     create_run()                  many Creates of a Step                          registry/apply/create_run.cc
//
// Apart from this class, only HostCall writes rows, for some of the host's own calls
// (registry/delivery/host_call.h). A load fills a separate state, and handlers write only component
// values. tests/checks/writes.py detects any other code that writes rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "registry/apply/edit_log.h"
#include "registry/apply/receipt.h"
#include "registry/apply/registry_state.h"
#include "registry/apply/template.h"
#include "registry/apply/text_mentions.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/types_known.h"
#include "registry/storage/bulk_rows.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/names.h"
#include "registry/storage/storage.h"
#include "registry/storage/text_table.h"
#include "schema/muster.h"

namespace muster {

/// Always passed by reference: as the last of many arguments, a span would be stored in two halves,
/// and an immediate read would have to wait for both stores.
using RowSetSpan = std::span<const RowSetEntry>;

class HostCall;

class Structure {
 public:
  /// `state` is the registry's state or one under construction. `state` and `types` must outlive
  /// this object. Whenever the contents of the state are exchanged, forget_plans() must be called
  /// afterward.
  Structure(RegistryState& state, TypesKnown& types)
      : storage_(state.storage),
        types_(types),
        texts_(state.texts),
        hierarchy_(state.hierarchy),
        names_(state.names),
        templates_(state.templates),
        bulk_(state.storage, state.hierarchy),
        tree_rows_(state.storage, state.hierarchy) {}

  const Hierarchy& hierarchy() const noexcept { return hierarchy_; }
  const Names& names() const noexcept { return names_; }
  /// Returns the child of `parent` with this name, or nil. Intended for callers that look up many
  /// names (see Names::find).
  Entity find_child(Entity parent, Text name) { return names_.find(parent, name); }

  /// Sets the log that receives the edits of sessions from now on, or removes it if null. The log
  /// must outlive this object or remain valid until the next call.
  void set_edit_log(EditLog* log) noexcept { log_ = log; }
  EditLog* edit_log() const noexcept { return log_; }
  /// While this object exists, the messages being applied belong to an input from `sender`.
  class EditedBy {
   public:
    EditedBy(Structure& structure, const Sender& sender) noexcept : structure_(structure) {
      if (structure.log_ && sender.session != 0) [[unlikely]]
        structure.sender_ = sender;
    }
    ~EditedBy() { structure_.sender_.session = 0; }
    EditedBy(const EditedBy&) = delete;
    EditedBy& operator=(const EditedBy&) = delete;

   private:
    Structure& structure_;
  };

  /// Applies a POD message to a single entity. `rows` is the batch's row set. On success, the code
  /// of the returned refusal is `none`.
  [[gnu::always_inline]] Refusal apply(TypeId message, Entity target, const std::byte* payload,
                                       const RowSetSpan& rows) {
    if (sender_.session == 0) [[likely]]
      return apply_one(message, target, payload, rows);
    return apply_edit(message, target, payload, rows);
  }
  /// Applies a Create without parent and name to many ids if it is not from a session. The caller
  /// must know that no handler is waiting for the entities. Appends ids that may not be created to
  /// `refused`. Returns false and has no effect if the ids must be created one at a time.
  bool create_many(std::span<const Entity> ids, const std::byte* payload, const RowSetSpan& rows,
                   std::vector<Entity>& refused);
  /// Destroys the entities in `ids` that are alive, in order, and returns their number.
  std::uint32_t destroy_many(std::span<const Entity> ids, const std::byte* payload);
  /// These functions apply messages to the world: Grant, ReturnGrant, and the table of InternText.
  void grant(const Grant& grant);
  void return_grant(const ReturnGrant& grant);
  Refusal intern(std::span<const std::byte> table);
  /// Releases those of `ids` that are parked, in order.
  void release_ids(std::span<const Entity> ids);

  // --- Steps (registry/apply/steps.cc) ---

  /// True if the messages being applied are from a session and the registry has a log. Only then
  /// can they be taken back.
  bool is_logged() const noexcept { return sender_.session != 0; }
  bool in_step() const noexcept { return in_step_; }
  /// Must be called before the messages of a Step. They must be logged (is_logged()).
  void begin_step(const StepView& step);
  /// Ends the Step. If `applied` is false, takes back the changes of its messages: the contents of
  /// the world and the states of ids are those from before begin_step(). Texts, archetypes, and the
  /// order of rows are not taken back. Stops the program if what the log returns cannot be applied.
  void end_step(bool applied);
  /// Applies up to `most` Creates in a batch of kind `each` from message `begin` on, as if they
  /// were applied one at a time, but with a single edit for the log. Stops before the first one
  /// that must be applied by itself, for example because it would be refused. Returns the number of
  /// entities. The caller must know that no handler is waiting for them, and must have called
  /// begin_step().
  std::uint32_t create_run(const BatchView& batch, std::uint32_t begin, std::uint32_t most);
  /// Shorter runs are not worth the preparation; create_run() returns 0.
  static constexpr std::uint32_t run_shortest = 16;
  /// Releases the id of a Create or Spawn that is not delivered, if the registry has reserved it.
  void give_up_reserved(std::span<const Entity> ids);

  const TemplateTable& templates() const noexcept { return templates_; }
  /// Returns the cached data for spawning a template, or null if the template is unknown.
  TemplateTable::Entry* find_template(Text name) noexcept { return templates_.find(name); }
  /// Adds, replaces, or removes a template.
  Refusal define(std::span<const std::byte> table);
  /// Spawns trees whose nodes have the given ids: all nodes of the first tree in pre-order, then
  /// those of the next. `rows` lists the additional components that the roots get from the payload.
  Refusal spawn(const Spawn& message, std::span<const Entity> ids, const std::byte* payload, const RowSetSpan& rows) {
    return edited(TypeTraits<Spawn>::id, ids, payload, rows, {},
                  [&] { return spawn_all(message, ids, payload, rows); });
  }
  /// Spawns a single tree for a call by the host. The ids must just have been taken
  /// (HostCall::take_ids). The template must be planned(), and the message must not have a name or
  /// a `before` sibling. The spawn cannot be refused. Equivalent to spawn() without rows.
  void spawn_taken(const HostCall& call, TemplateTable::Entry& entry, const Spawn& message,
                   std::span<const Entity> ids);
  /// True if the previous spawn of this template created an unnamed tree and had no `rows`.
  static bool planned(const TemplateTable::Entry& entry) noexcept {
    return !entry.tree.blocks.empty() && !entry.root_named && entry.root_rows.empty();
  }
  /// Applies a template to the living tree at ids[0]; see MergeTemplate.
  Refusal merge(const MergeTemplate& message, std::span<const Entity> ids, const std::byte* payload) {
    return edited(TypeTraits<MergeTemplate>::id, ids, payload, {}, {}, [&] { return merge_all(message, ids); });
  }
  /// Parallel to the ids passed to the previous merge: 1 if the entity already existed.
  std::span<const std::uint8_t> previously() const noexcept { return previously_; }
  /// A change that the previous merge made to a component of an existing entity.
  struct Merged {
    Entity entity;
    TypeId component;
    bool added;  ///< true if it was added; false if it was changed
  };
  std::span<const Merged> merged() const noexcept { return merged_; }

  /// Returns the name of an entity, or nil if it has none.
  Text name_of(Entity e) const noexcept { return hierarchy_.name(e); }
  /// Drops the texts that are not mentioned anywhere. The caller must already have searched the
  /// pending messages; this function searches the state.
  void drop_texts(TextMentions& texts);
  /// Forgets all remembered plans. Must be called when archetypes are dropped.
  void forget_plans();
  /// Rebuilds the index of names after rows were loaded. Returns the first entity that has the same
  /// name as a sibling, or nil if all names are valid.
  Entity restore_names();
  /// Returns `e` and all its descendants in order of destruction. The order is reverse pre-order,
  /// so children come before their parents.
  std::span<const Entity> doomed(Entity e);

 private:
  /// Applies a single message by calling `write()`. Every message that a session may send passes
  /// through this function, so that a log receives all of them.
  template <class Write>
  [[gnu::always_inline]] Refusal edited(TypeId type, std::span<const Entity> targets, const std::byte* payload,
                                        const RowSetSpan& rows, std::span<const std::byte> table, Write write) {
    if (sender_.session == 0) [[likely]]
      return write();
    const Edit edit{sender_, type, targets, payload, rows, table};
    if (in_step_) note_ids(targets);
    log_->before(edit);
    const Refusal refusal = write();
    log_->after(edit, refusal);
    return refusal;
  }
  /// Links a child to its parent and siblings, or unlinks it.
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
  /// Destroys an entity and all its descendants.
  void destroy(Entity top, Row row) {
    if (stands_alone(row, top, hierarchy_)) [[likely]]
      storage_.destroy_plain(row, top);
    else
      destroy_linked(top, row);
  }
  /// Destroys an entity and all its descendants, and releases or parks their ids.
  void destroy_linked(Entity top, Row row, bool park = false);
  Refusal apply_one(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows);
  /// Applies a message from a session to a single entity.
  Refusal apply_edit(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows);
  /// Like apply_one(), but parks the ids of destroyed entities.
  Refusal apply_parking(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows);
  /// Remembers the states of those ids that do not have a row yet.
  void note_ids(std::span<const Entity> targets);
  void take_back(const BatchView& batch);
  Refusal spawn_all(const Spawn& message, std::span<const Entity> ids, const std::byte* payload,
                    const RowSetSpan& rows);
  Refusal merge_all(const MergeTemplate& message, std::span<const Entity> ids);
  Refusal define_one(std::span<const std::byte> table);
  Refusal set(Entity e, const Set& message, const std::byte* payload, const RowSetSpan& rows);
  Refusal remove(Entity e, const Remove& message);
  Refusal set_field(Entity e, const SetField& message, const std::uint8_t* expected);
  Refusal reparent(Entity e, const Reparent& message);
  Refusal rename(Entity e, const Rename& message);

  /// The archetype required by a row set, remembered for the next message.
  struct RowPlan {
    std::vector<RowSetEntry> rows;
    bool named = false;
    Archetype* from = nullptr;  // null for Create
    Archetype* to = nullptr;
    std::uint32_t layout = 0;  // layout of `to`
    std::vector<ValuePlace> values;
    std::vector<std::uint16_t> enabled;  // presence columns of `to` that are set to present
    Refusal refusal;
  };
  /// Like plan() for a Create, but remembers several plans.
  const RowPlan& run_plan(const RowSetSpan& rows, bool named);
  /// Checks whether these components can be added. Must be called first, because archetypes are
  /// created only for messages that are not refused.
  Refusal judge(const RowSetSpan& rows);
  const RowPlan& plan(const RowSetSpan& rows, bool named, Archetype* from, RowPlan& remembered);
  static bool same_rows(const std::vector<RowSetEntry>& known, const RowSetSpan& rows) noexcept;
  /// True if a remembered plan fits a message with these rows and the message's components can
  /// still be added.
  static bool planned(const RowSetSpan& rows, bool named, const Archetype* from, const RowPlan& p) noexcept;
  /// Writes the values of a plan. `fresh` is true if the row was just appended and its columns have
  /// therefore been touched.
  void write(Row row, const RowPlan& plan, const std::byte* payload, bool fresh);
  void write_name(Row row, Text name);

  /// Returns the first id that occurs twice in the list, or nil if there is none.
  Entity named_twice(std::span<const Entity> ids);
  void plan_spawn(TemplateTable::Entry& entry, bool named, const RowSetSpan& rows);
  void plan_node(TemplateTable::Entry& entry, std::uint32_t number, bool named);
  /// Plans the root, including the components that are added to the template's own.
  void plan_root(TemplateTable::Entry& entry, bool named);
  void plan_block(TemplateTable::Entry& entry, std::uint32_t number, std::span<const std::uint32_t> nodes);
  void plan_tree(TemplateTable::Entry& entry);
  /// Performs all checks that do not depend on whether the ids may be created.
  Refusal judge_spawn(const Spawn& message, std::span<const Entity> ids, std::uint32_t size, const RowSetSpan& rows);
  void spawn_tree(TemplateTable::Entry& entry, const Spawn& message, std::span<const Entity> ids, std::uint32_t depth,
                  const std::byte* payload);
  /// Creates the rows of a tree, including everything that the template specifies. The rows must
  /// fit (see TreeRows::fits). Does not link the root to `parent`.
  Row spawn_rows(const TemplateTable::Entry& entry, std::span<const Entity> ids, Entity parent);
  /// Creates the row of a node, with the template's values.
  Row spawn_node(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                 std::uint32_t depth, Entity parent);
  /// If values of a node refer to other nodes, writes the ids of those nodes into the values.
  static void patch(const TemplateTable::NodePlan& plan, Row row, std::span<const Entity> ids);
  /// Creates a node with its row, name, and links. `depth` is the depth of the root.
  void spawn_child(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                   std::uint32_t depth);
  void merge_node(const Template& what, const Template::Node& node, std::span<const Entity> ids, Entity e);

  Storage& storage_;
  TypesKnown& types_;
  TextTable& texts_;
  Hierarchy& hierarchy_;
  Names& names_;
  TemplateTable& templates_;
  BulkRows bulk_;
  TreeRows tree_rows_;
  EditLog* log_ = nullptr;
  Sender sender_;  // the session whose messages are being applied, if there is a log
  bool in_step_ = false;
  bool revives_ = false;  // true if a Create may use a parked id
  // The ids without rows that messages of the Step named, with their states before the message.
  std::vector<std::pair<Entity, IdState>> step_ids_;
  RowPlan create_plan_, set_plan_;
  // For create_run(): the plans of several row sets, and the next one to be replaced.
  std::array<RowPlan, 16> run_plans_;
  std::size_t next_run_plan_ = 0;
  std::vector<Entity> run_;
  std::vector<Entity> subtree_;
  std::vector<TypeId> types_scratch_;
  std::vector<std::uint8_t> previously_;
  std::vector<Merged> merged_;
  std::vector<bool> merge_had_;  // parallel to the components of a node
  std::vector<std::byte> merge_before_;
  std::vector<std::byte> field_scratch_;
};

}  // namespace muster
