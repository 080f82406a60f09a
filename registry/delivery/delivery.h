// Delivers a batch to its handlers. All handlers of a message run, in order, before the next
// message is delivered. If the difference cannot be observed, each handler in turn processes a
// whole run of messages instead.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "messages/arena.h"
#include "messages/batch.h"
#include "messages/causes.h"
#include "registry/apply/outbox.h"
#include "registry/apply/receipt.h"
#include "registry/apply/registry_state.h"
#include "registry/apply/structure.h"
#include "registry/apply/timers.h"
#include "registry/handlers/item_loops.h"
#include "registry/handlers/turn.h"
#include "registry/observe/observer.h"

namespace muster {

class ParallelPass;

/// Calls a handler that writes components if another handler follows changes to those components.
/// Compares the values before and after each row. Adds ComponentChanged messages to `changed`,
/// after the handler's own pushes for the row. `before` is scratch memory.
bool run_followed(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
                  std::uint32_t end, const std::uint16_t* columns, std::vector<std::byte>& before,
                  BatchWriter& changed);

/// Scratch memory of Delivery::changed_pass.
struct OwnCopies {
  std::vector<const Handler*> stretch;  // consecutive handlers that are called for entities
  std::vector<std::pair<const Handler*, const std::uint16_t*>> matching;  // those of one archetype
  struct Left {
    const Archetype* archetype;
    std::size_t chunks;  // number of chunks below the depths that have been visited
  };
  std::vector<Left> left;
  std::vector<std::byte> world;   // the message for handlers without components
  std::vector<std::byte> entity;  // the copy of one entity

  // Used if a handler without components separates two stretches: by the index of an id, the number
  // of the entity's copy in `kept`, plus one; or 0 if it has none; or `ended`.
  static constexpr std::uint32_t ended = ~0u;
  std::vector<std::uint32_t> number;
  std::vector<std::byte> kept;
};

class Delivery {
 public:
  Delivery(const RunContext& context, TypesKnown& types, Structure& structure, Timers& timers,
           std::uint64_t& next_timer, const std::uint64_t& now_ns, Arena& cascade)
      : context_(context),
        types_(types),
        structure_(structure),
        timers_(timers),
        next_timer_(next_timer),
        now_ns_(now_ns),
        cascade_(cascade) {
    context_.delivery = this;
  }

  /// Delivers up to `messages_max` messages, starting at the cursor, and advances the cursor.
  /// Returns true when the batch is complete. A batch to a span counts as one message. The results
  /// are added to the receipt.
  bool deliver(const BatchView& batch, BatchCursor& cursor, std::uint64_t messages_max, Receipt& receipt);
  /// Delivers messages [begin, end) of a batch of kind `each`.
  [[gnu::always_inline]] void each(const BatchView& batch, MessageRoute& route, std::uint32_t begin, std::uint32_t end,
                                   Receipt& receipt) {
    if (!route.builtin) [[likely]]
      return items(batch, route, begin, end, receipt);
    for (std::uint32_t i = begin; i < end; ++i) {
      if (end - i > destroyed_ahead) ask_for_destroyed(batch, i);
      begin_message();
      builtin(batch, route, batch.target(i), batch.payload(i), receipt);
    }
  }
  /// Delivers messages [begin, end) of a batch of kind `each`, which contains POD messages to
  /// single entities. Must not be used for messages on which the registry itself acts.
  void items(const BatchView& batch, MessageRoute& route, std::uint32_t begin, std::uint32_t end, Receipt& receipt) {
    const BatchHeader& header = batch.header();
    items(route, {batch.item(begin), end - begin, header.item_bytes, header.payload_offset}, receipt);
  }
  /// Delivers a run of such messages in the way that is fastest for its length.
  void items(MessageRoute& route, const ItemRun& run, Receipt& receipt) {
    if (is_few(run) && !cascade_.causes()) return few(route, run, receipt);
    long_run(route, run, receipt);
  }
  /// True if the run is so short that setting it up would cost more than delivering the messages
  /// one at a time. The messages must qualify for a run, and causes must not be recorded.
  static bool is_few(const ItemRun& run) noexcept { return run.count - 1 < few_max; }
  static constexpr std::uint32_t few_max = 4;
  /// Delivers a run for which is_few() returns true, message by message.
  [[gnu::always_inline]] void few(MessageRoute& route, const ItemRun& run, Receipt& receipt) {
    if (route.few_bytes == run.bytes) [[likely]] {
      const ItemCounts counts = few_straight(context_, route, run.first, run.count);
      receipt.handled += counts.handled;
      receipt.dead += counts.dead;
      receipt.unhandled += run.count - counts.handled - counts.dead;
      return;
    }
    const std::byte* at = run.first;
    for (std::uint32_t left = run.count; left != 0; --left, at += run.bytes)
      to_entity(route, detail::target_of(at), const_cast<std::byte*>(at + run.offset), receipt);
  }
  /// Delivers a few items, which must have the size that the route's `few` function expects.
  [[gnu::always_inline]] static ItemCounts few_straight(RunContext& context, const MessageRoute& route,
                                                        const std::byte* first, std::uint32_t count) {
    context.running = route.few_handler;
    const ItemCounts counts = route.few(context, *route.few_handler, first, count);
    context.running = nullptr;
    return counts;
  }
  /// Delivers a single message of a type that the registry acts on.
  void builtin(const BatchView& batch, MessageRoute& route, Entity target, const std::byte* payload, Receipt& receipt);
  /// Calls all handlers of a single message for a single row.
  void several(MessageRoute& route, void* message, Chunk& chunk, std::uint32_t row);
  /// Numbers the messages that follow as belonging to the input with this sequence number. If a
  /// handler posts, the number of its message is recorded as the cause.
  void number_messages(std::uint64_t sequence) noexcept { number_ = sequence << cause_place_bits; }
  /// Returns the number of the next message, or 0 if causes are not recorded.
  std::uint64_t next_number() const noexcept { return cascade_.causes() ? number_ : 0; }
  /// Must be called before each message. The message becomes the cause of the pushes that follow.
  void begin_message() noexcept {
    if (!cascade_.causes()) [[likely]]
      return;
    if (structure_.in_step()) return;  // the Step itself is the cause
    cascade_.set_cause(number_);
    if ((number_ & cause_place_max) != cause_place_max) ++number_;
  }
  RunContext& context() noexcept { return context_; }
  /// Registers the messages that report the lifecycle of entities.
  void know_lifecycle();
  /// Returns the handler that is being called, for use in error messages, or null if no handler is
  /// being called.
  const Handler* running() const noexcept {
    const Handler* const one = context_.running;
    return one ? one : running_here();
  }
  /// Returns the current call on this thread or on one of these workers. The result does not
  /// contain the sequence number. May be called from any thread.
  AtWork at_work(std::span<const WorkerCall> workers) const;
  /// Describes a call of this handler, if the handler still exists. `entity` holds the bits of the
  /// first entity for which it is called, or 0 if there is none.
  AtWork at_work(const Handler* handler, std::uint64_t entity, std::uint32_t entities = 1) const;
  /// Sets the object that spreads passes over several workers, or null for a single worker.
  void set_parallel(ParallelPass* parallel) noexcept { parallel_ = parallel; }
  /// Sets the observer that counts and times calls, or null to stop. HandlerTable::observe_calls
  /// must be set accordingly.
  void set_observer(Observer* observer) noexcept { observer_ = observer; }

