#include "server/edits/edit_cost.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "messages/step_batches.h"
#include "registry/apply/template.h"
#include "registry/apply/timers.h"
#include "registry/host.h"
#include "server/edits/step_changes.h"
#include "server/session/session.h"
#include "server/session/shown_text.h"

namespace muster {

bool owns(const Seat& seat, Entity e) noexcept {
  if (e.generation != 1) return false;
  const auto behind = std::ranges::upper_bound(seat.grants, e.index, {}, &session::Granted::first);
  if (behind == seat.grants.begin()) return false;
  const session::Granted& grant = *(behind - 1);
  return e.index - grant.first < grant.count;
}

/// Judges a single edit.
class EditWalk {
 public:
  /// `costed` determines whether the limit on cost applies.
  EditWalk(EditJudge& judge, const Seat& from, bool costed = true)
      : judge_(judge), registry_(judge.registry_), limits_(judge.limits_), from_(from), costed_(costed) {}

  std::expected<EditCost, session::Fault> run(BatchView edit) {
    const BatchView whole = edit;
    const bool timed = edit.kind() == BatchKind::timed;
    if (timed) edit = edit.inner();
    type_ = edit.type();
    count_ = edit.count();
    if (type_ == TypeTraits<Step>::id && edit.kind() == BatchKind::table) return run_step(edit);
    if (timed) {
      if (!check_timers(whole)) return std::unexpected(*std::move(fault_));
      cost_.steps += 10;
    }
    spend_bytes(edit.bytes().size());
    if (!look(edit) || !check_texts() || !check_rows(edit) || (timed && !check_due(whole.header().argument)))
      return std::unexpected(*std::move(fault_));
    return cost_;
  }
  std::uint64_t steps() const noexcept { return cost_.steps; }

 private:
  /// Judges each batch of a Step as if the preceding ones had been applied.
  std::expected<EditCost, session::Fault> run_step(BatchView edit) {
    EditCost sum;
    std::uint32_t number = 0;
    step_.emplace(registry_);
    StepBatches(table_item(edit, edit.body()).table).for_each([&](BatchView batch) {
      if (fault_) return;
      type_ = batch.type();
      count_ = batch.count();
      cost_.row_bytes = cost_.template_bytes = 0;
      spend_bytes(batch.bytes().size());
      if (!look(batch) || !check_texts() || !check_rows(batch)) {
        fault_->text.insert(0, "batch " + std::to_string(number) + " of the Step: ");
        return;
      }
      step_->row_bytes = sum.row_bytes += cost_.row_bytes;
      step_->template_bytes = sum.template_bytes += cost_.template_bytes;
      ++number;
    });
    cost_.row_bytes = sum.row_bytes;
    cost_.template_bytes = sum.template_bytes;
    cost_.delivery = 0;  // the time of a Step says nothing about a type of message
    type_ = edit.type();
    count_ = 1;
    if (!fault_ && number > 1) spend(0);
    if (fault_) return std::unexpected(*std::move(fault_));
    return cost_;
  }

  bool refuse(const char* reason, std::string text, Entity e = {}) {
    fault_ = fault_of(session::FaultCode::refused, reason, std::move(text));
    fault_->type = type_;
    fault_->entity = e;
    fault_->refused = count_;
    return false;
  }
  void spend_bytes(std::uint64_t bytes) { cost_.steps += bytes / 64; }
  /// Adds to the cost. Returns false if the limit is exceeded.
  bool spend(std::uint64_t steps) {
    cost_.steps += steps;
    return !costed_ || cost_.steps <= limits_.edit_steps_max || too_dear();
  }
  bool too_dear() {
    const TypeDescriptor* type = registry_.types().find(type_);
    return refuse("edit_steps_max", (type ? type->name : "the edit") + std::string(" would cost ") +
                                        std::to_string(cost_.steps) + " steps or more; " +
                                        std::to_string(limits_.edit_steps_max) +
                                        " are allowed for one batch, and it may be split into several");
  }

  bool look(BatchView edit) {
    switch (type_) {
      case TypeTraits<Create>::id: return creates(edit);
      case TypeTraits<Spawn>::id:
      case TypeTraits<MergeTemplate>::id: return trees(edit);
      case TypeTraits<Destroy>::id: return destroys(edit);
      case TypeTraits<Reparent>::id: return reparents(edit);
      case TypeTraits<Rename>::id: {
        for (std::uint32_t i = 0; i < payloads(edit); ++i)
          if (!check_name(read<Rename>(edit, i).name)) return false;
        return spend(2ull * count_);
      }
      case TypeTraits<InternText>::id: return interns(edit);
      case TypeTraits<DefineTemplate>::id: return defines(edit);
      default: return rows(edit) && (is_structural(type_) ? spend(2ull * count_) : messages(edit));
    }
  }

