// The part of Structure that applies many Creates of a Step: an undo creates the entities of a
// deleted subtree, parents first, siblings in order. Much that a Create looks up is the same for
// the next one.
#include <algorithm>
#include <cstring>
#include <optional>

#include "registry/apply/structure.h"

namespace muster {

const Structure::RowPlan& Structure::run_plan(const RowSetSpan& rows, bool named) {
  for (const RowPlan& known : run_plans_)
    if (planned(rows, named, nullptr, known)) return known;
  RowPlan& replaced = run_plans_[next_run_plan_];
  next_run_plan_ = (next_run_plan_ + 1) % run_plans_.size();
  return plan(rows, named, nullptr, replaced);
}

std::uint32_t Structure::create_run(const BatchView& batch, std::uint32_t begin, std::uint32_t most) {
  const std::uint32_t count = std::min(most, batch.count() - begin);
  if (count < run_shortest) return 0;
  const std::uint32_t item_bytes = batch.header().item_bytes, payload_offset = batch.header().payload_offset;
  const RowSetSpan rows = batch.row_set();
  const std::byte* const first = batch.item(begin);
  run_.clear();
  const std::byte* item = first;
  for (std::uint32_t i = 0; i < count; ++i, item += item_bytes) {
    Entity e;
    std::memcpy(&e, item, sizeof e);
    run_.push_back(e);
  }
  log_->before({sender_, TypeTraits<Create>::id, run_, first + payload_offset, rows, {}});
  const auto state_of = [&](Entity e) -> std::optional<IdState> {
    if (revives_ && storage_.in_state(e, IdState::parked)) return IdState::parked;
    if (storage_.in_state(e, IdState::granted)) return IdState::granted;
    if (storage_.in_state(e, IdState::reserved)) return IdState::reserved;
    return {};
  };
  const RowPlan* plan = nullptr;
  bool named = false;
  Entity parent;
  std::uint32_t depth = 0;
  std::uint32_t done = 0;
  item = first;
  for (const Entity e : run_) {
    const std::byte* const payload = item + payload_offset;
    Create message;
    std::memcpy(&message, payload, sizeof message);
    const std::optional<IdState> state = state_of(e);
    if (!state || message.before || !message.parent) break;
    if (message.parent != parent) {
      const Row above = storage_.find(message.parent);
      if (!above) break;
      parent = message.parent;
      depth = above.chunk->depth + 1;
    }
    const Text name = message.name;
    if (name && (!texts_.knows(name) || names_.find(parent, name))) break;
    if (!plan || named != static_cast<bool>(name)) {
      named = static_cast<bool>(name);
      plan = &run_plan(rows, named);
      if (plan->refusal.code != RefusalCode::none) break;
    }
    step_ids_.emplace_back(e, *state);
    const Row row = storage_.create(e, *plan->to, depth, parent);
    write(row, *plan, payload, true);
    if (named) {
      reinterpret_cast<Name*>(row.chunk->slots()[plan->to->name_column].data)[row.row].text = name;
      names_.add(parent, name, e);
    }
    link(e, parent, {});
    ++done;
    item += item_bytes;
  }
  run_.resize(done);
  log_->after({sender_, TypeTraits<Create>::id, run_, first + payload_offset, rows, {}}, {});
  return done;
}

}  // namespace muster
