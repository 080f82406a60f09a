// The commands that only read: ls, tree, show, info, timers, types.
#include <algorithm>
#include <cmath>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "schema/hex.h"
#include "schema/kinds.h"
#include "schema/quoted.h"

namespace muster::cli {
namespace {

void json_components(JsonWriter& out, const TypeTable& types, const std::vector<TypeId>& components) {
  out.key("components").open_array();
  for (const TypeId id : components) {
    if (is_kept_by_registry(id)) continue;
    const TypeDescriptor* type = types.find(id);
    out.value(type ? type->name : "#" + std::to_string(id));
  }
  out.close_array();
}

/// Prints all entities below `of` that have all of the listed components and whose names contain
/// the given part.
void search(RemoteWorld& world, const List& list, Entity of, bool json) {
  session::Find what;
  what.name = list.name;
  what.under = of;
  for (const std::string& name : list.with) what.components.push_back(must(find_component(world.types(), name))->id);
  JsonWriter out;
  out.open_array();
  Columns columns({"ID", "PATH"});
  for (bool more = true; more;) {
    const session::Found found = must(world.client().ask(what));
    for (std::size_t i = 0; i < found.entities.size(); ++i) {
      const Entity e = found.entities[i];
      if (e == of) continue;
      columns.add({id_text(e), found.paths[i]});
      out.open_object().member("id", id_text(e)).member("path", found.paths[i]).close_object();
    }
    more = found.more && !found.entities.empty();
    if (more) what.after = found.entities.back();
  }
  json ? print_line(out.close_array().text()) : columns.print();
}

struct TreePrinter {
  RemoteWorld& world;
  std::uint32_t depth_max;

  void text(Entity of, std::uint32_t depth, const std::string& indent) {
    // A child is drawn only after it is known whether another child follows, because the last child
    // has a different branch symbol.
    std::optional<Child> waiting;
    const auto draw = [&](const Child& child, bool last) {
      const bool cut = child.children > 0 && depth >= depth_max;
      print_line(indent + (last ? "└─ " : "├─ ") + label(child) +
                 (cut ? "  … " + std::to_string(child.children) + (child.children == 1 ? " child" : " children") : ""));
      if (child.children > 0 && !cut) text(child.entity, depth + 1, indent + (last ? "   " : "│  "));
    };
    world.each_child(of, [&](const Child& child) {
      if (waiting) draw(*waiting, false);
      waiting = child;
    });
    if (waiting) draw(*waiting, true);
  }
  std::string label(const Child& child) const {
    const std::string components = world.component_names(child.components);
    return (child.name.empty() ? "" : printable(child.name) + "  ") + id_text(child.entity) +
           (components.empty() ? "" : "  [" + components + "]");
  }
  void json(JsonWriter& out, Entity of, std::uint32_t depth) {
    out.open_array();
    world.each_child(of, [&](const Child& child) {
      out.open_object().member("id", id_text(child.entity)).member("name", child.name);
      json_components(out, world.types(), child.components);
      out.member("child_count", child.children);
      if (child.children > 0 && depth < depth_max) {
        out.key("children");
        json(out, child.entity, depth + 1);
      }
      out.close_object();
    });
    out.close_array();
  }
};

const char* role_name(const TypeDescriptor& type) {
  return type.role == TypeRole::component ? (type.tag ? "tag" : "component") : "message";
}

/// Returns the name of the type's journal policy, as written in schemas.
const char* journal_name(const TypeDescriptor& type) {
  static constexpr const char* names[] = {"always", "latest", "never"};
  return names[static_cast<std::size_t>(type.journal)];
}

/// Returns the first sentence of a documentation comment as one line.
std::string first_sentence(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == ' ') {
      if (!line.empty() && line.back() == '.') break;
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      line += c;
    }
  }
  return line;
}

