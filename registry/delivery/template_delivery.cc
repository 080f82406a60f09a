// The parts of Delivery that deliver lifecycle messages to entities, and that deliver whole trees:
//
//   Spawn   all rows are made                            registry/apply/template_spawn.cc
//           handlers of Spawn, for each id               pre-order
//           Activated to each new entity                 pre-order
//           Loaded to each                               pre-order: parents before children
//   handlers that follow components: Added, Changed
//           the template's own messages to each          pre-order
//   Messages that these handlers post are delivered after all of this, like all posts.
#include <cstring>

#include "registry/apply/template.h"
#include "registry/delivery/delivery.h"

namespace muster {

void Delivery::know_lifecycle() {
  activated_ = &types_.route<Activated>();
  loaded_ = &types_.route<Loaded>();
  deactivated_ = &types_.route<Deactivated>();
}

void Delivery::tell_created(Entity e) {
  Activated activated;
  one(*activated_, context_.storage.find(e), &activated);
  Loaded loaded;
  one(*loaded_, context_.storage.find(e), &loaded);
}

void Delivery::tell_doomed(std::span<const Entity> doomed) {
  for (const Entity e : doomed) {
    Deactivated deactivated;
    one(*deactivated_, context_.storage.find(e), &deactivated);
  }
}

void Delivery::tree(const BatchView& batch, MessageRoute& route, std::span<const Entity> ids, const std::byte* payload,
                    Receipt& receipt) {
  const bool merges = batch.type() == TypeTraits<MergeTemplate>::id;
  Text name;
  Refusal refusal;
  if (merges) {
    MergeTemplate merge;
    std::memcpy(&merge, payload, sizeof merge);
    name = merge.what;
    refusal = structure_.merge(merge, ids, payload);
  } else {
    Spawn spawn;
    std::memcpy(&spawn, payload, sizeof spawn);
    name = spawn.what;
    refusal = structure_.spawn(spawn, ids, payload, batch.row_set());
  }
  const auto count = static_cast<std::uint32_t>(ids.size());
  if (refusal.code != RefusalCode::none) {
    note(refusal, receipt);
    receipt.refused += count - 1;
    return;
  }
  receipt.handled += count;
  const Storage& storage = context_.storage;
  const auto previously = [&](std::size_t i) { return merges && structure_.previously()[i] != 0; };
  if (!route.active.empty())
    for (const Entity e : ids) tell(route, e, payload, batch.header().payload_bytes);
  if (!activated_->active.empty())
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (previously(i)) continue;
      Activated activated;
      one(*activated_, storage.find(ids[i]), &activated);
    }
  if (!loaded_->active.empty())
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Loaded loaded{.previously = previously(i)};
      one(*loaded_, storage.find(ids[i]), &loaded);
    }
  if (types_.handlers().follows()) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!previously(i)) follow_created(ids[i]);
    if (merges)
      for (const Structure::Merged& merged : structure_.merged())
        follow(merged.added ? ChangeKind::added : ChangeKind::changed, merged.entity, merged.component);
  }
  const Template& what = *structure_.templates().find(name)->what;
  if (what.has_messages())
    for (std::size_t from = 0; from < ids.size(); from += what.size())
      initial_messages(what, ids.subspan(from, what.size()));
}

void Delivery::initial_messages(const Template& what, std::span<const Entity> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (const Template::Value& value : what.messages(what.nodes()[i])) {
      MessageRoute& route = *types_.route(value.type);
      const std::byte* const bytes = what.data() + value.at;
      Receipt receipt;
      if (value.table) {
        std::span<const std::byte> table(bytes, value.bytes);
        to_entity(route, ids[i], &table, receipt);
        continue;
      }
      scratch_.assign(bytes, bytes + value.bytes);
      for (const TemplateReference& reference : what.references(value))
        std::memcpy(scratch_.data() + reference.offset, &ids[reference.node], sizeof(Entity));
      to_entity(route, ids[i], scratch_.data(), receipt);
    }
}

}  // namespace muster
