// - Observation costs nothing while it is off. While it is on, one bit in the test for pending
//   messages sends pushes through the queue.
// - Timing a handler costs two clock reads per batch or pass. If handlers alternate from message to
//   message, one call in 16 is timed and represents the others. Counts are exact.
// - Messages are counted when they are delivered, so appending a message costs no more than without
//   an observer.
// - The statistics of a pass on several workers are computed from the times of its tasks, at the
//   end of the pass.
#include "registry/observe/observer.h"

#include "registry/observe/clock.h"
#include "schema/hash.h"

namespace muster {

Observer::Entry& Observer::entry(const Handler& handler) {
  if (handler.ordinal >= entries_.size()) entries_.resize(handler.ordinal + 1);
  Entry& entry = entries_[handler.ordinal];
  if (entry.figures.ordinal == 0) {
    entry.figures.ordinal = handler.ordinal;
    entry.figures.name = handler.name;
    entry.figures.message = handler.message;
  }
  return entry;
}

MessageFigures& Observer::entry(TypeId type) {
  const auto [at, fresh] = message_of_.try_emplace(type, messages_.size());
  if (fresh) {
    const TypeDescriptor* known = types_.find(type);
    messages_.push_back({.type = type, .name = known ? known->name : std::string()});
  }
  return messages_[at->second];
}

// --- handlers ---

void Observer::Scope::begin() {
  observer_->in_scope_ = true;
  rows_ = observer_->entry(handler_).figures.rows;
  begin_ns_ = steady_ns();
}

void Observer::Scope::end() {
  const std::uint64_t ns = steady_ns() - begin_ns_;
  observer_->in_scope_ = false;
  HandlerFigures& figures = observer_->entry(handler_).figures;
  figures.ns += ns;
  if (figures.rows != rows_) observer_->add_slice(handler_, 0, begin_ns_, ns, figures.rows - rows_);
}

bool Observer::times_single(const Handler& handler) {
  if (in_scope_) return false;
  Entry& entry = this->entry(handler);
  return entry.singles++ % single_every == 0 || (trace_ && single_slices_ < single_slices_max);
}

void Observer::add_single(const Handler& handler, std::uint64_t begin_ns, std::uint64_t end_ns) {
  Entry& entry = this->entry(handler);
  ++entry.timed_singles;
  entry.singles_ns += end_ns - begin_ns;
  if (!trace_) return;
  if (++single_slices_ <= single_slices_max)
    add_slice(handler, 0, begin_ns, end_ns - begin_ns, 1);
  else
    trace_->leave_out();
}

void Observer::add_slice(const Handler& handler, std::uint16_t track, std::uint64_t begin_ns, std::uint64_t ns,
                         std::uint64_t rows) {
  if (!trace_) return;
  trace_->add({.begin_ns = begin_ns,
               .ns = ns,
               .count = rows,
               .name = trace_->name((std::uint64_t{1} << 63) | handler.ordinal,
                                    handler.name.empty() ? std::string_view("(unnamed handler)") : handler.name),
               .track = track,
               .kind = Trace::Kind::handler});
}

void Observer::add_task(const Handler& handler, std::uint32_t worker, std::uint64_t begin_ns, std::uint64_t ns,
                        std::uint64_t rows) {
  add_slice(handler, static_cast<std::uint16_t>(worker + 1), begin_ns, ns, rows);
}

// --- messages ---

void Observer::add_batch(const BatchView& batch, std::uint64_t messages, const Receipt& receipt, bool from_outside,
                         std::uint64_t begin_ns, const Chain& chain) {
  if (batch.kind() != BatchKind::timed) add_messages(batch.type(), messages, receipt, from_outside, begin_ns, chain);
}

void Observer::add_messages(TypeId type, std::uint64_t messages, const Receipt& receipt, bool from_outside,
                            std::uint64_t begin_ns, const Chain& chain) {
  const std::uint64_t ns = steady_ns() - begin_ns;
  MessageFigures& figures = entry(type);
  (from_outside ? figures.pushed : figures.caused) += messages;
  figures.handled += receipt.handled;
  figures.unhandled += receipt.unhandled;
  figures.refused += receipt.refused;
  figures.dead += receipt.dead;
  figures.ns += ns;
  if (trace_)
    trace_->add({.begin_ns = begin_ns,
                 .ns = ns,
                 .count = messages,
                 .message = chain.first,
                 .cause = chain.cause,
                 .last_cause = chain.last_cause,
                 .messages = messages,
                 .name = trace_->name(type, figures.name),
                 .kind = Trace::Kind::batch});
}

void Observer::add_input(std::string_view what, std::uint64_t sequence, std::uint64_t begin_ns) {
  if (!trace_) return;
  trace_->add({.begin_ns = begin_ns,
               .ns = steady_ns() - begin_ns,
               .count = sequence,
               .name = trace_->name((std::uint64_t{1} << 62) | (hash64(what) >> 2), what),
               .kind = Trace::Kind::input});
}

std::vector<HandlerFigures> Observer::handlers() const {
  std::vector<HandlerFigures> all;
  for (const Entry& entry : entries_) {
    if (entry.figures.ordinal == 0) continue;
    HandlerFigures figures = entry.figures;
    if (entry.timed_singles)
      figures.ns +=
          static_cast<std::uint64_t>(static_cast<double>(entry.singles_ns) * static_cast<double>(entry.singles) /
                                     static_cast<double>(entry.timed_singles));
    all.push_back(std::move(figures));
  }
  return all;
}

}  // namespace muster