void show_type(const Common& common, const TypeTable& types, const TypeDescriptor& type) {
  if (common.json) {
    JsonWriter out;
    out.open_object().member("name", type.name).member("kind", role_name(type));
    out.member("remote", right_name(type.remote)).member("journal", journal_name(type));
    if (type.see != RemoteRight::view) out.member("see", right_name(type.see));
    out.member("enableable", type.enableable).member("doc", type.doc).key("fields").open_array();
    for (const FieldDescriptor& field : type.fields) {
      if (type.tag) break;
      out.open_object().member("name", field.name).member("takes", expected_text(types, field));
      out.member("default", field.default_text).member("unit", field.unit).member("count", field.count);
      out.member("doc", field.doc).close_object();
    }
    return print_line(out.close_array().close_object().text());
  }
  print_line(type.name + "  " + role_name(type));
  if (!type.doc.empty()) print_line("  " + first_sentence(type.doc));
  const bool component = type.role == TypeRole::component;
  print_line(std::string(component ? "  written" : "  sent") + " from outside by: " +
             (type.remote == RemoteRight::none ? std::string("nobody") : std::string(right_name(type.remote))));
  if (!component) print_line(std::string("  kept in the journal: ") + journal_name(type));
  if (type.enableable) print_line("  enableable: can be added and removed without moving its row");
  if (type.tag) return;
  Columns columns({"FIELD", "TAKES", "DEFAULT", ""});
  for (const FieldDescriptor& field : type.fields)
    columns.add({field.is_array ? field.name + '[' + std::to_string(field.count) + ']' : field.name,
                 expected_text(types, field), field.default_text, first_sentence(field.doc)});
  columns.print();
}

}  // namespace

void ls(const Common& common, const List& list) {
  RemoteWorld world(connect(common.where));
  const NamedEntity of = world.find_or_root(list.of);
  if (!list.with.empty() || !list.name.empty()) return search(world, list, of.entity, common.json);
  JsonWriter out;
  out.open_array();
  Columns columns({"ID", "NAME", "CHILDREN", "COMPONENTS"});
  world.each_child(of.entity, [&](const Child& child) {
    columns.add({id_text(child.entity), child.name, child.children ? std::to_string(child.children) : "",
                 world.component_names(child.components)});
    out.open_object().member("id", id_text(child.entity)).member("name", child.name);
    json_components(out, world.types(), child.components);
    out.member("child_count", child.children).close_object();
  });
  common.json ? print_line(out.close_array().text()) : columns.print();
}

void tree(const Common& common, const Tree& asked) {
  RemoteWorld world(connect(common.where));
  const NamedEntity of = world.find_or_root(asked.of);
  TreePrinter printer{world, asked.depth_max == 0 ? 1 : asked.depth_max};
  if (common.json) {
    JsonWriter out;
    out.open_object();
    if (of.entity)
      out.member("id", id_text(of.entity));
    else
      out.key("id").null();
    out.member("path", of.path).key("children");
    printer.json(out, of.entity, 1);
    return print_line(out.close_object().text());
  }
  print_line(of.text());
  printer.text(of.entity, 1, "");
}

/// Returns the type of a value that a manager holds, or null if only the manager knows its meaning.
static const TypeDescriptor* type_of(RemoteWorld& world, const session::HeldValue& held) {
  const TypeDescriptor* const type = held.type == 0 ? nullptr : world.types().find(held.type);
  return type && !type->is_table && type->size == held.value.size() ? type : nullptr;
}

/// Returns the first bytes as text, such as "0a ff ...".
static std::string bytes_text(std::span<const std::uint8_t> bytes, std::size_t most) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes.first(std::min(bytes.size(), most))) {
    if (!text.empty()) text += ' ';
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return bytes.size() > most ? text + " ..." : text;
}

static void print_fields(RemoteWorld& world, const TypeDescriptor& type, std::span<const std::byte> value) {
  Columns columns({});
  for (const FieldLine& line : field_lines(world.types(), type, value.data(), world))
    columns.add({"  " + line.path, line.value + (line.unit.empty() ? "" : " " + line.unit)});
  columns.print();
}