  template <class M>
  static M read(BatchView edit, std::uint32_t i) {
    M message;
    std::memcpy(&message, edit.payload(i), sizeof message);
    return message;
  }
  static std::vector<Entity> targets(BatchView edit) {
    std::vector<Entity> all;
    for (std::uint32_t i = 0; i < edit.count(); ++i) all.push_back(edit.target(i));
    return all;
  }
  static std::uint32_t payloads(BatchView edit) { return edit.kind() == BatchKind::shared ? 1 : edit.count(); }
  /// Counts the rows of an edit. A shared payload is counted once per entity, because it is written
  /// to each entity.
  bool rows(BatchView edit) {
    if (edit.kind() != BatchKind::shared || !edit.has_rows()) return true;
    return spend(std::uint64_t{edit.header().payload_bytes} * edit.count() / 64);
  }

  /// Returns the size in bytes of the components in a row set, or 0 if there is no row set.
  std::uint64_t row_set_bytes(BatchView edit) const {
    std::uint64_t bytes = 0;
    for (const RowSetEntry& entry : edit.row_set())
      if (const TypeDescriptor* component = registry_.types().find(entry.type)) bytes += component->size;
    return bytes;
  }
  /// Returns the size in bytes of the components that the targets of a Set do not have yet.
  std::uint64_t new_row_bytes(BatchView edit) {
    std::uint64_t bytes = 0;
    for (const RowSetEntry& entry : edit.row_set()) {
      const TypeDescriptor* component = registry_.types().find(entry.type);
      if (!component) continue;
      cost_.steps += edit.count() / 4;
      for (std::uint32_t i = 0; i < edit.count(); ++i)
        if (const Entity e = edit.target(i); registry_.alive(e) && !registry_.find(e, entry.type))
          bytes += component->size;
    }
    return bytes;
  }
  bool check_rows(BatchView edit) {
    const bool sets =
        type_ == TypeTraits<Set>::id && (edit.kind() == BatchKind::each || edit.kind() == BatchKind::shared);
    if (sets) cost_.row_bytes = row_set_bytes(edit) * edit.count();
    if (cost_.row_bytes == 0) return true;
    const std::uint64_t max = limits_.world_rows_bytes_max;
    WorldBudget& budget = judge_.world_budget_;
    const std::uint64_t before = step_ ? step_->row_bytes : 0;
    bool exceed = budget.rows_exceed(before + cost_.row_bytes, max);
    cost_.steps += budget.steps();
    if (exceed && sets && !step_) {
      cost_.row_bytes = new_row_bytes(edit);
      exceed = cost_.row_bytes > 0 && budget.rows() + cost_.row_bytes > max;
    }
    if (!exceed) return true;
    return refuse("world_rows_bytes_max", "the values of the world's entities would have " +
                                              std::to_string(budget.rows() + before + cost_.row_bytes) + " bytes; " +
                                              std::to_string(max) + " are allowed");
  }

  bool check_name(Text name) {
    const std::size_t bytes = step_ ? step_->text_bytes(name) : registry_.text(name).size();
    if (bytes <= limits_.name_bytes_max) return true;
    return refuse("name_bytes_max", "a name of " + std::to_string(bytes) + " bytes; " +
                                        std::to_string(limits_.name_bytes_max) + " are allowed");
  }
  bool check_depth(std::uint64_t depth, Entity e) {
    if (depth <= limits_.depth_max) return true;
    return refuse("depth_max",
                  shown_id(e) + " would be " + std::to_string(depth) + " levels below its root; " +
                      std::to_string(limits_.depth_max) + " are allowed",
                  e);
  }
  bool check_entities(std::uint64_t more) {
    cost_.entities += more;
    const std::uint64_t would_be = registry_.entity_count() + more + (step_ ? step_->made() : 0);
    if (would_be <= limits_.world_entities_max) return true;
    return refuse("world_entities_max", "the world would have " + std::to_string(would_be) +
                                            " entities; sessions may make up to " +
                                            std::to_string(limits_.world_entities_max));
  }
  bool check_id(Entity e) {
    if (owns(from_, e)) return true;
    return refuse("id_not_granted", shown_id(e) + " was not granted to this session, or is already used", e);
  }

