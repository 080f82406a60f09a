// The part of Inputs that delivers what handlers post: the cascade of an input, and what earlier
// cascades carried over. A run of a cascade ends when nothing is left, or at the first of these:
//
//   messages, bytes   CascadeBounds, part of the state
//   time              RegistryOptions::cascade_ns_max; reported to sinks as a CascadeCut
//   a recorded cut    in a replay, at the number of messages at which time ended the run
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "messages/causes.h"
#include "registry/delivery/inputs.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/handler_table.h"

namespace muster {
namespace {

/// Returns the numbers of messages [begin, end) of a batch that handlers posted. For a table,
/// `offset` is the position of the first message in the body.
Observer::Chain chain_of(const BatchView& batch, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                         std::size_t offset) noexcept {
  Observer::Chain chain{.first = first};
  if (!batch.has_causes() || begin == end) return chain;
  if (batch.kind() == BatchKind::table) {
    chain.cause = chain.last_cause = table_cause(batch.body() + offset);
  } else {
    chain.cause = cause_of(batch, static_cast<std::uint32_t>(begin));
    chain.last_cause = cause_of(batch, static_cast<std::uint32_t>(end - 1));
  }
  return chain;
}

constexpr std::uint64_t hold_every = 8192;  // see CascadeBound
std::string name_of(const MessageRoute* route) { return route ? route->type->name : std::string("a message"); }

/// Returns a sentence that names the option limiting the cascade, the first pending message, and
/// those of that message's handlers that post. If a handler posts to itself forever, it is among
/// them.
std::string cut_sentence(const RegistryOptions& options, const HandlerTable& handlers, TypeId first_waiting, CutBy by) {
  const MessageRoute* route = handlers.route(first_waiting);
  const std::string message = name_of(route);
  std::string sentence =
      "a cascade was cut short after " +
      (by == CutBy::messages
           ? std::to_string(options.cascade_messages_max) + " messages (RegistryOptions::cascade_messages_max)"
       : by == CutBy::bytes
           ? std::to_string(options.cascade_bytes_max) + " bytes (RegistryOptions::cascade_bytes_max)"
           : std::to_string(options.cascade_ns_max / 1'000'000) + " ms (RegistryOptions::cascade_ns_max)") +
      "; the rest, starting with " + message + ", waits for the next input";
  if (!route) return sentence;
  constexpr std::size_t named_max = 3;
  std::vector<std::string> posting;
  for (const Handler* handler : route->order)
    if (handler->pushes) posting.push_back(handler->name.empty() ? "an unnamed handler" : '"' + handler->name + '"');
  if (posting.empty()) return sentence;
  sentence += ". ";
  for (std::size_t i = 0; i < posting.size() && i < named_max; ++i) sentence += (i ? ", " : "") + posting[i];
  if (posting.size() > named_max) sentence += " and " + std::to_string(posting.size() - named_max) + " more";
  return sentence + (posting.size() == 1 ? " handles " + message + " and posts messages: does it ever stop?"
                                         : " handle " + message + " and post messages: do they ever stop?");
}

/// Returns a sentence that names the bound on what waits and the first message that was dropped.
std::string drop_sentence(const CascadeBounds& bounds, const HandlerTable& handlers, TypeId first_dropped) {
  return "more than " + std::to_string(bounds.carried_messages_max) + " messages or " +
         std::to_string(bounds.carried_bytes_max) +
         " bytes wait in a cascade (RegistryOptions::carried_messages_max, carried_bytes_max); the newest are dropped, "
         "starting with " +
         name_of(handlers.route(first_dropped));
}

constexpr std::uint64_t look_ns = 1'000'000, said_every_ns = 1'000'000'000;

}  // namespace

void RegistryOptions::warn(const std::string& sentence) const {
  if (on_warning)
    on_warning(sentence);
  else
    std::fprintf(stderr, "muster: %s\n", sentence.c_str());
}

void Inputs::begin_turn() noexcept {
  in_turn_ = true;
  turn_left_ns_ = options_.cascade_ns_max;
}

void Inputs::expect_cut(const CascadeCut& cut) {
  std::erase_if(cuts_, [&](const CascadeCut& each) {
    return each.sequence < core_.state.sequence ||
           (each.sequence == cut.sequence && each.resumed == cut.resumed && each.run == cut.run);
  });
  cuts_.push_back(cut);
}

bool Inputs::is_ahead(const BatchView& batch) const noexcept {
  return carries_ && core_.state.resumed == 0 && goes_ahead(batch);
}

void Inputs::begin_run(Run& run, std::uint32_t resumed) {
  run.cut = {.sequence = core_.state.sequence, .resumed = resumed};
  if (resumed == 0) {
    if (runs_of_ != run.cut.sequence) runs_ = 0;
    runs_of_ = run.cut.sequence;
    run.cut.run = runs_++;
  }
  if (replaying_) {
    for (const CascadeCut& each : cuts_)
      if (each.sequence == run.cut.sequence && each.resumed == resumed && each.run == run.cut.run)
        run.messages_max = each.messages;
  } else if (options_.cascade_ns_max != 0) {
    run.begin_ns = steady_ns();
    run.left_ns = in_turn_ ? turn_left_ns_ : options_.cascade_ns_max;
    run.timed = true;
  }
}

std::uint64_t Inputs::next_pause(Run& run, std::uint64_t done) {
  const std::uint64_t since_held = done % hold_every;
  if (since_held == 0) hold_bound();
  if (done >= run.messages_max) return 0;
  std::uint64_t pause = std::min(hold_every - since_held, run.messages_max - done);
  if (!run.timed) return pause;
  constexpr std::uint64_t first = 16;
  const std::uint64_t took_ns = done == 0 ? 0 : steady_ns() - run.begin_ns;
  if (took_ns >= run.left_ns) {
    run.timed_out = true;
    return 0;
  }
  return std::min(pause,
                  done == 0 ? first : std::max<std::uint64_t>(done * look_ns / std::max<std::uint64_t>(took_ns, 1), 1));
}

bool Inputs::deliver_caused(std::uint32_t resumed) {
  Arena& cascade = core_.state.cascade;
  const std::uint64_t messages_max = core_.state.bounds.messages_max;
  std::uint64_t left = messages_max, bytes_left = core_.state.bounds.bytes_max;
  Run run;
  std::uint64_t pause = hold_every;
  if (replaying_ || options_.cascade_ns_max != 0) [[unlikely]] {
    begin_run(run, resumed);
    pause = next_pause(run, 0);
  } else {
    hold_bound();
  }
  in_cascade_ = true;
  while (!cascade.empty() && left > 0 && bytes_left > 0 && pause > 0) {
    const BatchView batch = cascade.front();
    Receipt receipt;
    const std::uint32_t before = cursor_.message;
    const std::uint64_t begin_ns = begin_batch(), first = delivery_.next_number();
    const std::size_t offset = cursor_.offset;
    // The smallest number of messages that use up the remaining bytes. The place where the delivery
    // stops thus depends only on the messages.
    const std::uint64_t fit = batch.header().payload_bytes ? 1 + (bytes_left - 1) / batch.header().payload_bytes : 1;
    const bool done = delivery_.deliver(batch, cursor_, std::min(std::min(left, fit), pause), receipt);
    const std::uint64_t delivered = counts_once(batch) ? 1 : (done ? batch.count() : cursor_.message) - before;
    left -= std::min(left, delivered);
    pause -= std::min(pause, delivered);
    bytes_left -= std::min(bytes_left, payload_bytes(batch, before, before + delivered, offset));
    if (attended_) [[unlikely]] {
      if (observer_)
        observer_->add_batch(batch, delivered, receipt, false, begin_ns,
                             chain_of(batch, first, before, before + delivered, offset));
      if (pushed_sink_ && before == 0 && offset == 0) pushed_sink_->on_pushed(batch);
    }
    core_.count(receipt);
    managers_.tell_destroyed();
    if (done) {
      cursor_ = {};
      bound_.popping(batch);
      cascade.pop_front();
    }
    if (pause == 0) [[unlikely]]
      pause = next_pause(run, messages_max - left);
  }
  in_cascade_ = false;
  if (run.timed && in_turn_) turn_left_ns_ -= std::min(turn_left_ns_, steady_ns() - run.begin_ns);
  if (cascade.empty()) {
    cascade.give_back();
    carries_ = said_cut_ = said_drop_ = false;
    return true;
  }
  end_cut_run(run, messages_max - left, left == 0 ? CutBy::messages : bytes_left == 0 ? CutBy::bytes : CutBy::time);
  return false;
}

void Inputs::end_cut_run(Run& run, std::uint64_t done, CutBy by) {
  Arena& cascade = core_.state.cascade;
  carries_ = true;
  hold_bound();
  cascade.seal();  // carried batches are never extended, so that loaded batches are identical
  ++core_.state.counters.carried;
  if (run.timed_out) {
    run.cut.messages = done;
    core_.sinks.all.each([&](InputSink& sink) { sink.on_cut(run.cut); });
  }
  if (!replaying_ && may_say(said_cut_, said_cut_ns_) && !cascade.empty())
    options_.warn(cut_sentence(options_, core_.types.handlers(), cascade.front().type(), by));
  if (observer_) [[unlikely]] {
    std::uint64_t delivered = cursor_.message;  // messages delivered from the first batch
    cascade.for_each([&](const BatchView& batch) {
      observer_->add_carried(batch.type(), (counts_once(batch) ? 1 : batch.count()) - std::exchange(delivered, 0));
    });
  }
}

void Inputs::warn_of_drop() {
  if (!replaying_ && may_say(said_drop_, said_drop_ns_))
    options_.warn(drop_sentence(core_.state.bounds, core_.types.handlers(), bound_.first_dropped()));
}

bool Inputs::may_say(bool& said, std::uint64_t& said_ns) noexcept {
  if (std::exchange(said, true)) return false;
  const std::uint64_t now_ns = steady_ns();
  if (said_ns != 0 && now_ns - said_ns < said_every_ns) return false;
  said_ns = now_ns;
  return true;
}

}  // namespace muster