void show(const Common& common, const std::string& entity) {
  RemoteWorld world(connect(common.where));
  const ShownEntity shown = must(world.client().show(world.find(entity).entity));
  const session::Shown& about = shown.about;
  if (common.json) {
    JsonWriter out;
    out.open_object().member("id", id_text(about.entity)).member("name", about.name).member("path", about.path);
    if (about.parent)
      out.member("parent", id_text(about.parent));
    else
      out.key("parent").null();
    out.member("child_count", about.child_count).member("sequence", about.sequence);
    out.key("components").open_object();
    for (const auto& component : shown.components) {
      if (is_kept_by_registry(component.type->id)) continue;
      out.key(component.type->name);
      write_json(out, world.types(), *component.type, component.value.data(), world);
    }
    out.close_object().key("held").open_array();
    for (const session::HeldValue& held : about.held) {
      out.open_object().member("manager", held.manager).member("name", held.name).member("instance", held.instance);
      const TypeDescriptor* const type = type_of(world, held);
      if (type) {
        out.member("type", type->name).key("value");
        write_json(out, world.types(), *type, std::as_bytes(std::span(held.value)).data(), world);
      } else {
        out.member("bytes", bytes_text(held.value, held.value.size()));
      }
      out.close_object();
    }
    return print_line(out.close_array().member("held_left_out", about.held_left_out).close_object().text());
  }
  print_line(NamedEntity{about.entity, about.path}.text());
  if (about.parent) print_line("  parent    " + id_text(about.parent));
  if (about.child_count > 0) print_line("  children  " + std::to_string(about.child_count));
  for (const auto& component : shown.components) {
    if (is_kept_by_registry(component.type->id)) continue;
    print_line(component.type->name);
    print_fields(world, *component.type, component.value);
  }
  for (const session::HeldValue& held : about.held) {
    constexpr std::size_t shown_bytes = 32;
    const TypeDescriptor* const type = type_of(world, held);
    print_line("held by " + printable(held.manager) + ": " + printable(held.name) +
               (held.instance != 0 ? " #" + std::to_string(held.instance) : std::string()) +
               (type ? " (" + type->name + ')' : std::string()));
    if (type)
      print_fields(world, *type, std::as_bytes(std::span(held.value)));
    else
      print_line("  " + std::to_string(held.value.size()) + " bytes: " + bytes_text(held.value, shown_bytes));
  }
  if (about.held_left_out != 0)
    print_line("too large to be shown: " + std::to_string(about.held_left_out) + " more values of managers");
}

/// Returns a duration that at least the given fraction of all ticks did not exceed.
static std::uint64_t within_ns(const session::Load& load, double share) {
  std::uint64_t all = 0, seen = 0;
  for (const session::TimeCount& each : load.ticks) all += each.count;
  for (const session::TimeCount& each : load.ticks) {
    seen += each.count;
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) return std::min(each.below_ns, load.tick_ns_max);
  }
  return load.tick_ns_max;
}

/// Describes how much recent work a server crash can lose.
static std::string loss_text(const session::Info& info) {
  switch (info.durability) {
    case session::Durability::each_flush: return "some ms";
    case session::Durability::batched: return "a tenth of a second";
    case session::Durability::checkpoint: break;
  }
  return info.autosave_ns > 0 ? "the last " + seconds_text(info.autosave_ns) : "all since the last save";
}

