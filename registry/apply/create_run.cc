// The part of Structure that applies many Creates of a Step: an undo creates the entities of a
// deleted subtree, parents first, siblings in order. Much that a Create looks up is the same for
// the next one.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "registry/apply/structure.h"

namespace muster {

namespace {

constexpr std::uint32_t names_ahead = 8;  // so far ahead, the index of names is prefetched

/// The links of entities, whose pages stay where they are.
class RunLinks {
 public:
  explicit RunLinks(Hierarchy& hierarchy) noexcept : hierarchy_(hierarchy) {}
  [[gnu::always_inline]] Links& operator[](std::uint32_t index) {
    if (index >> Hierarchy::page_bits != page_) [[unlikely]] {
      page_ = index >> Hierarchy::page_bits;
      links_ = hierarchy_.change_page(page_).links;
    }
    return links_[index & ((1u << Hierarchy::page_bits) - 1)];
  }

 private:
  Hierarchy& hierarchy_;
  std::uint32_t page_ = ~0u;
  Links* links_ = nullptr;
};

/// Copies a value of each of `count` items, `stride` bytes apart, to adjacent rows.
void copy_column(std::byte* to, const std::byte* from, std::size_t stride, std::uint32_t size, std::size_t count) {
  const auto each = [&](auto bytes) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from + i * stride, bytes);
  };
  switch (size) {
    case 4: return each(std::integral_constant<std::size_t, 4>{});
    case 8: return each(std::integral_constant<std::size_t, 8>{});
    case 12: return each(std::integral_constant<std::size_t, 12>{});
    case 16: return each(std::integral_constant<std::size_t, 16>{});
    default:
      for (std::size_t i = 0; i < count; ++i) copy_value(to + i * size, from + i * stride, size);
  }
}

}  // namespace

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
  const std::size_t item_bytes = batch.header().item_bytes, payload_offset = batch.header().payload_offset;
  const RowSetSpan rows = batch.row_set();
  const std::byte* const first = batch.item(begin);
  const auto message_of = [=](std::uint32_t i) {
    Create message;
    std::memcpy(&message, first + i * item_bytes + payload_offset, sizeof message);
    return message;
  };
  run_.resize(count);
  Entity* const ids = run_.data();
  for (std::uint32_t i = 0; i < count; ++i) std::memcpy(ids + i, first + i * item_bytes, sizeof(Entity));
  log_->before({sender_, TypeTraits<Create>::id, run_, first + payload_offset, rows, {}});

  // Siblings with the same archetype are judged one by one, and then created together.
  DirectoryEntry* const directory = storage_.ids_.slots();
  const bool revives = revives_;
  const auto state_of = [&](Entity e) -> std::optional<IdState> {
    if (revives && storage_.in_state(e, IdState::parked)) return IdState::parked;
    if (storage_.in_state(e, IdState::granted)) return IdState::granted;
    if (storage_.in_state(e, IdState::reserved)) return IdState::reserved;
    return {};
  };
  Entity parent;
  std::uint32_t depth = 0;
  const RowPlan* plan = nullptr;
  bool named = false;
  RunLinks links(hierarchy_);
  std::uint32_t created = 0, done = 0;  // items that have rows, and those that will be created
  const auto create = [&] {
    while (created < done) {
      Chunk& chunk = storage_.open_chunk(*plan->to, depth);
      storage_.touch_all(chunk);
      const std::uint32_t row = chunk.count, some = std::min(done - created, chunk.capacity - row);
      const Entity* const e = ids + created;
      std::memcpy(static_cast<void*>(chunk.ids() + row), e, some * sizeof(Entity));
      std::fill_n(reinterpret_cast<std::uint64_t*>(chunk.parents() + row), some, parent.bits());
      Links& above = hierarchy_.change_page(parent.index >> Hierarchy::page_bits)
                         .links[parent.index & ((1u << Hierarchy::page_bits) - 1)];
      std::uint32_t previous = above.last_child;
      (previous ? links[previous].next : above.first_child) = e->index;
      Locator at = chunk.locator(row);
      for (std::uint32_t i = 0; i < some; ++i, at = at + 1) {
        const std::uint32_t index = e[i].index;
        directory[index].locator = at;
        storage_.mark_known_id(index);
        Links& own = links[index];
        own.previous = previous;
        own.next = i + 1 < some ? e[i + 1].index : 0;
        previous = index;
      }
      above.last_child = previous;
      above.children += some;
      storage_.rows_ += some;
      storage_.structure_ += some;
      chunk.count += some;
      if (!plan->to->simple)
        for (std::uint32_t i = 0; i < some; ++i) storage_.complete({&chunk, row + i});
      for (const std::uint16_t slot : plan->enabled)
        for (std::uint32_t i = 0; i < some; ++i) storage_.enable({&chunk, row + i}, slot);
      const std::byte* const payload = first + created * item_bytes + payload_offset;
      for (const ValuePlace& value : plan->values)
        copy_column(chunk.slots()[value.slot].data + std::size_t{row} * value.size, payload + value.offset, item_bytes,
                    value.size, some);
      if (named)
        copy_column(chunk.slots()[plan->to->name_column].data + std::size_t{row} * sizeof(Name),
                    payload + offsetof(Create, name), item_bytes, sizeof(Name), some);
      created += some;
    }
  };
  step_ids_.reserve(step_ids_.size() + count);
  for (; done < count; ++done) {
    const Entity e = ids[done];
    const Create message = message_of(done);
    if (done + names_ahead < count) {
      const Create later = message_of(done + names_ahead);
      names_.prefetch(later.parent, later.name);
    }
    const std::optional<IdState> state = state_of(e);
    if (!state || message.before || !message.parent) break;
    const Text name = message.name;
    if (message.parent != parent || named != static_cast<bool>(name) || !plan) {
      create();
      const Row top = storage_.find(message.parent);
      if (!top) break;
      parent = message.parent;
      depth = top.chunk->depth + 1;
      if (!plan || named != static_cast<bool>(name)) {
        named = static_cast<bool>(name);
        plan = &run_plan(rows, named);
      }
      if (plan->refusal.code != RefusalCode::none) break;
    }
    if (named && (!texts_.knows(name) || !names_.add_new(parent, name, e))) break;
    step_ids_.emplace_back(e, *state);
    directory[e.index].locator = Locator(IdState::free);  // it cannot be created twice
  }
  create();
  for (std::uint32_t i = 0; i < done; ++i)
    if (Entity above = message_of(i).parent; i == 0 || above != message_of(i - 1).parent) names_.child_came(above);
  run_.resize(done);
  log_->after({sender_, TypeTraits<Create>::id, run_, first + payload_offset, rows, {}}, {});
  return done;
}

}  // namespace muster
