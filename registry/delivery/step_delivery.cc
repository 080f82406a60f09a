// The part of Delivery that delivers a Step: several batches that are applied as a whole or not at
// all.
//
//   EditLog::step_begins     registry/apply/edit_log.h
//     each message           delivered like a message of a pushed batch, one at a time; a run of
//                            Creates at once if no handler sees it
//   EditLog::take_back       if a message was refused, or its target was dead
//   EditLog::step_ends
//   cascade                  what handlers pushed; nothing if the Step was taken back
#include <algorithm>
#include <cstdint>
#include <optional>

#include "messages/step_batches.h"
#include "registry/delivery/delivery.h"

namespace muster {

void Delivery::step(MessageRoute& route, std::span<const std::byte> table, Receipt& receipt) {
  if (!structure_.is_logged()) return note({RefusalCode::no_edit_log, {}, TypeTraits<Step>::id}, receipt);
  const StepView step = StepView::from(table);
  const auto sent = std::as_bytes(step.batches());
  std::optional<StepBatches> copy;  // only if needed, because an undo can be large
  if (reinterpret_cast<std::uintptr_t>(sent.data()) % batch_alignment != 0) copy.emplace(step);
  const Arena::Mark before = cascade_.mark();
  structure_.begin_step(step);
  Receipt own;
  for_each_batch(copy ? copy->bytes() : sent, [&](const BatchView& batch) {
    if (own.refused == 0) in_step(batch, own);
  });
  if (own.refused == 0) {
    structure_.end_step(true);
    receipt.handled += own.handled;
    receipt.unhandled += own.unhandled;
    Receipt told;
    if (!route.active.empty()) to_world(route, &table, told);
    return;
  }
  // Requests about handlers concern the program rather than the world, so they remain.
  std::vector<Entity> made;
  BatchBuilder requests;
  cascade_.cut(before, [&](const BatchView& batch) {
    add_made(batch, made);
    if (batch.type() == TypeTraits<HandlerRequest>::id) requests.append_batch(batch);
  });
  structure_.give_up_reserved(made);
  structure_.end_step(false);
  requests.for_each([&](const BatchView& batch) { cascade_.append_batch(batch); });
  note(own.refusal, receipt);
}

void Delivery::in_step(const BatchView& batch, Receipt& receipt) {
  const TypeId type = batch.type();
  if (batch.kind() == BatchKind::timed || !fits_step(type)) return note({RefusalCode::not_in_step, {}, type}, receipt);
  const bool creates = type == TypeTraits<Create>::id || is_tree(type);
  const auto is_dead = [&](Entity target) {
    if (creates || context_.storage.alive(target)) return false;
    note({RefusalCode::dead_entity, target, type}, receipt);
    return true;
  };
  if (batch.kind() == BatchKind::shared) {
    MessageRoute* const route = types_.route(type);
    if (route && route->builtin && !is_tree(type)) {
      for (std::uint32_t i = 0; i < batch.count() && receipt.refused == 0; ++i)
        if (!is_dead(batch.target(i))) builtin(batch, *route, batch.target(i), batch.payload(0), receipt);
      return;
    }
    for (std::uint32_t i = 0; i < batch.count(); ++i)
      if (is_dead(batch.target(i))) return;
  }
  BatchCursor next;
  const bool in_runs =
      type == TypeTraits<Create>::id && batch.kind() == BatchKind::each && !is_watched(*types_.route(type));
  // Grows with success, so that a run that ends early has cost little.
  constexpr std::uint32_t run_longest = 4096;
  std::uint32_t run = Structure::run_shortest;
  for (bool done = false; !done && receipt.refused == 0;) {
    if (in_runs) {
      const std::uint32_t created = structure_.create_run(batch, next.message, run);
      receipt.handled += created;
      next.message += created;
      if (next.message == batch.count()) return;
      if (created == run) {
        run = std::min(run * 2, run_longest);
        continue;
      }
      run = Structure::run_shortest;
    }
    Entity target;
    bool to_entity = true;
    switch (batch.kind()) {
      case BatchKind::each:
      case BatchKind::subtree: target = batch.target(next.message); break;
      case BatchKind::table:
        target = table_item(batch, batch.body() + next.offset).target;
        to_entity = static_cast<bool>(target);
        break;
      default: to_entity = false;
    }
    if (to_entity && is_dead(target)) return;
    done = deliver(batch, next, 1, receipt);
  }
}

}  // namespace muster
