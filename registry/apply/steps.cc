// The part of Structure that parks ids, and that takes back a Step.
#include <cstring>
#include <ranges>
#include <string>

#include "messages/require.h"
#include "registry/apply/structure.h"

namespace muster {

Refusal Structure::apply_edit(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows) {
  return edited(message, {&target, 1}, payload, rows, {},
                [&] { return apply_parking(message, target, payload, rows); });
}

Refusal Structure::apply_parking(TypeId message, Entity target, const std::byte* payload, const RowSetSpan& rows) {
  if (message != TypeTraits<Destroy>::id) return apply_one(message, target, payload, rows);
  destroy_linked(target, storage_.find(target), true);
  return {};
}

void Structure::release_ids(std::span<const Entity> ids) {
  for (const Entity e : ids)
    if (storage_.in_state(e, IdState::parked)) storage_.release_parked(e);
}

void Structure::note_ids(std::span<const Entity> targets) {
  for (const Entity e : targets)
    for (const IdState state : {IdState::reserved, IdState::granted, IdState::parked})
      if (storage_.in_state(e, state)) step_ids_.emplace_back(e, state);
}

void Structure::begin_step(const StepView& step) {
  in_step_ = true;
  revives_ = step.act() != StepAct::edit;
  step_ids_.clear();
  log_->step_begins(sender_, step);
}

void Structure::end_step(bool applied) {
  if (!applied) {
    revives_ = true;
    for_each_batch(log_->take_back(), [&](const BatchView& batch) { take_back(batch); });
    // The entities that the Step created are parked now. An id that the Step used several times
    // gets its first state last.
    for (const auto& [e, state] : step_ids_ | std::views::reverse)
      if (storage_.in_state(e, IdState::parked)) storage_.set_state(e, state);
  }
  in_step_ = revives_ = false;
  log_->step_ends(applied);
}

void Structure::take_back(const BatchView& batch) {
  const auto applied = [&](const Refusal& refusal) {
    require(refusal.code == RefusalCode::none,
            "an edit log returned a message that cannot be applied, so a Step "
            "could not be taken back");
  };
  if (batch.kind() == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      applied(batch.type() == TypeTraits<DefineTemplate>::id ? define_one(item.table)
                                                             : Refusal(RefusalCode::not_in_step));
    }
    return;
  }
  const RowSetSpan rows = batch.row_set();
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    const Entity e = batch.target(i);
    const std::byte* const payload = batch.payload(batch.kind() == BatchKind::shared ? 0 : i);
    const bool can_be = batch.type() == TypeTraits<Create>::id || storage_.alive(e);
    applied(can_be ? apply_parking(batch.type(), e, payload, rows) : Refusal(RefusalCode::dead_entity));
  }
}

}  // namespace muster