  /// Sets the function that locates texts in queued messages.
  void set_waiting(std::function<void(TextMentions&)> waiting) { waiting_ = std::move(waiting); }
  /// Sets the function that drops what the cascade carries over.
  void set_drop(std::function<void()> drop) { drop_ = std::move(drop); }
  /// Must be called after archetypes were dropped.
  void forget_plans() { structure_.forget_plans(); }

 private:
  static constexpr std::uint32_t destroyed_ahead = 12;
  /// Prefetches the data that will be read for the messages after message `i` of a Destroy batch.
  /// The entities to be destroyed may be anywhere in memory.
  void ask_for_destroyed(const BatchView& batch, std::uint32_t i) const noexcept;
  /// Delivers a run handler by handler if nothing can observe the difference, and otherwise message
  /// by message.
  void long_run(MessageRoute& route, const ItemRun& run, Receipt& receipt);
  /// Runs the handlers one after another, each for the whole run.
  void whole_run(MessageRoute& route, const ItemRun& run, Receipt& receipt);
  /// Calls the matching handlers for a row, in order, until one of them consumes the message.
  void one(MessageRoute& route, Row row, void* message);
  /// Delivers a message to one entity, and counts it.
  [[gnu::always_inline]] void to_entity(MessageRoute& route, Entity target, void* message, Receipt& receipt) {
    const Row row = context_.storage.find(target);
    if (!row) {
      ++receipt.dead;
      return;
    }
    const CallSite& site = route.calls[row.chunk->archetype_index];
    if (!site.run) {
      ++receipt.unhandled;
      return;
    }
    ++receipt.handled;
    context_.entity = target.bits();
    context_.running = site.handler;
    site.run(context_, site, message, *row.chunk, row.row);
    context_.running = nullptr;
  }
  /// Counts a message to this target as dead, handled, or unhandled.
  void count_target(const MessageRoute& route, Entity target, Receipt& receipt) const noexcept {
    const Row row = context_.storage.find(target);
    if (!row)
      ++receipt.dead;
    else if (route.somebody(*row.chunk))
      ++receipt.handled;
    else
      ++receipt.unhandled;
  }
  void to_span(MessageRoute& route, std::span<const Entity> targets, const std::byte* payload, std::uint32_t bytes,
               bool table, Receipt& receipt);
  void to_world(MessageRoute& route, void* message, Receipt& receipt);
  /// Runs a single handler of a pass. Returns false if its on_begin function returned false.
  bool over_world(const Handler& handler, void* message);
  bool begins_pass(const Handler& handler);
  /// Delivers a pass whose message a handler changes or consumes. Returns true if any handler was
  /// called.
  bool changed_pass(MessageRoute& route, const void* message);
  /// Delivers the pass to the handlers of OwnCopies::stretch, entity by entity.
  void each_entity(const MessageRoute& route, const void* message, bool keeps);
  void rows_of_world(const Handler& handler, void* message);
  void to_subtree(MessageRoute& route, Entity target, std::uint64_t parts, const std::byte* payload,
                  std::uint32_t bytes, bool table, Receipt& receipt);
  /// Refuses an entire pass if its message is structural.
  bool refused_as_pass(const MessageRoute& route, Receipt& receipt) const noexcept;
  /// True if any handler follows the creation, destruction, or change of entities.
  bool is_watched(const MessageRoute& route) const noexcept {
    return types_.handlers().follows() || !route.active.empty() || !activated_->active.empty() ||
           !loaded_->active.empty() || !deactivated_->active.empty();
  }
  /// Delivers a structure message to a span.
  void builtin_span(const BatchView& batch, MessageRoute& route, Receipt& receipt);
  /// Calls the handlers of a structural message. If one of them changes the message, uses a copy.
  void tell(MessageRoute& route, Entity target, const std::byte* payload, std::uint32_t bytes);
  /// Performs the registry's own action for a message to the world. Returns false if the message
  /// was refused; its handlers must then not be called.
  bool builtin_world(MessageRoute& route, const std::byte* payload, std::span<const std::byte> table, Receipt& receipt);
  bool call(const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
            const std::uint16_t* columns) {
    if (observer_) [[unlikely]]
      return call_counted(handler, message, chunk, begin, end, columns);
    return call_uncounted(handler, message, chunk, begin, end, columns);
  }
  bool call_counted(const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                    const std::uint16_t* columns);
  bool call_uncounted(const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                      const std::uint16_t* columns) {
    if (!handler.followed.empty()) [[unlikely]]
      return call_followed(handler, message, chunk, begin, end, columns);
    context_.running = &handler;
    const bool consumed = handler.rows(context_, handler, message, chunk, begin, end, columns);
    context_.running = nullptr;
    return consumed;
  }
  bool call_followed(const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                     const std::uint16_t* columns) {
    context_.running = &handler;
    const bool consumed = run_followed(context_, handler, message, chunk, begin, end, columns, before_, cascade_);
    context_.running = nullptr;
    return consumed;
  }
  /// Calls the handlers that follow a change to one component of an entity.
  void follow(ChangeKind kind, Entity e, TypeId component);
  void follow_created(Entity e) {
    for (const TypeId component : types_of(context_.storage.find(e), types_here_))
      follow(ChangeKind::added, e, component);
  }
  /// Finds the components that a Set, SetField, or Rename will add or change, and stores them in
  /// `changes_`.
  void foresee(const BatchView& batch, Row row, const std::byte* payload);
  ItemCounts call(const Handler& handler, const ItemRun& run) {
    const Observer::Scope timed(observer_, handler);
    context_.entity = detail::target_of(run.first).bits();
    context_.entities = run.count;
    context_.running = &handler;
    const ItemCounts counts = handler.items(context_, handler, run);
    context_.running = nullptr;
    context_.entities = 1;
    if (observer_) [[unlikely]]
      observer_->add_rows(handler, counts.handled);
    return counts;
  }
  // --- registry/delivery/template_delivery.cc ---
  /// Delivers Spawn and MergeTemplate, where a single message covers one or more whole trees.
  void tree(const BatchView& batch, MessageRoute& route, std::span<const Entity> ids, const std::byte* payload,
            Receipt& receipt);
  void initial_messages(const Template& what, std::span<const Entity> ids);
  void tell_created(Entity e);
  void tell_doomed(std::span<const Entity> doomed);

