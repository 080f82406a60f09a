// The commands play, stop, and keep, which docs/runs.md explains, and restore.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "messages/value_text.h"
#include "schema/hash.h"

namespace muster::cli {

namespace {

void print_nil_references(std::uint32_t count) {
  if (count > 0) print_line(plural(count, "reference", "references") + " to what was not kept: written as nil");
}

}  // namespace

void set_run(const Common& common, bool on) {
  RemoteWorld world(connect(common.where));
  Client& client = world.client();
  const session::RunState state = must(on ? client.ask<session::Play>() : client.ask<session::StopPlaying>());
  if (common.json) {
    JsonWriter out;
    out.open_object().member("playing", state.playing).member("sequence", state.sequence);
    if (on) out.member("level_sequence", state.level_sequence).member("level_tick", state.level_tick);
    if (!on) {
      out.member("kept", state.kept).member("nil_references", state.nil_references).key("not_kept").open_array();
      for (const std::string& why : state.not_kept) out.value(why);
      out.close_array();
    }
    return print_line(out.close_object().text());
  }
  if (on) return print_line("a run is on; `muster stop` brings the level back");
  print_line("the run has ended; the world is the level again" +
             (state.kept == 0 ? std::string() : ", with " + plural(state.kept, "kept edit", "kept edits")));
  for (const std::string& why : state.not_kept) print_line("not kept: " + printable(why));
  print_nil_references(state.nil_references);
}

void run_edits(const Common& common, std::uint32_t limit) {
  RemoteWorld world(connect(common.where));
  const session::RunEdits edits = must(world.client().ask(session::GetRunEdits{.offset = 0, .limit = limit}));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("playing", edits.playing).key("edits").open_array();
    for (std::size_t i = 0; i < edits.steps.size(); ++i)
      out.open_object()
          .member("step", edits.steps[i])
          .member("user", edits.users[i])
          .member("what", edits.whats[i])
          .member("marked", edits.marked[i] != 0)
          .close_object();
    return print_line(out.close_array().close_object().text());
  }
  if (edits.steps.empty())
    return print_line(edits.playing ? "the run has no edits" : "there is no run whose edits could be kept");
  Columns columns({"step", "user", "", ""});
  UserNames users(world);
  for (std::size_t i = 0; i < edits.steps.size(); ++i)
    columns.add({std::to_string(edits.steps[i]), users.name(edits.users[i]), printable(edits.whats[i]),
                 edits.marked[i] ? "kept when the run ends" : ""});
  columns.print();
}

void keep(const Common& common, const KeepOrder& order) {
  RemoteWorld world(connect(common.where));
  session::Keep what;
  what.all = order.all;
  what.steps = order.steps;
  if (!order.entity.empty()) {
    // After a run, names are those that entities had in the run.
    const bool playing = must(world.client().ask<session::GetRun>()).playing;
    what.entities.push_back(playing ? world.find(order.entity).entity : Entity{});
    what.names.push_back(playing ? std::string() : order.entity);
    TypeId component = 0;
    std::uint32_t field = 0;
    if (!order.field.empty()) {
      if (const auto type = find_component(world.types(), order.field)) {
        component = (*type)->id;
      } else if (!order.field.contains('.')) {
        (void)must(find_component(world.types(), order.field));
      } else {
        const FieldName named = must(find_field(world.types(), order.field));
        component = named.component->id;
        field = hash32(named.path);
      }
    }
    what.components.push_back(component);
    what.fields.push_back(field);
  }
  const session::Kept kept = must(world.client().ask(what));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("marked", kept.marked).member("sequence", kept.sequence).member("edits", kept.messages);
    out.member("created", kept.created).key("skipped").open_array();
    for (const std::string& why : kept.skipped) out.value(why);
    return print_line(out.close_array().close_object().text());
  }
  print_line(kept.marked ? std::string("marked; it is kept when the run ends")
                         : "kept: " + plural(kept.messages, "edit", "edits") + "; `muster undo` takes it back");
  for (const std::string& why : kept.skipped) print_line("not kept: " + printable(why));
  print_nil_references(kept.nil_references);
}

void past(const Common& common, std::uint32_t limit) {
  RemoteWorld world(connect(common.where));
  const session::Past past = must(world.client().ask(session::GetPast{.offset = 0, .limit = limit}));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("tick", past.tick).key("past").open_array();
    for (std::size_t i = 0; i < past.saved.size(); ++i)
      out.open_object()
          .member("saved", past.saved[i])
          .member("tick", past.ticks[i])
          .member("last_tick", past.last_ticks[i])
          .close_object();
    return print_line(out.close_array().close_object().text());
  }
  if (past.saved.empty()) return print_line("no past states are kept: the world has not been saved yet");
  Columns columns({"saved", "tick", "to tick"});
  for (std::size_t i = 0; i < past.saved.size(); ++i)
    columns.add({printable(past.saved[i]), std::to_string(past.ticks[i]), std::to_string(past.last_ticks[i])});
  columns.print();
}

void restore(const Common& common, const std::string& at) {
  session::Restore what;
  const auto [end, error] = std::from_chars(at.data(), at.data() + at.size(), what.tick);
  if (error != std::errc() || end != at.data() + at.size()) {
    // Times are compared as texts, so they must be of the same form as those in the list.
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    const bool is_time = at.size() == form.size() && std::ranges::equal(at, form, [](char given, char of) {
                           return of == '0' ? given >= '0' && given <= '9' : given == of;
                         });
    if (!is_time)
      fail(Exit::usage,
           "'" + at + "' is neither a tick nor a time such as 2026-11-21T00:45:17Z; `muster restore` lists them");
    what.time = at;
  }
  RemoteWorld world(connect(common.where));
  const session::Restored restored = must(world.client().ask(what));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("tick", restored.tick).member("sequence", restored.sequence);
    out.member("saved", restored.saved).member("inputs", restored.inputs);
    return print_line(out.close_object().text());
  }
  print_line("the world is in the state of tick " + std::to_string(restored.tick) + " again, from the save of " +
             printable(restored.saved) + " and " + plural(restored.inputs, "input", "inputs") + " after it");
}

}  // namespace muster::cli
