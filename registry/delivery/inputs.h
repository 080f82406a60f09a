// The life of an input, regardless of its source. Everything that happens to a registry happens as
// part of an input. Read this file first: the rest of the folder performs or observes these steps.
//
//   waiting      messages of a cut cascade, then posted ones (inputs of their own)      deliver_waiting()
//   tell         its number; every sink sees its sealed bytes                           RegistryCore::tell
//   deliver      its own messages, by all their handlers                                Delivery
//   settle       counters, receipts; managers are told which entities were destroyed    settle()
//   cascade      what handlers posted, and what those post, up to the limits            deliver_cascade(), caused.cc
//   clean up     if archetypes were added: drops those without rows if they are many    clean_up()
//
// Shortcuts perform the same steps with fewer instructions. For messages to handlers, they are
// deliver_plain() for posts and push_few() for a few messages from a session, both in this class,
// and EntityRegistry::push_direct for a push to a single entity. Shortcuts that change structure
// serve only the host's own calls (registry/delivery/host_call.h): create, set, remove, and destroy
// (registry/direct_rows.h), and spawn (EntityRegistry::spawn_direct). There are no shortcuts for
// structure messages from sessions. Tests verify that each shortcut is equivalent to the general
// path (tests/registry/delivery/shortcuts_test.cc, tests/registry/apply/direct_test.cc,
// direct_spawn_test.cc).
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "registry/apply/managers.h"
#include "registry/apply/timers.h"
#include "registry/delivery/cascade_bound.h"
#include "registry/delivery/delivery.h"
#include "registry/delivery/inbox.h"
#include "registry/delivery/pushed_sink.h"
#include "registry/delivery/registry_core.h"
#include "registry/observe/clock.h"
#include "registry/observe/observer.h"

namespace muster {

/// The limit that ended a run of a cascade.
enum class CutBy : std::uint8_t { messages, bytes, time };

/// Owned by the registry and used only on its thread. If a sink throws an exception, push,
/// push_batches, flush, and advance propagate the exception; see registry/delivery/input_sink.h.
class Inputs {
 public:
  struct Parts {
    RegistryCore& core;
    Delivery& delivery;
    Structure& structure;
    Managers& managers;
  };
  Inputs(const Parts& parts, const RegistryOptions& options)
      : core_(parts.core),
        delivery_(parts.delivery),
        structure_(parts.structure),
        timers_(parts.core.state.timers),
        managers_(parts.managers),
        next_timer_(parts.core.state.next_timer),
        now_ns_(parts.core.state.now_ns),
        cursor_(parts.core.state.cursor),
        options_(options),
        bound_(parts.core.state, parts.structure) {
    delivery_.set_waiting([this](TextMentions& texts) { find_waiting(texts); });
    delivery_.set_drop([this] {
      bound_.drop(in_cascade_);
      carries_ = carries_ && !core_.state.cascade.empty();
    });
  }

  // --- entry points ---

  /// Pushes the single batch in RegistryCore::pushing, which is empty afterward.
  Receipt push() {
    return push([](Arena&) {});
  }
  /// Like push(), but calls `finish(pushing)` once no messages are pending. `finish` adds or
  /// completes the batch. Ids are thus issued in the order of inputs, as they are during a replay.
  /// `waited` must be true only if wait_over() was just called.
  template <class Finish>
  Receipt push(Finish finish, bool waited = false);
  /// Like push(finish), but for a batch whose targets are new ids. The ids are issued and then
  /// written to `ids` and to the batch.
  Receipt push_new(std::span<Entity> ids, bool waited = false);
  /// Pushes the consecutive batches in `bytes`, each as a separate input. The counts in the receipt
  /// are totals.
  Receipt push_batches(std::span<const std::byte> bytes, const Sender& by);
  /// Pushes a single batch.
  Receipt push_batch(const BatchView& batch, const Sender& by);
  /// Pushes a few single-entity messages from a session. Requires that the registry does not act on
  /// messages of this type, that no messages are pending, and that single messages are not
  /// observed. Equivalent to push_batch().
  Receipt push_few(const BatchView& batch, const MessageRoute& route, const Sender& by);
  /// Completes a push to a single entity whose handler was called directly: settles the push and
  /// delivers the cascade. Equivalent to push().
  Receipt end_push(Receipt receipt);
  /// Delivers posted messages, and then the contents of the inbox (Inbox::drain), with one input
  /// per batch. If there were any batches, a flush input marks their end. Finally, delivers
  /// everything that these inputs caused.
  Receipt flush();
  Receipt advance(std::uint64_t ns);
  /// Repeats an input that a sink of another registry saw; see RegistryHost::replay.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> bytes, bool timed);
  /// See RegistryHost.
  void expect_cut(const CascadeCut& cut);
  void begin_turn() noexcept;
  /// Delivers carried and posted messages, so that an input can follow.
  void wait_over();

