// `muster clock` shows and changes the speed of the world's clock. `muster handlers` lists the
// handlers and the messages that call them.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {
namespace {

double number(const ClockOrder& order) {
  double value = 0;
  const char* const end = order.number.data() + order.number.size();
  const auto read = std::from_chars(order.number.data(), end, value);
  if (order.number.empty() || read.ec != std::errc() || read.ptr != end)
    fail(Exit::usage, order.what == "speed" ? "speed needs a number: muster clock speed 0.5"
                                            : "'" + order.number + "' is not a number of ticks");
  return value;
}

session::SetClock asked(const ClockOrder& order) {
  session::SetClock what;
  what.paused = 2;
  if (order.what == "step") {
    const double steps = order.number.empty() ? 1 : number(order);
    if (!(steps >= 1 && steps <= 4e9 && std::floor(steps) == steps))
      fail(Exit::usage, "'" + order.number + "' is not a number of ticks");
    what.steps = static_cast<std::uint32_t>(steps);
    return what;
  }
  if (order.what == "speed") {
    what.speed = number(order);
    // In SetClock, a speed of 0 leaves the speed unchanged.
    if (what.speed == 0) fail(Exit::usage, "a clock of speed 0 is paused: muster clock pause");
    if (what.speed < 0.01 || what.speed > 100) fail(Exit::refused, "a clock's speed is from 0.01 to 100");
    return what;
  }
  if (!order.number.empty()) fail(Exit::usage, order.what + " takes no number");
  what.paused = order.what == "pause" ? 1 : 0;
  return what;
}

/// Waits until the requested ticks have run or a signal interrupts the command.
session::ClockState when_made(Client& client, session::ClockState state) {
  end_on_interrupt();
  while (state.steps > 0 && !interrupted()) {
    must(client.next(0, std::chrono::milliseconds(10)));
    state = must(client.ask<session::GetClock>());
  }
  return state;
}

std::string ticks_text(const session::ClockState& state) {
  if (state.hz == 0 && state.tick == 0) return "none: it advances when something arrives";
  const std::string rate = state.hz == 0 ? "as its program makes them" : number_text(state.hz) + " per second";
  return state.speed == 1 ? rate : rate + ", at speed " + number_text(state.speed);
}
std::string run_text(const session::ClockState& state) {
  if (state.paused == 0) return "runs";
  return state.steps == 0 ? "paused" : "paused, " + std::to_string(state.steps) + " ticks are being made";
}

/// Returns the `count` type ids of the current row, and advances `next` past them.
std::vector<TypeId> part(std::span<const TypeId> all, std::size_t& next, std::uint32_t count) {
  if (all.size() - next < count) fail(Exit::unreachable, "the server's answer is invalid");
  const auto own = all.subspan(next, count);
  next += count;
  return {own.begin(), own.end()};
}

std::string message_text(const TypeTable& types, TypeId id, std::uint8_t change) {
  static constexpr const char* changes[] = {"", "Added ", "Removed ", "Changed "};
  const TypeDescriptor* type = types.find(id);
  return changes[change & 3] + (type ? type->name : "#" + std::to_string(id));
}

void json_types(JsonWriter& out, const char* key, const TypeTable& types, const std::vector<TypeId>& ids) {
  out.key(key).open_array();
  for (const TypeId id : ids) out.value(message_text(types, id, 0));
  out.close_array();
}

}  // namespace

void clock(const Common& common, const ClockOrder& order) {
  const auto what = order.what.empty() ? std::nullopt : std::optional(asked(order));
  RemoteWorld world(connect(common.where));
  Client& client = world.client();
  session::ClockState state = must(what ? client.ask(*what) : client.ask<session::GetClock>());
  if (what && what->steps > 0) state = when_made(client, state);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("hz", state.hz).member("speed", state.speed).member("paused", state.paused != 0);
    out.member("steps", state.steps).member("tick", state.tick).member("clock_ns", state.clock_ns);
    out.member("sequence", state.sequence).member("saved_sequence", state.saved_sequence);
    return print_line(out.close_object().text());
  }
  Columns columns({});
  columns.add({"clock", run_text(state)});
  columns.add({"ticks", ticks_text(state)});
  columns.add({"tick", std::to_string(state.tick)});
  columns.add({"time", seconds_text(state.clock_ns)});
  columns.add({"saved", state.saved_sequence == state.sequence
                            ? "all of it"
                            : "through sequence " + std::to_string(state.saved_sequence) + " of " +
                                  std::to_string(state.sequence)});
  columns.print();
}

void handlers(const Common& common) {
  RemoteWorld world(connect(common.where));
  const TypeTable& types = world.types();
  JsonWriter out;
  out.open_array();
  Columns columns({"HANDLER", "MESSAGE", "WRITES", "READS"});
  session::HandlerList page;
  session::ListHandlers question;
  do {
    page = must(world.client().ask(question));
    const std::size_t rows = page.handlers.size();
    if (page.names.size() != rows || page.messages.size() != rows || page.changes.size() != rows ||
        page.enabled.size() != rows || page.write_counts.size() != rows || page.read_counts.size() != rows)
      fail(Exit::unreachable, "the server's answer is invalid");
    std::size_t next_write = 0, next_read = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto writes = part(page.writes, next_write, page.write_counts[i]);
      const auto reads = part(page.reads, next_read, page.read_counts[i]);
      const std::string message = message_text(types, page.messages[i], page.changes[i]);
      columns.add({(page.names[i].empty() ? "(no name)" : page.names[i]) + (page.enabled[i] ? "" : " (off)"), message,
                   world.component_names(writes), world.component_names(reads)});
      out.open_object().member("name", page.names[i]).member("message", message);
      out.member("enabled", page.enabled[i] != 0);
      json_types(out, "writes", types, writes);
      json_types(out, "reads", types, reads);
      out.close_object();
    }
    if (!page.handlers.empty()) question.after = page.handlers.back();
  } while (page.more && !page.handlers.empty());
  common.json ? print_line(out.close_array().text()) : columns.print();
}

void why_apart(const Common& common, const std::string& first, const std::string& second) {
  RemoteWorld world(connect(common.where));
  std::string text = must(world.client().ask(session::WhyApart{.first = first, .second = second})).text;
  if (text.ends_with('\n')) text.pop_back();
  JsonWriter out;
  print_line(common.json ? out.value(text).text() : text);
}

}  // namespace muster::cli
