#include "server/edits/made_things.h"

#include <algorithm>

#include "messages/step_batches.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/edits/budgets.h"

namespace muster {
namespace {

/// Calls f(batch) for the batch, or for each batch of a Step.
template <class F>
void for_each_part(BatchView edit, F&& f) {
  if (edit.type() != TypeTraits<Step>::id || edit.kind() != BatchKind::table) return f(edit);
  StepBatches(table_item(edit, edit.body()).table).for_each(f);
}
/// Calls f(DefineTemplateView, size in bytes) for each template that the edit defines.
template <class F>
void for_each_definition(BatchView edit, F&& f) {
  for_each_part(edit, [&](BatchView batch) {
    if (batch.type() != TypeTraits<DefineTemplate>::id || batch.kind() != BatchKind::table) return;
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      f(DefineTemplateView::from(item.table), item.table.size());
    }
  });
}

}  // namespace

MadeThings::MadeThings(const EntityRegistry& registry, Shares& shares, EditHistory* history)
    : registry_(registry), shares_(shares) {
  if (history) read(*history);
}

/// The history lists the root of a Spawn, but not the entities below it. An entity therefore
/// belongs to the user who made the nearest listed entity above it.
void MadeThings::read(const EditHistory& history) {
  std::unordered_map<Entity, std::uint64_t> roots;
  for (const EditHistory::Made& made : history.made()) {
    if (!made.entity)
      define(made.user, made.name, template_bytes(registry_, made.name));
    else if (registry_.alive(made.entity))
      roots.emplace(made.entity, made.user);
  }
  for (const auto& [root, user] : roots) {
    std::vector<Entity>& entities = users_[user].entities;
    for (Entity at = root; at;) {
      const bool others = at != root && roots.contains(at);
      if (!others) entities.push_back(at);
      Entity next = others ? Entity{} : registry_.first_child(at);
      while (!next && at != root) {
        next = registry_.next_sibling(at);
        if (!next) at = registry_.parent(at);
      }
      at = next;
    }
  }
  for (auto& [user, things] : users_) recount(user, things);
}

std::optional<session::Fault> MadeThings::refuses(const Session& from, BatchView edit, const EditCost& cost) {
  if (!cost.adds() && edit.kind() != BatchKind::timed) return std::nullopt;
  auto fault = over(from, edit, cost);
  if (!fault) return std::nullopt;
  Things& things = users_[from.user];
  if (Clock::now() - things.counted < recount_every) return fault;
  recount(from.user, things);
  return over(from, edit, cost);
}

std::optional<session::Fault> MadeThings::over(const Session& from, BatchView edit, const EditCost& cost) const {
  std::optional<session::Fault> fault;
  const auto check = [&](ShareOf what, std::uint64_t more) {
    if (more > 0 && !fault) fault = shares_.refuses(from.user, from.rights, what, more);
  };
  check(ShareOf::entities, cost.entities);
  check(ShareOf::texts, cost.texts);
  check(ShareOf::texts_bytes, cost.text_bytes);
  check(ShareOf::templates, cost.templates);
  check(ShareOf::templates_bytes, cost.template_bytes);
  if (fault && fault->reason == share_limit(ShareOf::templates_bytes)) {
    const std::uint64_t replaced = std::min(replaced_bytes(from.user, edit), cost.template_bytes);
    fault = shares_.refuses(from.user, from.rights, ShareOf::templates_bytes, cost.template_bytes - replaced);
  }
  if (edit.kind() == BatchKind::timed) {
    check(ShareOf::timers, 1);
    check(ShareOf::timers_bytes, edit.bytes().size());
  }
  if (fault) {
    fault->type = edit.kind() == BatchKind::timed ? edit.inner().type() : edit.type();
    fault->refused = edit.kind() == BatchKind::timed ? edit.inner().count() : edit.count();
  }
  return fault;
}

std::uint64_t MadeThings::replaced_bytes(std::uint64_t user, BatchView edit) const {
  std::uint64_t bytes = 0;
  for_each_definition(edit, [&](DefineTemplateView defined, std::size_t) {
    const auto known = templates_.find(std::string(defined.name()));
    if (known != templates_.end() && known->second.user == user) bytes += known->second.bytes;
  });
  return bytes;
}

void MadeThings::begin(const EditCost& cost) {
  new_texts_.clear();
  if (cost.texts == 0) return;
  for (const std::uint64_t hash : cost.told)
    if (registry_.text(Text{hash}).empty()) new_texts_.push_back(hash);
}

