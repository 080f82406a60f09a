// The life of an input, whichever way it came in. Everything that happens to a registry happens in one:
//
//   what waits   what a cut cascade carried over, then what was posted (inputs of their own)    deliver_waiting()
//   tell         its number; every sink sees its sealed bytes                                   RegistryCore::tell
//   deliver      its own messages, by all their handlers                                        Delivery
//   settle       counters, receipts, managers hear which entities were destroyed                            settle()
//   cascade      what handlers pushed, and what that pushes, up to the bounds                   deliver_cascade()
//   clean up     where archetypes came: those that nobody has are dropped, if they are many     clean_up()
//
// Shortcuts take the same steps with fewer instructions: deliver_plain() here; a push to one entity
// (EntityRegistry::push_direct), a few from a session (push_few() here), create, set, remove and destroy of one
// (registry/direct_rows.h) and a tree from a template (EntityRegistry::spawn_direct). Each says which general
// way it equals, and tests hold it equal (tests/registry/delivery/shortcuts_test.cc, tests/registry/apply/direct_spawn_test.cc).
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "registry/apply/managers.h"
#include "registry/apply/timers.h"
#include "registry/delivery/delivery.h"
#include "registry/delivery/inbox.h"
#include "registry/delivery/pushed_sink.h"
#include "registry/delivery/registry_core.h"
#include "registry/observe/clock.h"
#include "registry/observe/observer.h"

namespace muster {

/// Owned by the registry, used on its thread. Where a sink throws, push, push_batches, flush and advance throw it on;
/// registry/delivery/input_sink.h says what happens then.
class Inputs {
 public:
  struct Parts {
    RegistryCore& core;
    Delivery& delivery;
    Managers& managers;
  };
  Inputs(const Parts& parts, const RegistryOptions& options)
      : core_(parts.core),
        delivery_(parts.delivery),
        timers_(parts.core.state.timers),
        managers_(parts.managers),
        next_timer_(parts.core.state.next_timer),
        now_ns_(parts.core.state.now_ns),
        cursor_(parts.core.state.cursor),
        options_(options) {
    delivery_.set_waiting([this](TextMentions& texts) { find_waiting(texts); });
  }

  // --- the ways in ---

  /// The one batch that was put into RegistryCore::pushing, which is empty again afterwards.
  Receipt push() {
    return push([](Arena&) {});
  }
  /// Likewise; `finish(pushing)` puts the batch there, or completes it, when nothing waits any more, so that what it draws (ids) is
  /// drawn in the order of inputs, as a replay draws it. `waited`: wait_over() was called just before.
  template <class Finish>
  Receipt push(Finish finish, bool waited = false);
  /// Likewise; the batch's targets are new ids, as many as `ids`, drawn into `ids` and into the batch.
  Receipt push_new(std::span<Entity> ids, bool waited = false);
  /// The batches in `bytes`, one behind the other, each a push of its own. The counts are sums.
  Receipt push_batches(std::span<const std::byte> bytes, std::uint64_t author, std::uint64_t request,
                       std::uint64_t user);
  /// One of them.
  Receipt push_batch(const BatchView& batch, std::uint64_t author, std::uint64_t request, std::uint64_t user);
  /// A few messages to single entities from a session, of a type that the registry does not act on, where nobody looks at single ones and
  /// nothing waits. Equals push_batch().
  Receipt push_few(const BatchView& batch, const MessageRoute& route, std::uint64_t author, std::uint64_t request,
                   std::uint64_t user);
  /// One message of a type that the registry acts on, to one entity. Equals push() while nothing waits.
  Receipt push_sealed(std::span<const std::byte> batch);
  /// What is left of a push to one entity that went straight to its handler: settling, and the cascade. Equals push().
  Receipt end_push(Receipt receipt);
  /// Delivers what was posted, then what the inbox holds (Inbox::drain), each batch an input; then, if anything came, a flush input
  /// that marks the end; then what all these caused.
  Receipt flush();
  Receipt advance(std::uint64_t ns);
  /// Does what an input did that a sink of another registry was told: see EntityRegistry::replay.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> bytes);
  /// Delivers what was carried over and what was posted, so that an input can follow.
  void wait_over();

  // --- for the registry's parts ---

  /// Runs work that calls handlers or hooks; `who` says which, and so what they may do with the registry meanwhile.
  template <class Work>
  auto inside(std::string_view what, Work&& work, Inside who = Inside::handlers);
  /// Where something was caught that was thrown while an input was delivered: the end of the program, naming the handler.
  [[noreturn]] void delivery_failed() noexcept;
  void tell_receipt(const Envelope& envelope, const Receipt& receipt) {
    for (InputSink* sink : core_.receipt_sinks_of(envelope.kind)) sink->on_receipt(envelope, receipt);
  }
  /// A timer whose number the host gives takes that number from those that the registry gives.
  void claim_timer(const BatchView& batch);
  /// Counts and times what is delivered; null: nobody does.
  void set_observer(Observer* observer) noexcept {
    observer_ = observer;
    attended_ = observer_ || pushed_sink_;
  }
  /// Sees what the cascade delivers; null: nobody does.
  void set_pushed_sink(PushedSink* sink) noexcept {
    pushed_sink_ = sink;
    attended_ = observer_ || pushed_sink_;
  }
  /// The ids that were drawn since then were not, because their input does not happen.
  void undraw(const Storage::Drawn& before) noexcept;
  Observer* observer() const noexcept { return observer_; }
  Inbox& inbox() noexcept { return inbox_; }

