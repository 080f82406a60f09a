// Actions in words.
#include <algorithm>

#include "tests/model/steps/actions.h"
#include "tests/model/trial_types.h"

namespace naive {

using namespace trial;

namespace {

std::string show(Entity e) {
  return e ? "#" + std::to_string(e.index) + ":" + std::to_string(e.generation) : std::string("nil");
}

std::string show_type(TypeId type) {
  const auto at = trial_types().find(type);
  return at == trial_types().end() ? "type " + std::to_string(type) : at->second.name;
}

}  // namespace

namespace {

std::string show(const RowValues& rows) {
  std::string text = "{";
  for (const auto& [type, value] : rows) text += (text.size() > 1 ? ", " : "") + show_type(type);
  return text + "}";
}

std::string show(const TemplateSpec& spec) {
  const auto node = [](auto&& self, const TemplateNode& from) -> std::string {
    std::string text = "'" + from.name + "' {";
    for (const auto& [type, part] : from.components)
      text += " " + show_type(type) + (part.refers.empty() ? "" : "->" + std::to_string(part.refers.begin()->second));
    for (const auto& [type, part] : from.messages) text += " !" + show_type(type);
    for (const TemplateNode& child : from.children) text += " " + self(self, child);
    return text + "}";
  };
  return spec.name + (spec.forgets ? " (forgotten)" : " " + node(node, spec.root));
}

std::string details(const Message& message) {
  const Bytes& p = message.payload;
  const auto n = [](auto value) { return std::to_string(value); };
  if (message.type == id_of<Hit>) return " amount=" + n(as<Hit>(p).amount) + " from=" + show(as<Hit>(p).from);
  if (message.type == id_of<Turn>)
    return " way=" + n(as<Turn>(p).way) + " seed=" + n(as<Turn>(p).seed) + " other=" + show(as<Turn>(p).other);
  if (message.type == id_of<Grow>) return " children=" + n(as<Grow>(p).children) + " seed=" + n(as<Grow>(p).seed);
  if (message.type == id_of<Alarm>)
    return " way=" + n(as<Alarm>(p).way) + " delay=" + n(as<Alarm>(p).delay_ns) + " timer=" + n(as<Alarm>(p).timer);
  if (message.type == id_of<Chain>) return " hops=" + n(as<Chain>(p).hops) + " to=" + show(as<Chain>(p).to);
  if (message.type == id_of<muster::Create>) {
    const auto m = as<muster::Create>(p);
    return " parent=" + show(m.parent) + " before=" + show(m.before) + " name=" + n(m.name.hash) +
           (m.clash == muster::NameClash::suffix ? " suffix" : "");
  }
  if (message.type == id_of<muster::Reparent>)
    return " parent=" + show(as<muster::Reparent>(p).parent) + " before=" + show(as<muster::Reparent>(p).before);
  if (message.type == id_of<muster::Rename>) return " name=" + n(as<muster::Rename>(p).name.hash);
  if (message.type == id_of<muster::Set>) return " mode=" + n(static_cast<int>(as<muster::Set>(p).mode));
  if (message.type == id_of<muster::Remove>) return " component=" + show_type(as<muster::Remove>(p).component);
  if (message.type == id_of<muster::SetField> || message.type == id_of<muster::SetFieldIf>) {
    const auto m = as<muster::SetField>(p);
    return " component=" + show_type(m.component) + " field=" + n(m.field) + " bytes=" + n(m.bytes) +
           " value[0]=" + n(m.value[0]);
  }
  if (message.type == id_of<muster::CancelTimer>) return " timer=" + n(as<muster::CancelTimer>(p).timer);
  if (message.defines) return " " + show(*message.defines);
  if (message.type == id_of<Raise>) return " what=" + n(as<Raise>(p).what) + " way=" + n(as<Raise>(p).way);
  if (message.type == id_of<Enlist>) return " way=" + n(as<Enlist>(p).way) + " seed=" + n(as<Enlist>(p).seed);
  if (message.type == id_of<muster::Spawn>) {
    const auto m = as<muster::Spawn>(p);
    return " what=" + n(m.what.hash) + " parent=" + show(m.parent) + " before=" + show(m.before) +
           " name=" + n(m.name.hash) + (m.clash == muster::NameClash::suffix ? " suffix" : "");
  }
  if (message.is_table) return "";
  if (p.size() >= 4) return " " + n(as<std::uint32_t>(p));
  return "";
}

}  // namespace

std::string describe(const Message& message) {
  std::string text = show_type(message.type) + (message.to == Message::To::later ? std::string() : details(message));
  if (message.has_rows) text += " " + show(message.rows);
  switch (message.to) {
    case Message::To::one: text += " to " + show(message.targets.empty() ? Entity{} : message.targets[0]); break;
    case Message::To::span:
      text += " to each of";
      for (std::size_t i = 0; i < std::min<std::size_t>(message.targets.size(), 12); ++i)
        text += " " + show(message.targets[i]);
      if (message.targets.size() > 12) text += " and others, " + std::to_string(message.targets.size()) + " in all";
      break;
    case Message::To::world: text += " to the world"; break;
    case Message::To::line:
      text += " to parts " + std::to_string(message.parts) + " of " + show(message.targets[0]);
      break;
    case Message::To::later:
      text = "at " + std::to_string(message.due_ns) + " (timer " + std::to_string(message.timer) + ")";
      for (const Message& inner : message.inner) text += ": " + describe(inner);
      break;
  }
  return text;
}

const char* name(Do what) {
  static constexpr const char* all[] = {"push",
                                        "post",
                                        "post_at",
                                        "push_batch",
                                        "post_batch",
                                        "put into a lane",
                                        "flush",
                                        "advance",
                                        "cancel",
                                        "create",
                                        "create_many",
                                        "destroy",
                                        "set",
                                        "remove",
                                        "reparent",
                                        "rename",
                                        "intern",
                                        "grant",
                                        "return_grant",
                                        "subscribe",
                                        "unsubscribe",
                                        "spawn",
                                        "merge",
                                        "define a template",
                                        "enable",
                                        "dismiss",
                                        "sweep",
                                        "hand a manager over",
                                        "forget a runtime component",
                                        "save and load",
                                        "push_batch of several",
                                        "post_batch of several",
                                        "put several into a lane",
                                        "post a flood"};
  return all[static_cast<std::size_t>(what)];
}

std::string describe(const Action& a) {
  std::string text = name(a.what);
  switch (a.what) {
    case Do::push:
    case Do::post: return text + " " + describe(a.message);
    case Do::post_later: return text + " " + std::to_string(a.number) + ": " + describe(a.message);
    case Do::push_batch:
    case Do::post_batch:
    case Do::put:
      text += a.what == Do::put ? " " + std::to_string(a.lane) : " session " + std::to_string(a.session);
      for (const Message& message : a.batch) text += "\n        " + describe(message);
      return text;
    case Do::push_several:
    case Do::post_several:
    case Do::put_several:
      text += a.what == Do::put_several ? " " + std::to_string(a.lane) : " session " + std::to_string(a.session);
      text += ", " + std::to_string(a.batches.size()) + " batches";
      for (std::size_t i = 0; i < a.batches.size(); ++i)
        for (const Message& message : a.batches[i]) text += "\n        " + std::to_string(i) + ": " + describe(message);
      return text;
    case Do::flood: return text + " of " + std::to_string(a.number) + ": " + describe(a.message);
    case Do::create: return text + " '" + a.text + "' under " + show(a.parent) + " " + show(a.rows);
    case Do::create_many: return text + " " + std::to_string(a.number) + " " + show(a.rows);
    case Do::set: return text + " " + show(a.target) + " " + show(a.rows);
    case Do::remove: return text + " " + show(a.target) + " " + show_type(a.component);
    case Do::reparent: return text + " " + show(a.target) + " under " + show(a.parent) + " before " + show(a.before);
    case Do::rename: return text + " " + show(a.target) + " '" + a.text + "'";
    case Do::subscribe: {
      text += " '" + a.text + "' (" + handler_kinds()[a.kind].name + ") priority " + std::to_string(a.options.priority);
      for (const auto& other : a.options.before) text += " before " + other;
      for (const auto& other : a.options.after) text += " after " + other;
      return text;
    }
    case Do::spawn:
      return text + " " + std::to_string(a.number) + " " + a.text + " '" + a.name + "' under " + show(a.parent) +
             " before " + show(a.before) + " " + show(a.rows);
    case Do::merge: return text + " " + a.text + " over " + show(a.target);
    case Do::define:
      if (a.how == DefineFrom::entity) text += " of " + show(a.target);
      if (a.how == DefineFrom::base)
        text += " from " + a.text + " without " + show_type(a.component) + " and " + show(*a.over);
      return text + " " + show(*a.spec);
    case Do::enable: return text + " '" + a.text + "' " + std::to_string(a.number);
    case Do::destroy: return text + " " + show(a.target);
    case Do::intern: return text + " '" + a.text + "'";
    case Do::return_grant: return text + " " + show(a.target) + " and on, " + std::to_string(a.number);
    case Do::flush:
    case Do::reload: return text;
    default: return text + " " + std::to_string(a.number);
  }
}

}  // namespace naive
