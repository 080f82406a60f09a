// The part of Delivery that handles messages to the world. Each handler makes a pass over all rows
// that have its components; a handler without components is called once.
#include "registry/delivery/delivery.h"
#include "registry/delivery/parallel_pass.h"
#include "registry/handlers/ask_ahead.h"
#include "registry/observe/clock.h"

namespace muster {

bool Delivery::over_world(const Handler& handler, void* message) {
  if (handler.options.on_begin) {
    context_.entity = 0;
    context_.entities = 0;
    context_.running = &handler;
    const bool begins = handler.options.on_begin();
    context_.running = nullptr;
    context_.entities = 1;
    if (!begins) return false;
  }
  const Observer::Scope timed(observer_, handler);
  rows_of_world(handler, message);
  return true;
}

void Delivery::rows_of_world(const Handler& handler, void* message) {
  context_.entity = 0;
  context_.entities = 0;
  if (handler.once)
    call(handler, message, no_chunk(), 0, 1, nullptr);
  else
    each_rows(context_, handler, [&](const RowsOfChunk& rows) {
      context_.entity = rows.chunk->ids()[rows.begin].bits();
      context_.entities = rows.end - rows.begin;
      call(handler, message, *rows.chunk, rows.begin, rows.end, rows.columns);
    });
  context_.entities = 1;
}

void Delivery::to_world(MessageRoute& route, void* message, Receipt& receipt) {
  bool called = route.builtin;
  if (observer_) [[unlikely]]
    observer_->next_call();
  if (!parallel_) {
    for (const Handler* handler : route.active) called |= over_world(*handler, message);
  } else if (!parallel_->deliver(route, message, called)) {
    for (Handler* handler : route.active) {
      const std::uint64_t begin = steady_ns();
      called |= over_world(*handler, message);
      ParallelPass::learn(*handler, ParallelPass::rows_of(*handler), ns_since(begin));
    }
  }
  ++(called ? receipt.handled : receipt.unhandled);
}

}  // namespace muster