 private:
  class Observed;
  /// What a push, flush or advance ends with, behind its own input. Where archetypes came and too many are without rows, these are
  /// dropped. That follows from state and inputs alone (a call without an input of its own does not do it), because numbers of
  /// archetypes are state.
  void clean_up() {
    if (core_.state.storage.archetypes_came()) [[unlikely]]
      drop_archetypes();
  }
  void drop_archetypes();
  /// The end of a push or flush. True if all that handlers pushed was delivered.
  bool end_call() {
    const bool whole = deliver_cascade();
    clean_up();
    return whole;
  }
  /// A flush's own input, with its end.
  void tell_flush(Receipt& sum);
  /// An Advance message with all that comes due, and the end of the call.
  Receipt live_advance(const BatchView& batch);
  /// Goes on with what a cut cascade left.
  void resume();
  /// Which of the texts what waits mentions. Of the front batch of the cascade only what was not delivered: that is all of it that is saved.
  void find_waiting(TextMentions& texts) const;
  /// Tells, delivers (by `deliver(receipt)`) and settles one input.
  template <class Deliver>
  Receipt live(Envelope& envelope, std::span<const std::byte> bytes, Deliver&& deliver);
  Receipt live(InputKind kind, const BatchView& batch, std::uint64_t author = 0, std::uint64_t request = 0,
               std::uint64_t user = 0);
  void tell(Envelope& envelope, std::span<const std::byte> bytes);
  /// Equals tell(); the envelope says besides what happened since the input before.
  void tell_after_more(Envelope& envelope, std::span<const std::byte> bytes);
  /// Draws the ids that a Create, Spawn or MergeTemplate of the host names, as long as they are those that come next. How many.
  std::uint32_t claim_ids(const BatchView& batch);
  void deliver(const BatchView& batch, const Envelope& envelope, Receipt& receipt);
  void settle(const Envelope& envelope, const Receipt& receipt);
  Receipt deliver_waiting();
  /// Everything that was posted, an input per batch. Something was.
  Receipt deliver_posts();
  /// Equals live() for each batch, while nobody looks at receipts of posts, counts, or follows causes. Delivers the oldest posts as
  /// long as they are batches of kind each that the registry itself does not act on. Returns how many batches.
  std::size_t deliver_plain(Receipt& sum);
  /// What handlers pushed, up to the bound. True if all was delivered.
  bool deliver_cascade() { return core_.state.cascade.empty() || deliver_caused(); }
  bool deliver_caused();
  /// Before a batch is delivered: the time, where that is observed.
  std::uint64_t begin_batch();

  RegistryCore& core_;
  Delivery& delivery_;
  Timers& timers_;
  Managers& managers_;
  std::uint64_t& next_timer_;
  std::uint64_t& now_ns_;
  BatchCursor& cursor_;
  const RegistryOptions& options_;
  Inbox inbox_;
  Observer* observer_ = nullptr;
  PushedSink* pushed_sink_ = nullptr;
  bool warned_of_cut_ = false;
  bool attended_ = false;  // somebody is told of batches of the cascade: one test for both
};

/// Tells the observer, if there is one, of an input with all it caused.
class Inputs::Observed {
 public:
  Observed(Inputs& inputs, std::string_view what)
      : observer_(inputs.observer_), core_(inputs.core_), what_(what), sequence_(core_.state.sequence) {
    if (observer_) [[unlikely]]
      begin_ns_ = steady_ns();
  }
  ~Observed() {
    if (observer_ && core_.state.sequence != sequence_) [[unlikely]]
      observer_->add_input(what_, core_.state.sequence, begin_ns_);
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  Observer* observer_;
  const RegistryCore& core_;
  std::string_view what_;
  std::uint64_t sequence_, begin_ns_ = 0;
};

template <class Work>
auto Inputs::inside(std::string_view what, Work&& work, Inside who) {
  const InInput mark(core_, who);
  struct Forgotten {
    Shown<std::uint64_t>& entity;
    ~Forgotten() { entity = 0; }
  };
  const Forgotten forgotten{core_.context->entity};
  const Observed observed(*this, what);
  core_.sink_threw = false;
  try {
    return work();
  } catch (...) {
    if (!core_.sink_threw) delivery_failed();
    throw;
  }
}

template <class Finish>
Receipt Inputs::push(Finish finish, bool waited) {
  struct Emptied {
    Arena& arena;
    ~Emptied() { arena.clear(); }
  };
  const Emptied emptied{core_.pushing};
  return inside("push", [&] {
    if (!waited) deliver_waiting();
    finish(core_.pushing);
    Receipt receipt = live(InputKind::push, core_.pushing.front());
    receipt.cut_short = !end_call();
    return receipt;
  });
}

}  // namespace muster