void info(const Common& common, bool with_hash) {
  RemoteWorld world(connect(common.where));
  const session::Info info = must(world.client().ask(session::GetInfo{.hash = with_hash ? 1u : 0u}));
  const session::Load load = must(world.client().ask<session::GetLoad>());
  const std::string hash = hex(info.hash);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("world", info.world).member("server", info.server).member("entities", info.entities);
    out.member("types", info.types).member("sequence", info.sequence).member("clock_ns", info.clock_ns);
    out.member("hz", info.hz).member("sessions", info.sessions).member("watches", info.watches);
    out.member("playing", info.playing);
    out.member("uptime_ns", info.uptime_ns).member("processor_ns", load.processor_ns);
    out.member("memory_bytes", load.memory_bytes);
    if (!load.ticks.empty())
      out.member("tick_ns_half", within_ns(load, 0.5))
          .member("tick_ns_most", within_ns(load, 0.999))
          .member("tick_ns_max", load.tick_ns_max);
    out.key("plugins").open_array();
    for (const std::string& plugin : info.plugins) out.value(plugin);
    out.close_array();
    out.member("durable_sequence", info.durable_sequence).member("saved_sequence", info.saved_sequence);
    out.member("durability", session::name_of(info.durability)).member("autosave_ns", info.autosave_ns);
    out.member("error", info.error).member("save_error", info.save_error);
    if (with_hash) out.member("hash", hash);
    return print_line(out.close_object().text());
  }
  Columns columns({});
  columns.add({"world", info.world});
  columns.add({"server", info.server + ", up " + seconds_text(info.uptime_ns)});
  if (info.playing)
    columns.add({"run", "on; `muster stop` brings back the level of tick " + std::to_string(info.level_tick)});
  columns.add({"entities", std::to_string(info.entities)});
  columns.add({"types", std::to_string(info.types)});
  columns.add({"sequence", std::to_string(info.sequence)});
  const bool all = info.durable_sequence >= info.sequence;
  const std::string durable = "through sequence " + std::to_string(info.durable_sequence);
  if (info.error.empty())
    columns.add({"durable", (all ? "all of it" : durable) + "; a crash takes " + loss_text(info)});
  else
    columns.add({"durable", durable + ", and nothing after it"});
  if (!info.error.empty()) columns.add({"EDITS REFUSED", printable(info.error)});
  if (!info.save_error.empty() && info.error.empty()) columns.add({"not saved", printable(info.save_error)});
  columns.add({"clock", seconds_text(info.clock_ns)});
  columns.add({"ticks", info.hz > 0          ? number_text(info.hz) + " per second"
                        : load.ticks.empty() ? "none: it advances when something arrives"
                                             : "as its program makes them"});
  if (!load.ticks.empty()) {
    const auto ms = [](std::uint64_t ns) { return number_text(std::floor(static_cast<double>(ns) / 1000) / 1000); };
    columns.add({"a tick takes", "half of them less than " + ms(within_ns(load, 0.5)) +
                                     " ms of processor time, 99.9 % less than " + ms(within_ns(load, 0.999)) +
                                     " ms, the longest " + ms(load.tick_ns_max) + " ms"});
  }
  columns.add({"memory", std::to_string(load.memory_bytes >> 20) + " MiB"});
  columns.add({"sessions", std::to_string(info.sessions) + ", with " + std::to_string(info.watches) + " watches"});
  for (const std::string& plugin : info.plugins) columns.add({"plugin", printable(plugin)});
  if (with_hash) columns.add({"hash", hash});
  columns.print();
}

void timers(const Common& common) {
  RemoteWorld world(connect(common.where));
  JsonWriter out;
  out.open_array();
  Columns columns({"TIMER", "DUE IN", "MESSAGE", "TO", "COUNT"});
  session::PendingTimers page;
  session::ListTimers question;
  do {
    page = must(world.client().ask(question));
    for (std::size_t i = 0; i < page.timers.size(); ++i) {
      const TypeDescriptor* type = world.types().find(page.types[i]);
      const std::string message = type ? type->name : "#" + std::to_string(page.types[i]);
      const Entity to = page.targets[i];
      const std::uint64_t due = page.due_ns[i];
      columns.add({std::to_string(page.timers[i]), seconds_text(due > page.clock_ns ? due - page.clock_ns : 0), message,
                   to ? id_text(to) : "the world", std::to_string(page.counts[i])});
      out.open_object().member("timer", page.timers[i]).member("due_ns", due).member("message", message);
      if (to)
        out.member("to", id_text(to));
      else
        out.key("to").null();
      out.member("count", page.counts[i]).close_object();
    }
    if (page.timers.empty()) break;
    question.after_due_ns = page.due_ns.back();
    question.after_timer = page.timers.back();
  } while (page.more);
  if (common.json) return print_line(out.close_array().text());
  columns.print_or("no timed message waits");
}

void types(const Common& common, const std::string& name) {
  RemoteWorld world(connect(common.where));
  const TypeTable& table = world.types();
  if (!name.empty()) {
    // A component and a message may have the same last name; show both.
    const auto component = find_component(table, name);
    const auto message = find_message(table, name);
    if (!component && !message) fail(Exit::refused, component.error().text);
    if (component) show_type(common, table, **component);
    if (message) show_type(common, table, **message);
    return;
  }
  std::vector<const TypeDescriptor*> all;
  for (const TypeDescriptor* type : table.types())
    if (type->role != TypeRole::plain && !type->name.starts_with("muster.session.")) all.push_back(type);
  std::ranges::sort(all, {}, [](const TypeDescriptor* type) { return std::pair(type->role, type->name); });
  JsonWriter out;
  out.open_array();
  Columns columns({"KIND", "NAME", ""});
  for (const TypeDescriptor* type : all) {
    columns.add({role_name(*type), type->name, first_sentence(type->doc)});
    out.open_object().member("name", type->name).member("kind", role_name(*type)).close_object();
  }
  common.json ? print_line(out.close_array().text()) : columns.print();
}

}  // namespace muster::cli