  // --- for the registry's parts ---

  /// Runs work that calls handlers or hooks. `who` is the kind of code that is called, which
  /// determines how that code may use the registry.
  template <class Work>
  auto inside(std::string_view what, Work&& work, Inside who = Inside::handlers);
  /// Stops the program with an error that names the handler. Must be called from a catch block
  /// during delivery.
  [[noreturn]] void delivery_failed() noexcept;
  void tell_receipt(const Envelope& envelope, const Receipt& receipt) {
    core_.receipt_sinks_of(envelope.kind).each([&](InputSink& sink) { sink.on_receipt(envelope, receipt); });
  }
  /// Reserves a timer number that the host has chosen itself, so that the registry does not issue
  /// it again.
  void claim_timer(const BatchView& batch);
  /// Sets the observer that counts and times deliveries, or null to stop.
  void set_observer(Observer* observer) noexcept {
    observer_ = observer;
    attended_ = observer_ || pushed_sink_;
  }
  /// Sets the sink that is notified of cascade deliveries, or removes it if null.
  void set_pushed_sink(PushedSink* sink) noexcept {
    pushed_sink_ = sink;
    attended_ = observer_ || pushed_sink_;
  }
  /// Must be called after the contents of the state were exchanged, or its bounds were changed.
  void forget_waiting() noexcept {
    bound_.forget();
    runs_ = 0;
    carries_ = !core_.state.cascade.empty();
  }
  /// Takes back the ids issued since `before`, because the input for which they were issued does
  /// not take place.
  void undraw(const Storage::Drawn& before) noexcept;
  Observer* observer() const noexcept { return observer_; }
  Inbox& inbox() noexcept { return inbox_; }

