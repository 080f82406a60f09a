#include "registry/apply/outbox.h"

#include "messages/batch_builder.h"
#include "registry/apply/timers.h"
#include "registry/storage/storage.h"
#include "registry/storage/text_table.h"

namespace muster {

TimerId Outbox::append_timed(std::uint64_t delay_ns, BatchView inner) {
  take_turn();
  const TimerId id = next_timer_++;
  arena_.append_timed(later(now_ns_, delay_ns), id, inner);
  return id;
}

void Outbox::rename(Entity target, std::string_view name) {
  take_turn();
  arena_.append(target, Rename{.name = texts_.intern(name), .clash = NameClash::suffix});
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
  arena_.append_world(EnableHandler{.name = texts_.intern(name), .enabled = enabled});
}

Entity Spawner::reserve() { return storage_.reserve(); }

bool Spawner::prepare(std::string_view what, const SpawnOptions& options, Spawn& message) {
  message = {.what = text_of(what),
             .parent = options.parent,
             .before = options.before,
             .name = intern(options.name),
             .clash = options.clash};
  const Template* known = templates_.template_of(message.what);
  if (!known || options.count == 0) return false;
  ids_.resize(std::size_t{known->size()} * options.count);
  storage_.reserve(ids_);
  if (options.ids) options.ids->assign(ids_.begin(), ids_.end());
  return true;
}

Text Spawner::intern(std::string_view name) {
  if (!name.empty()) take_turn();
  return outbox_.texts_.intern(name);
}

}  // namespace muster