  // --- edits that create entities

  bool creates(BatchView edit) {
    if (edit.kind() != BatchKind::each && edit.kind() != BatchKind::shared)
      return spend(count_);  // the world will refuse it
    if (!check_entities(count_) || !spend(2ull * count_) || !rows(edit)) return false;
    cost_.row_bytes = (16 + row_set_bytes(edit)) * count_;
    std::unordered_map<Entity, std::uint32_t> made;  // depths of the parents created by this edit
    bool all_alive = true;
    for (std::uint32_t i = 0; i < payloads(edit) && all_alive; ++i) {
      const Entity parent = read<Create>(edit, i).parent;
      all_alive = !parent || registry_.alive(parent);
    }
    Entity parent_before;
    std::uint64_t depth = 0;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const Entity e = edit.target(i);
      if (!check_id(e)) return false;
      if (i >= payloads(edit) && !step_) continue;
      const auto message = read<Create>(edit, i < payloads(edit) ? i : 0);
      if (!check_name(message.name)) return false;
      if (i == 0 || message.parent != parent_before) {
        const auto known = made.find(message.parent);
        depth = step_                             ? step_->depth_below(message.parent)
                : !message.parent                 ? 0
                : known != made.end()             ? known->second + 1
                : registry_.alive(message.parent) ? registry_.depth(message.parent) + 1
                                                  : 0;
        parent_before = message.parent;
      }
      if (!check_depth(depth, e)) return false;
      if (step_) {
        step_->create(e, message.parent);
        if (!spend(step_->take_steps())) return false;
        continue;
      }
      if (!all_alive) made[e] = static_cast<std::uint32_t>(depth);
    }
    return true;
  }