 private:
  class Observed;
  /// The last step of a push, flush, or advance, after its own input. If archetypes were added and
  /// too many archetypes have no rows, drops those without rows. The decision depends only on the
  /// state and the inputs, because archetype numbers are part of the state. A call without an input
  /// drops nothing.
  void clean_up() {
    if (core_.state.storage.archetypes_came()) [[unlikely]]
      drop_archetypes();
  }
  void drop_archetypes();
  /// Completes a push or flush. Returns true if all messages that handlers posted were delivered.
  /// If `ahead` is true, the input went before a carried cascade, which does not continue yet.
  bool end_call(bool ahead = false) {
    if (ahead) ++core_.state.counters.overtaken;
    const bool whole = ahead ? core_.state.cascade.empty() : deliver_cascade();
    clean_up();
    return whole;
  }
  /// Completes a flush: numbers its own input, shows it to the sinks, and delivers the cascade.
  void tell_flush(Receipt& sum);
  /// Delivers an Advance message and all timed messages that become due, and then completes the
  /// call.
  Receipt live_advance(const BatchView& batch);
  /// Resumes the delivery of messages left pending when a cascade was cut short.
  void resume();
  /// Finds the texts that pending messages mention. In the cascade's front batch, only the
  /// undelivered part counts, because only that part is saved.
  void find_waiting(TextMentions& texts) const;
  /// Numbers an input, shows it to the sinks, delivers it by calling `deliver(receipt)`, and
  /// settles it.
  template <class Deliver>
  Receipt live(Envelope& envelope, std::span<const std::byte> bytes, Deliver&& deliver);
  Receipt live(InputKind kind, const BatchView& batch, const Sender& by = {});
  void tell(Envelope& envelope, std::span<const std::byte> bytes);
  /// Like tell(), but the envelope also records what has happened since the previous input.
  void tell_after_more(Envelope& envelope, std::span<const std::byte> bytes);
  /// Issues the ids that a Create, Spawn, or MergeTemplate from the host names. Stops at the first
  /// id that is not the next one to be issued. Returns the number of ids issued.
  std::uint32_t claim_ids(const BatchView& batch);
  void deliver(const BatchView& batch, const Envelope& envelope, Receipt& receipt);
  void settle(const Envelope& envelope, const Receipt& receipt);
  /// Delivers carried messages, unless `ahead` is true, and then posted ones.
  Receipt deliver_waiting(bool ahead = false);
  /// True if the push of this batch must not wait for a carried cascade, and there is one. A replay
  /// decides the same, because a push that does not wait has no resumption before it.
  bool is_ahead(const BatchView& batch) const noexcept;
  /// Delivers all posted messages, with one input per batch. There must be at least one.
  Receipt deliver_posts();
  /// Delivers the oldest posts. Stops at the first batch that is not of kind `each` or on which the
  /// registry itself acts. Equivalent to calling live() for each batch. Must be used only if post
  /// receipts, observation, and causes are not needed. Returns the number of batches delivered.
  std::size_t deliver_plain(Receipt& sum);
  /// Delivers the messages that handlers posted, up to the limit. Returns true if all were
  /// delivered.
  bool deliver_cascade() { return core_.state.cascade.empty() || deliver_caused(0); }
  // --- registry/delivery/caused.cc ---
  /// `resumed` is RegistryState::resumed if this resumes a cut cascade, and otherwise 0.
  bool deliver_caused(std::uint32_t resumed);
  /// A run of a cascade, and what can end it besides the bounds.
  struct Run {
    CascadeCut cut;
    std::uint64_t messages_max = ~std::uint64_t{0};  // the recorded cut, in a replay
    std::uint64_t begin_ns = 0, left_ns = 0;
    bool timed = false, timed_out = false;
  };
  void begin_run(Run& run, std::uint32_t resumed);
  /// Returns the number of messages to deliver before the next call, or 0 if the run ends here,
  /// after `done` messages.
  std::uint64_t next_pause(Run& run, std::uint64_t done);
  /// Carries over the rest of a cascade.
  void end_cut_run(Run& run, std::uint64_t done, CutBy by);
  /// Drops the newest messages if too many wait.
  void hold_bound() {
    if (bound_.hold() != 0) [[unlikely]]
      warn_of_drop();
  }
  void warn_of_drop();
  /// True if a sentence was not said in this burst yet, nor in the last second.
  static bool may_say(bool& said, std::uint64_t& said_ns) noexcept;
  /// Returns the current time if batches are observed. Called before a batch is delivered.
  std::uint64_t begin_batch();

  RegistryCore& core_;
  Delivery& delivery_;
  Structure& structure_;
  Timers& timers_;
  Managers& managers_;
  std::uint64_t& next_timer_;
  std::uint64_t& now_ns_;
  BatchCursor& cursor_;
  const RegistryOptions& options_;
  Inbox inbox_;
  Observer* observer_ = nullptr;
  PushedSink* pushed_sink_ = nullptr;
  // True if an observer or a pushed sink sees batches of the cascade.
  bool attended_ = false;
  bool in_cascade_ = false;  // true while a message of the cascade is delivered
  // True if recorded cuts take the place of the limit on time.
  bool replaying_ = false;
  bool carries_ = false;                       // true if the last call left messages in the cascade
  bool in_turn_ = false;                       // true after begin_turn()
  bool said_cut_ = false, said_drop_ = false;  // since the cascade was last empty
  std::uint64_t said_cut_ns_ = 0, said_drop_ns_ = 0;
  std::uint64_t turn_left_ns_ = 0;
  std::uint64_t runs_of_ = 0;  // the input of which `runs_` runs were begun
  std::uint32_t runs_ = 0;
  std::vector<CascadeCut> cuts_;  // for the replay of the next inputs
  CascadeBound bound_;
};

/// Reports an input and everything that it caused to the observer, if there is one.
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
  // Resets RunContext::entity, as required before the next direct push.
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
    ~Emptied() {
      arena.clear();
      arena.give_back();
    }
  };
  const Emptied emptied{core_.pushing};
  return inside("push", [&] {
    bool ahead = false;
    if (!waited && (!core_.state.cascade.empty() || !core_.state.input.empty())) [[unlikely]] {
      ahead = !core_.pushing.empty() && is_ahead(core_.pushing.front());
      deliver_waiting(ahead);
    }
    finish(core_.pushing);
    Receipt receipt = live(InputKind::push, core_.pushing.front());
    receipt.cut_short = !end_call(ahead);
    return receipt;
  });
}

}  // namespace muster