  // --- registry/delivery/step_delivery.cc ---
  /// Delivers the messages of a Step, and takes all of them back if one of them is refused.
  void step(MessageRoute& route, std::span<const std::byte> table, Receipt& receipt);
  /// Delivers the messages of a batch until one of them is refused or has a dead target.
  void in_step(const BatchView& batch, Receipt& receipt);

  void note(const Refusal& refusal, Receipt& receipt) const noexcept;

  RunContext context_;
  TypesKnown& types_;
  Structure& structure_;
  Timers& timers_;
  std::uint64_t& next_timer_;
  const std::uint64_t& now_ns_;
  Arena& cascade_;
  std::function<void(TextMentions&)> waiting_;
  std::function<void()> drop_;
  ParallelPass* parallel_ = nullptr;
  Observer* observer_ = nullptr;
  std::uint64_t number_ = 0;  // number of the next message; see messages/causes.h
  MessageRoute* activated_ = nullptr;
  MessageRoute* loaded_ = nullptr;
  MessageRoute* deactivated_ = nullptr;
  std::vector<std::byte> scratch_;
  std::vector<std::uint32_t> places_;  // places of the targets of a run
  std::vector<Entity> targets_;
  // Parallel to the targets of a span: true if a handler has consumed the message.
  std::vector<std::uint8_t> ended_;
  OwnCopies own_copies_;
  std::vector<std::byte> before_;
  std::vector<TypeId> types_here_;  // types of the entity whose changes are being followed
  std::vector<std::pair<ChangeKind, TypeId>> changes_;
};

}  // namespace muster