void MadeThings::end(const Session& from, BatchView edit, const EditCost& cost, TimerId timer) {
  if (!cost.adds() && timer == 0) return;
  Things& things = users_[from.user];
  if (timer != 0) {
    const auto bytes = static_cast<std::uint32_t>(edit.bytes().size());
    things.timers.push_back({timer, edit.header().argument, bytes});
    shares_.add(from.user, ShareOf::timers, 1);
    shares_.add(from.user, ShareOf::timers_bytes, bytes);
  } else if (edit.kind() != BatchKind::timed) {
    const std::size_t before = things.entities.size();
    for_each_part(edit, [&](BatchView batch) { note(*from.seat(), batch, things); });
    if (things.entities.size() > before)
      shares_.add(from.user, ShareOf::entities, static_cast<std::int64_t>(things.entities.size() - before));
  }
  things.texts.insert(things.texts.end(), new_texts_.begin(), new_texts_.end());
  if (cost.texts > 0) {
    shares_.add(from.user, ShareOf::texts, static_cast<std::int64_t>(cost.texts));
    shares_.add(from.user, ShareOf::texts_bytes, static_cast<std::int64_t>(cost.text_bytes));
  }
  new_texts_.clear();
  for_each_definition(edit, [&](DefineTemplateView defined, std::size_t bytes) {
    define(from.user, std::string(defined.name()), defined.nodes().size() > 0 ? bytes : 0);
  });
  if (things.count() >= things.recount_at) recount(from.user, things);
}

void MadeThings::note(const Seat& seat, BatchView batch, Things& to) const {
  std::vector<Entity> made;
  add_made(batch, made);
  // A MergeTemplate also names entities that existed before.
  std::erase_if(made, [&](Entity e) { return !owns(seat, e) || !registry_.alive(e); });
  to.entities.insert(to.entities.end(), made.begin(), made.end());
}

void MadeThings::define(std::uint64_t user, const std::string& name, std::uint64_t bytes) {
  if (const auto known = templates_.find(name); known != templates_.end()) {
    shares_.add(known->second.user, ShareOf::templates, -1);
    shares_.add(known->second.user, ShareOf::templates_bytes, -static_cast<std::int64_t>(known->second.bytes));
    templates_.erase(known);
  }
  if (bytes == 0) return;
  templates_.emplace(name, Definition{user, bytes});
  shares_.add(user, ShareOf::templates, 1);
  shares_.add(user, ShareOf::templates_bytes, static_cast<std::int64_t>(bytes));
}

void MadeThings::recount(std::uint64_t user, Things& things) {
  things.counted = Clock::now();
  const auto unique = [](auto& all) {
    std::ranges::sort(all);
    const auto doubles = std::ranges::unique(all);
    all.erase(doubles.begin(), doubles.end());
  };
  // An undo may revive a parked entity.
  const auto& storage = registry_.host().storage();
  std::erase_if(things.entities,
                [&](Entity e) { return !registry_.alive(e) && !storage.in_state(e, IdState::parked); });
  unique(things.entities);
  const auto alive = std::ranges::count_if(things.entities, [&](Entity e) { return registry_.alive(e); });
  shares_.set(user, ShareOf::entities, static_cast<std::uint64_t>(alive));

  const auto& waiting = registry_.host().timers().waiting();
  std::erase_if(things.timers, [&](const Timer& timer) { return !waiting.contains({timer.due_ns, timer.id}); });
  std::uint64_t bytes = 0;
  for (const Timer& timer : things.timers) bytes += timer.bytes;
  shares_.set(user, ShareOf::timers, things.timers.size());
  shares_.set(user, ShareOf::timers_bytes, bytes);

  std::erase_if(things.texts, [&](std::uint64_t hash) { return registry_.text(Text{hash}).empty(); });
  unique(things.texts);
  bytes = 0;
  for (const std::uint64_t hash : things.texts) bytes += registry_.text(Text{hash}).size();
  shares_.set(user, ShareOf::texts, things.texts.size());
  shares_.set(user, ShareOf::texts_bytes, bytes);

  std::uint64_t templates = 0;
  bytes = 0;
  std::erase_if(templates_, [&](const auto& each) {
    if (each.second.user != user) return false;
    if (!registry_.host().find_template(each.first)) return true;
    ++templates;
    bytes += each.second.bytes;
    return false;
  });
  shares_.set(user, ShareOf::templates, templates);
  shares_.set(user, ShareOf::templates_bytes, bytes);
  things.recount_at = std::max<std::size_t>(4096, 2 * things.count());
}

MadeThings::OfUser MadeThings::of(std::uint64_t user) {
  Things& things = users_[user];
  recount(user, things);
  OfUser all;
  std::ranges::copy_if(things.entities, std::back_inserter(all.entities), [&](Entity e) { return registry_.alive(e); });
  for (const Timer& timer : things.timers) all.timers.push_back(timer.id);
  for (const auto& [name, definition] : templates_)
    if (definition.user == user) all.templates.push_back(name);
  std::ranges::sort(all.templates);
  return all;
}

}  // namespace muster
