#include "server/figures/activity_count.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "registry/observe/figures.h"
#include "registry/profile.h"

namespace muster {
namespace {

/// Returns the `count` entries that took the most time, in descending order of time.
template <class Figures>
std::vector<Figures> busiest(std::vector<Figures> all, std::size_t count) {
  std::ranges::sort(all, std::ranges::greater(), &Figures::ns);
  if (all.size() > count) all.resize(count);
  return all;
}

}  // namespace

session::Activity ActivityCount::ask(std::uint32_t rows, std::uint64_t steady_now_ns) {
  if (!counts_) {
    counts_ = observation_.begin();
    begun_ns_ = steady_now_ns;
  }
  asked_ns_ = steady_now_ns;
  session::Activity told;
  told.sequence = registry_.sequence();
  told.clock_ns = registry_.now_ns();
  told.counted_ns = steady_now_ns - begun_ns_;
  const std::size_t count = rows == 0 ? rows_default : rows;
  for (const MessageFigures& message : busiest(registry_.profile().message_figures(), count)) {
    told.messages.push_back(message.type);
    told.pushed.push_back(message.pushed);
    told.caused.push_back(message.caused);
    told.handled.push_back(message.handled);
    told.unhandled.push_back(message.unhandled);
    told.dead.push_back(message.dead);
    told.message_ns.push_back(message.ns);
  }
  for (const HandlerFigures& handler : busiest(registry_.profile().handler_figures(), count)) {
    told.handlers.push_back(handler.ordinal);
    told.names.push_back(handler.name);
    told.handled_types.push_back(handler.message);
    told.calls.push_back(handler.calls);
    told.rows.push_back(handler.rows);
    told.handler_ns.push_back(handler.ns);
  }
  return told;
}

}  // namespace muster
