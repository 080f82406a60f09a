#include "registry/apply/outbox.h"

#include "registry/apply/timers.h"
#include "registry/storage/storage.h"
#include "registry/storage/text_table.h"

namespace muster {

TimerId Outbox::append_timed(std::uint64_t delay_ns) {
  take_turn();
  const TimerId id = next_timer_++;
  arena_.append_timed(later(now_ns_, delay_ns), id, timed_.front());
  timed_.clear();
  return id;
}

void Outbox::rename(Entity target, std::string_view name) {
  take_turn();
  if (const std::optional<Text> text = intern(name))
    arena_.append(target, Rename{.name = *text, .clash = NameClash::suffix});
}

std::optional<Text> Outbox::intern(std::string_view text) {
  bool collision = false;
  const Text interned = texts_.intern(text, &collision);
  if (!collision) return interned;
  types_.need<InternText>();
  arena_.append_table(TypeTraits<InternText>::id, Entity{}, tables_.encode(InternText{.text = std::string(text)}));
  return std::nullopt;
}

Subscription Outbox::keep(std::unique_ptr<Handler> handler) {
  take_turn();
  types_.need<HandlerRequest>();
  const std::uint64_t ordinal = types_.handlers().keep(std::move(handler)).ordinal;
  arena_.append_world(HandlerRequest{.ordinal = ordinal});
  return Subscription(registry_, ordinal);
}

void Outbox::end(Subscription subscription) {
  take_turn();
  types_.need<HandlerRequest>();
  const std::uint64_t ordinal = subscription.release();
  if (ordinal == 0) return;
  types_.handlers().expect_end(ordinal);
  arena_.append_world(HandlerRequest{.ordinal = ordinal, .ends = true});
}

void Outbox::set_handler_enabled(std::string_view name, bool enabled) {
  take_turn();
  types_.need<EnableHandler>();
  if (const std::optional<Text> text = intern(name))
    arena_.append_world(EnableHandler{.name = *text, .enabled = enabled});
}

Entity Spawner::reserve() { return storage_.reserve(); }

bool Spawner::prepare(std::string_view what, const SpawnOptions& options, Spawn& message) {
  const std::optional<Text> name = intern(options.name);
  if (!name) return false;
  message = {
      .what = text_of(what), .parent = options.parent, .before = options.before, .name = *name, .clash = options.clash};
  const Template* known = templates_.template_of(message.what);
  if (!known || options.count == 0) return false;
  ids_.resize(std::size_t{known->size()} * options.count);
  storage_.reserve(ids_);
  if (options.ids) options.ids->assign(ids_.begin(), ids_.end());
  return true;
}

std::optional<Text> Spawner::intern(std::string_view name) {
  if (name.empty()) return Text{};
  take_turn();
  return outbox_.intern(name);
}

}  // namespace muster
