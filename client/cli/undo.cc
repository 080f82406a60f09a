// The commands undo, redo, and history. docs/undo.md states the rules.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {
namespace {

/// Returns the step's name or, if it has none, its description.
std::string label_of(const std::string& label, const std::string& what) {
  return label.empty() && what.empty() ? "a step without a name" : printable(label.empty() ? what : label);
}

/// Names the things that an answer refers to by number, and asks the server about each at most
/// once.
class Names {
 public:
  explicit Names(RemoteWorld& world) : world_(world) {}

  const std::string& entity(Entity of) {
    auto [at, is_new] = entities_.try_emplace({of.index, of.generation});
    if (is_new) {
      const auto shown = world_.client().show(of);
      at->second = NamedEntity{of, shown ? shown->about.path : std::string()}.text();
    }
    return at->second;
  }
  std::string component(TypeId id) const {
    const TypeDescriptor* const type = world_.types().find(id);
    return type ? type->name : "#" + std::to_string(id);
  }
  std::string user(std::uint64_t number) { return users_.name(number); }

 private:
  RemoteWorld& world_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> entities_;
  UserNames users_{world_};
};

/// Returns the reason why part `i` was skipped.
std::string reason_text(const session::Undone& of, std::size_t i, Names& names) {
  switch (static_cast<session::SkipReason>(of.skipped_reasons[i])) {
    case session::SkipReason::edited_by_other: {
      std::string text = names.user(of.skipped_users[i]) + " has edited it since";
      if (!of.skipped_mine[i].empty() || !of.skipped_theirs[i].empty())
        text += ": it is " + printable(of.skipped_theirs[i]) + " now, and would be " + printable(of.skipped_mine[i]);
      return text;
    }
    case session::SkipReason::not_alive: return "it does not exist";
    case session::SkipReason::component_missing: return "the component has been removed since";
    case session::SkipReason::component_exists: return "the component has been added since";
    case session::SkipReason::worked_on_by_other:
      return names.user(of.skipped_users[i]) + " has worked on it or below it since";
    case session::SkipReason::id_released: return "the history was too long to keep its id";
    case session::SkipReason::would_be_circle: return "its old parent is below it now";
  }
  return "reason " + std::to_string(of.skipped_reasons[i]);
}

/// Names the place of part `i`, for example "game.Health.value of /town/tower (12:1)".
std::string place_of(const session::Undone& of, std::size_t i, Names& names) {
  if (!of.skipped_entities[i]) return "the template " + printable(of.skipped_fields[i]);
  std::string text;
  if (of.skipped_components[i] != 0) text = names.component(of.skipped_components[i]);
  if (!of.skipped_fields[i].empty()) text += (text.empty() ? "" : ".") + printable(of.skipped_fields[i]);
  return text + (text.empty() ? "" : " of ") + names.entity(of.skipped_entities[i]);
}

std::vector<std::string> skipped_lines(const session::Undone& of, Names& names) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < of.skipped_reasons.size(); ++i)
    lines.push_back("skipped: " + place_of(of, i, names) + ": " + reason_text(of, i, names));
  if (of.skipped > lines.size()) lines.push_back("skipped: " + std::to_string(of.skipped - lines.size()) + " more");
  return lines;
}

void print_text(const session::Undone& of, bool dry, Names& names) {
  const bool is_redo = of.act == session::UndoAct::redo;
  const std::string done = is_redo ? "redone" : "undone", would = dry ? "would be " : "";
  print_line(would + done + ": " + label_of(of.label, of.what) + ", " + plural(of.done, "part", "parts"));
  if (of.passed_over > 0)
    print_line("  passed over: " + plural(of.passed_over, "newer step, of which", "newer steps, of which") +
               " nothing was left to " + (is_redo ? "redo" : "undo"));
  if (of.nil_references > 0)
    print_line("  " + would + "cleared: " +
               plural(of.nil_references, "reference to an entity that does", "references to entities that do") +
               " not exist");
  if (of.other_parents > 0)
    print_line("  " + would + "put elsewhere: " +
               plural(of.other_parents, "entity, whose parent does", "entities, whose parents do") + " not exist");
  if (of.other_names > 0)
    print_line("  " + would +
               "renamed: " + plural(of.other_names, "entity, whose name is", "entities, whose names are") + " taken");
  for (const std::string& line : skipped_lines(of, names)) print_line("  " + line);
}