  bool trees(BatchView edit) {
    if (edit.kind() != BatchKind::shared) return spend(count_);
    const bool spawns = type_ == TypeTraits<Spawn>::id;
    const Text what = spawns ? read<Spawn>(edit, 0).what : read<MergeTemplate>(edit, 0).what;
    if (step_ && step_->defines(what))
      return refuse("not_in_step", "the Step defines the template that it uses; define it in an edit before");
    const std::string_view name = registry_.text(what);
    const auto known = registry_.host().find_template(name);
    if (!known || known->size() == 0) return spend(count_);  // the world will refuse it
    const std::uint64_t trees = edit.count() / known->size() + 1;
    if (!spend(3ull * count_) || !spend(trees * registry_.host().template_batch(name).size() / 64) || !rows(edit))
      return false;
    std::uint64_t made = 0;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const Entity e = edit.target(i);
      if (!spawns && registry_.alive(e)) continue;
      ++made;
      if (!check_id(e)) return false;
    }
    if (!check_entities(made)) return false;
    cost_.row_bytes = 16 * made + (row_set_bytes(edit) + template_bytes(registry_, name)) * trees;
    std::uint64_t height = 0;
    for (const Template::Node& node : known->nodes()) height = std::max<std::uint64_t>(height, node.depth);
    if (step_) {
      const std::vector<Entity> ids = targets(edit);
      const Entity parent = spawns ? read<Spawn>(edit, 0).parent : Entity{};
      if (spawns && !check_name(read<Spawn>(edit, 0).name)) return false;
      if (!check_depth((spawns ? step_->depth_below(parent) : step_->depth(ids[0])) + height, ids[0])) return false;
      spawns ? step_->spawn(*known, ids, parent) : step_->merge(*known, ids);
      return spend(step_->take_steps());
    }
    if (!spawns) {
      const Entity top = edit.target(0);
      return check_depth(registry_.alive(top) ? registry_.depth(top) + height : 0, top);
    }
    const auto message = read<Spawn>(edit, 0);
    const bool below = message.parent && registry_.alive(message.parent);
    return check_name(message.name) &&
           check_depth(below ? registry_.depth(message.parent) + 1 + height : height, edit.target(0));
  }

  // --- edits that remove or move subtrees

  struct Subtree {
    std::uint64_t entities = 0, height = 0;
  };
  /// Counts `top` and the entities below it. Returns false if counting them would exceed the limit
  /// on the edit's cost. If `once` is set, skips entities that have already been counted, along
  /// with the entities below them.
  bool walk(Entity top, bool once, Subtree& found) {
    const std::uint32_t top_depth = registry_.depth(top);
    for (Entity at = top; at;) {
      const bool again = once && !mark(at);
      if (!again) {
        ++found.entities;
        found.height = std::max<std::uint64_t>(found.height, registry_.depth(at) - top_depth);
        if (!spend(1)) return false;
      }
      Entity next = again ? Entity{} : registry_.first_child(at);
      while (!next && at != top) {
        next = registry_.next_sibling(at);
        if (!next) at = registry_.parent(at);
      }
      at = next;
    }
    return true;
  }
  void begin_marks() {
    if (++judge_.walk_ == 0) {
      std::ranges::fill(judge_.marks_, 0u);
      judge_.walk_ = 1;
    }
    judge_.marks_.resize(std::max(judge_.marks_.size(), registry_.host().storage().ids().indices()));
  }
  bool marked(Entity e) const { return judge_.marks_[e.index] == judge_.walk_; }
  /// Marks an entity. Returns false if it was already marked.
  bool mark(Entity e) {
    if (marked(e)) return false;
    judge_.marks_[e.index] = judge_.walk_;
    return true;
  }

  bool destroys(BatchView edit) {
    if (edit.kind() != BatchKind::each && edit.kind() != BatchKind::shared) return spend(count_);
    const bool several = edit.count() > 1;
    if (several) begin_marks();
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      Subtree found;
      const Entity e = edit.target(i);
      if (!spend(1) || (registry_.alive(e) && !walk(e, several, found))) return false;
    }
    return true;
  }

  bool reparents(BatchView edit) {
    if (edit.kind() != BatchKind::each && edit.kind() != BatchKind::shared) return spend(count_);
    if (step_) return reparents_in_step(edit);
    // If no new parent is below one of the moved entities, every subtree moves unchanged.
    const bool several = edit.count() > 1;
    bool apart = true;
    if (several) {
      begin_marks();
      for (std::uint32_t i = 0; i < edit.count(); ++i)
        if (registry_.alive(edit.target(i))) mark(edit.target(i));
      Entity before;
      for (std::uint32_t i = 0; i < payloads(edit) && apart; ++i) {
        const Entity parent = read<Reparent>(edit, i).parent;
        if (parent == before) continue;
        before = parent;
        for (Entity at = parent; apart && registry_.alive(at); at = registry_.parent(at)) {
          if (!spend(1)) return false;
          apart = !marked(at);
        }
      }
    }
    std::uint64_t moved = 0, heights = 0;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const Entity e = edit.target(i);
      const Entity parent = read<Reparent>(edit, i < payloads(edit) ? i : 0).parent;
      Subtree found;
      if (!spend(2) || (registry_.alive(e) && !walk(e, false, found))) return false;
      moved += found.entities;
      heights += found.height + 1;
      const std::uint64_t below = registry_.alive(parent) ? registry_.depth(parent) + 1 : 0;
      // Account for the world's search for the new parent below the entity.
      if (!spend(below / 4) || (apart && !check_depth(below + found.height, e))) return false;
    }
    if (apart) return true;
    // A subtree may move into another one. In the worst case, the subtrees form a single chain, in
    // which each subtree contains all those that follow it.
    return spend(moved * count_) && check_depth(registry_.host().storage().depths() + heights, edit.target(0));
  }

  bool reparents_in_step(BatchView edit) {
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const Entity e = edit.target(i);
      const Entity parent = read<Reparent>(edit, i < payloads(edit) ? i : 0).parent;
      Subtree found;
      if (!spend(2) || (registry_.alive(e) && !walk(e, false, found))) return false;
      if (!check_depth(step_->depth_below(parent) + step_->height(e, found.height), e)) return false;
      step_->move(e, parent, found.height);
      if (!spend(step_->take_steps())) return false;
    }
    return true;
  }

  // --- edits that add permanent objects

  bool add_text(std::string_view text) {
    if (text.size() > limits_.text_bytes_max)
      return refuse("text_bytes_max", "a text of " + std::to_string(text.size()) + " bytes; " +
                                          std::to_string(limits_.text_bytes_max) + " are allowed");
    if (text.empty()) return spend(3);
    cost_.told.push_back(text_of(text).hash);
    if (registry_.text(text_of(text)).empty() && (!step_ || step_->add_text(text))) {
      ++cost_.texts;
      cost_.text_bytes += text.size();
    }
    return spend(3 + text.size() / 32);
  }
  bool check_texts() {
    if (cost_.texts == 0) return true;
    const auto bound = [&](const char* reason, const char* whose, std::uint64_t now, std::uint64_t max,
                           const char* what) {
      return now <= max || refuse(reason, std::string(whose) + " would have " + std::to_string(now) + what + "; " +
                                              std::to_string(max) + " are allowed");
    };
    return bound("texts_max", "this session", from_.texts + cost_.texts, limits_.texts_max, " texts of its own") &&
           bound("texts_max", "this session", from_.text_bytes + cost_.text_bytes, limits_.texts_bytes_max,
                 " bytes of texts of its own") &&
           bound("world_texts_max", "the world", registry_.host().texts().size() + cost_.texts, limits_.world_texts_max,
                 " texts") &&
           bound("world_texts_max", "the world", registry_.host().texts().bytes() + cost_.text_bytes,
                 limits_.world_texts_bytes_max, " bytes of texts");
  }

  bool interns(BatchView edit) {
    const std::byte* at = edit.body();
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const TableItem item = table_item(edit, at);
      if (!add_text(InternTextView::from(item.table).text())) return false;
      at = item.next;
    }
    return true;
  }

  bool defines(BatchView edit) {
    const std::byte* at = edit.body();
    std::uint64_t added = 0, replaced_bytes = 0;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const TableItem item = table_item(edit, at);
      at = item.next;
      const auto defined = DefineTemplateView::from(item.table);
      const std::uint64_t nodes = defined.nodes().size();
      if (nodes > limits_.template_nodes_max)
        return refuse("template_nodes_max", "a template of " + std::to_string(nodes) + " nodes; " +
                                                std::to_string(limits_.template_nodes_max) + " are allowed");
      if (!spend(10 * nodes + item.table.size() / 16)) return false;
      if (!check_template_name(defined.name())) return false;
      for (const TemplateNodeView node : defined.nodes())
        if (!check_template_name(node.name())) return false;
      for (const std::string_view text : defined.texts())
        if (!add_text(text)) return false;
      if (nodes > 0 && !registry_.host().find_template(defined.name())) ++added;
      if (step_) step_->define(text_of(defined.name()));
      replaced_bytes += template_bytes(registry_, defined.name());
      if (nodes > 0) cost_.template_bytes += item.table.size();
    }
    cost_.templates += added;
    if (!check_template_bytes(replaced_bytes)) return false;
    const std::uint64_t would_be = registry_.host().template_count() + (step_ ? step_->defined() : added);
    if (added == 0 || would_be <= limits_.templates_max) return true;
    return refuse("templates_max", "the world would have " + std::to_string(would_be) + " templates; " +
                                       std::to_string(limits_.templates_max) + " are allowed");
  }
  bool check_template_bytes(std::uint64_t replaced) {
    const std::uint64_t max = limits_.templates_bytes_max;
    WorldBudget& budget = judge_.world_budget_;
    if (cost_.template_bytes == 0) return true;
    const std::uint64_t before = step_ ? step_->template_bytes : 0;
    const bool exceed = budget.templates_exceed(before + cost_.template_bytes, replaced, max);
    if (!spend(budget.steps())) return false;
    return !exceed || refuse("templates_bytes_max",
                             "the world's templates would have " +
                                 std::to_string(budget.templates() - replaced + before + cost_.template_bytes) +
                                 " bytes; " + std::to_string(max) + " are allowed");
  }
  bool check_template_name(std::string_view name) {
    if (name.size() > limits_.name_bytes_max)
      return refuse("name_bytes_max", "a name of " + std::to_string(name.size()) + " bytes; " +
                                          std::to_string(limits_.name_bytes_max) + " are allowed");
    return add_text(name);
  }

  /// The session's timers that have fired or been cancelled have already been removed.
  bool check_timers(BatchView timed) {
    if (from_.timers.size() >= limits_.timers_max)
      return refuse("timers_max", "this session has " + std::to_string(from_.timers.size()) + " timers waiting; " +
                                      std::to_string(limits_.timers_max) + " are allowed");
    if (registry_.host().timers().size() >= limits_.world_timers_max)
      return refuse("world_timers_max", "the world has " + std::to_string(registry_.host().timers().size()) +
                                            " timers waiting; " + std::to_string(limits_.world_timers_max) +
                                            " are allowed");
    const std::uint64_t bytes = timed.bytes().size();
    if (bytes > limits_.timer_bytes_max)
      return refuse("timer_bytes_max", "a timed batch of " + std::to_string(bytes) + " bytes; " +
                                           std::to_string(limits_.timer_bytes_max) + " are allowed");
    if (judge_.timer_budget_.bytes() + bytes > limits_.world_timers_bytes_max)
      return refuse("world_timers_bytes_max", "the timed batches that wait would have " +
                                                  std::to_string(judge_.timer_budget_.bytes() + bytes) + " bytes; " +
                                                  std::to_string(limits_.world_timers_bytes_max) + " are allowed");
    return true;
  }
  /// A single timed message is never considered too expensive.
  bool check_due(std::uint64_t due_ns) {
    const std::uint64_t others = judge_.timer_budget_.due_with(due_ns).steps;
    if (others == 0 || others + cost_.steps <= limits_.timer_steps_max) return true;
    return refuse("timer_steps_max", "the messages scheduled for that time would cost " +
                                         std::to_string(others + cost_.steps) + " steps; " +
                                         std::to_string(limits_.timer_steps_max) +
                                         " are allowed within 16 ms of the world's clock");
  }

  // --- messages of the game

  /// Each target entity costs one step, each row of a pass costs an eighth of a step, and each
  /// relative of an entity costs half a step. If the message's handlers have recently been slow,
  /// these costs are multiplied by a factor. A single message is never considered too expensive,
  /// because it is a pass, like a tick.
  bool messages(BatchView edit) {
    const std::uint64_t pass = registry_.entity_count() / 8 + 1;
    std::uint64_t steps = 0;
    switch (edit.kind()) {
      case BatchKind::each:
      case BatchKind::shared: steps = count_; break;
      case BatchKind::world: steps = count_ * pass; break;
      case BatchKind::subtree:
        for (std::uint32_t i = 0; i < count_ && !walked_too_far(); ++i)
          steps += line(edit.target(i), edit.header().argument) / 2 + 1;
        break;
      case BatchKind::table: {
        const std::byte* at = edit.body();
        for (std::uint32_t i = 0; i < count_ && !walked_too_far(); ++i) {
          const TableItem item = table_item(edit, at);
          at = item.next;
          steps += !item.target                  ? pass
                   : edit.header().argument != 0 ? line(item.target, edit.header().argument) / 2 + 1
                                                 : 1;
        }
        break;
      }
      case BatchKind::timed: break;
    }
    cost_.delivery = steps;
    const auto known = judge_.dearness_.find(type_);
    if (known != judge_.dearness_.end()) steps = EditJudge::with_dearness(steps, known->second);
    cost_.steps += steps;
    return count_ == 1 || cost_.steps <= limits_.edit_steps_max || too_dear();
  }
  std::uint64_t walk_max() const noexcept { return 2ull * limits_.edit_steps_max; }
  bool walked_too_far() const noexcept { return walked_ > walk_max(); }
  /// Returns the number of entities reached by a message to the relatives of `e` that `parts`
  /// selects, or an upper bound on that number.
  std::uint64_t line(Entity e, std::uint64_t parts) {
    if (!registry_.alive(e)) return 1;
    std::uint64_t rows = 1;
    if (parts & subtree_ancestors) rows += registry_.depth(e);
    if (!(parts & subtree_descendants)) return rows;
    for (Entity at = e; at && !walked_too_far();) {
      ++rows;
      ++walked_;
      Entity next = registry_.first_child(at);
      while (!next && at != e) {
        next = registry_.next_sibling(at);
        if (!next) at = registry_.parent(at);
      }
      at = next;
    }
    return walked_too_far() ? std::max(walk_max(), registry_.entity_count()) : rows;
  }

  EditJudge& judge_;
  const EntityRegistry& registry_;
  const ServerLimits& limits_;
  const Seat& from_;
  const bool costed_;
  TypeId type_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t walked_ = 0;
  EditCost cost_;
  std::optional<StepChanges> step_;      // while the batches of a Step are judged
  std::optional<session::Fault> fault_;  // created on demand, to keep small edits fast
};

std::expected<EditCost, session::Fault> EditJudge::judge_bounds(const Seat& from, BatchView edit) {
  return EditWalk(*this, from, false).run(edit);
}

std::expected<EditCost, session::Fault> EditJudge::judge(const Seat& from, BatchView edit) {
  EditWalk walk(*this, from);
  auto cost = walk.run(edit);
  steps_ = walk.steps();
  if (cost && cost->delivery == 1 && edit.kind() == BatchKind::each && edit.header().flags == 0) {
    known_type_ = edit.type();
    known_steps_ = cost->steps - edit.bytes().size() / 64;
  }
  return cost;
}

}  // namespace muster