void write_json(JsonWriter& out, const session::Undone& of, bool dry, Names& names) {
  out.open_object().member("sequence", of.sequence).member("act", session::name_of(of.act)).member("dry", dry);
  out.member("label", of.label).member("what", of.what).member("done", of.done).member("passed_over", of.passed_over);
  out.member("nil_references", of.nil_references).member("other_parents", of.other_parents);
  out.member("other_names", of.other_names).member("skipped_count", of.skipped).key("skipped").open_array();
  for (std::size_t i = 0; i < of.skipped_reasons.size(); ++i) {
    out.open_object();
    out.member("reason", session::name_of(static_cast<session::SkipReason>(of.skipped_reasons[i])));
    if (of.skipped_entities[i]) out.member("id", id_text(of.skipped_entities[i]));
    if (of.skipped_components[i] != 0) out.member("component", names.component(of.skipped_components[i]));
    out.member("field", of.skipped_fields[i]).member("user", of.skipped_users[i]);
    out.member("mine", of.skipped_mine[i]).member("theirs", of.skipped_theirs[i]).close_object();
  }
  out.close_array().close_object();
}

}  // namespace

void undo(const Common& common, const UndoOrder& order) {
  if (order.dry && order.steps != 1) fail(Exit::usage, "--dry shows one step, so it takes no number of steps");
  RemoteWorld world(connect(common.where));
  Names names(world);
  session::Undo what{.act = order.redo ? session::UndoAct::redo : session::UndoAct::undo,
                     .on_conflict = order.overwrite ? session::OnConflict::overwrite : session::OnConflict::skip,
                     .dry = order.dry ? 1u : 0u,
                     .only_newest = order.pass_over ? 0u : 1u};
  const std::string verb = order.redo ? "redo" : "undo";
  JsonWriter out;
  out.open_array();
  std::uint64_t sequence = 0;
  for (std::uint32_t made = 0; made < order.steps; ++made) {
    auto answer = world.client().ask(what);
    // A step that would change nothing, even without conflicts, is passed over.
    if (answer && answer->done == 0 && answer->skipped == 0) {
      session::Undo next = what;
      next.dry = 1;
      next.only_newest = 0;
      answer = world.client().ask(next);
      if (answer && answer->passed_over == 1 && !order.dry) {
        next.dry = 0;
        answer = world.client().ask(next);
      }
    }
    // If some steps were undone, it is no error that there are not as many as requested.
    if (!answer && made > 0 && answer.error().fault.code == session::FaultCode::not_found) {
      if (!common.json) print_line("there is nothing more to " + verb);
      break;
    }
    const session::Undone undone = must(std::move(answer));
    if (undone.done == 0 || (!order.pass_over && undone.passed_over > 1)) {
      world.wait_until_durable(common, sequence);
      std::string why = "nothing of '" + label_of(undone.label, undone.what) + "' is left to " + verb;
      if (undone.done > 0) why = "the newest steps have conflicts or would change nothing";
      if (undone.done == 0)
        for (const std::string& line : skipped_lines(undone, names)) why += "\n  " + line;
      fail(Exit::refused, why + "\n  " + (order.overwrite ? "" : "--overwrite overwrites what others have edited; ") +
                              "--pass-over drops the step and continues with the one before it");
    }
    sequence = undone.sequence;
    common.json ? write_json(out, undone, order.dry, names) : print_text(undone, order.dry, names);
  }
  if (!order.dry) world.wait_until_durable(common, sequence);
  if (common.json) print_line(out.close_array().text());
}

void history(const Common& common, std::uint32_t limit) {
  RemoteWorld world(connect(common.where));
  JsonWriter out;
  out.open_object();
  Columns columns({"", "STEP", "PARTS", "SEQUENCE"});
  // The next steps to redo and to undo are adjacent, so a limited list shows the steps around them.
  const session::History counts = must(world.client().ask(session::GetHistory{.limit = 1}));
  const std::uint32_t undo_shown = std::min(counts.undo_steps, limit - std::min(counts.redo_steps, limit / 2));
  const std::uint32_t first = counts.redo_steps - std::min(counts.redo_steps, limit - undo_shown);
  std::uint32_t shown = 0, all = 0;
  do {
    const session::History page =
        must(world.client().ask(session::GetHistory{.offset = first + shown, .limit = limit - shown}));
    all = page.undo_steps + page.redo_steps;
    if (shown == 0) {
      out.member("sequence", page.sequence).member("undo_steps", page.undo_steps);
      out.member("redo_steps", page.redo_steps).key("steps").open_array();
    }
    if (page.labels.empty()) break;
    for (std::size_t i = 0; i < page.labels.size(); ++i) {
      const std::string act = page.is_redo[i] != 0 ? "redo" : "undo";
      columns.add({act, label_of(page.labels[i], page.whats[i]), std::to_string(page.parts[i]),
                   std::to_string(page.sequences[i])});
      out.open_object().member("act", act).member("label", page.labels[i]).member("what", page.whats[i]);
      out.member("parts", page.parts[i]).member("sequence", page.sequences[i]).close_object();
    }
    shown += static_cast<std::uint32_t>(page.labels.size());
  } while (shown < limit && first + shown < all);
  if (common.json) return print_line(out.close_array().close_object().text());
  columns.print_or("there is nothing to undo or redo");
  if (all > shown && shown > 0) print_line(std::to_string(all - shown) + " more steps are not shown");
}

}  // namespace muster::cli
