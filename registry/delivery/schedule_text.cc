// Describes a schedule as text and as a graph.
#include <algorithm>
#include <deque>

#include "messages/type_table.h"
#include "registry/delivery/schedule.h"
#include "registry/handlers/handler_table.h"
#include "schema/quoted.h"

namespace muster {

namespace {

std::string called(const Handler& h) {
  return h.name.empty() ? "the unnamed handler (subscription " + std::to_string(h.ordinal) + ")" : quoted(h.name, '"');
}

bool finds_others(const Handler& h) noexcept {
  return std::ranges::any_of(h.terms, [](const Term& term) { return term.source != Source::self; });
}

class Words {
 public:
  Words(const MessageRoute& route, const TypeTable& types)
      : route_(route), types_(types), schedule_(make_schedule(route.active)) {}

  std::string dot() const;
  std::string groups() const;
  std::string why(std::string_view first, std::string_view second) const;

 private:
  using Node = PassSchedule::Node;
  std::string name(TypeId type) const {
    const TypeDescriptor* known = types_.find(type);
    return known ? known->name : "type " + std::to_string(type);
  }
  /// Returns a phrase such as " from its nearest ancestor", or an empty string for the entity's own
  /// row.
  std::string of(Source source, TypeId anchor) const {
    switch (source) {
      case Source::self: return {};
      case Source::parent: return " from its nearest ancestor";
      case Source::self_or_parent: return " from itself or its nearest ancestor";
      case Source::parent_with: return " from its nearest ancestor with " + name(anchor);
      case Source::up_to: return " from itself or its nearest ancestor, up to the nearest with " + name(anchor);
      case Source::any: return " from any entity, by id";
      case Source::other: return " from the entity that the message names, or its ancestors";
    }
    return {};
  }
  std::string reason(const Conflict& conflict, const Handler& first, const Handler& second) const;
  std::string order_reason(const Handler& first, const Handler& second) const;
  std::string split(const Node& node) const;
  const Node* find(std::string_view name) const {
    const auto at = std::ranges::find_if(schedule_.nodes, [&](const Node& n) { return n.handler->name == name; });
    return at == schedule_.nodes.end() ? nullptr : &*at;
  }
  std::string not_there(std::string_view name) const;
  std::uint32_t number(const Node& node) const { return static_cast<std::uint32_t>(&node - schedule_.nodes.data()); }
  /// Returns the shortest path of conflicts between an earlier and a later handler, or an empty
  /// path.
  std::vector<std::uint32_t> way(std::uint32_t from, std::uint32_t to) const;
  /// Returns, for each node number, whether any of `nodes` waits for that node, directly or
  /// indirectly.
  std::vector<bool> waited_for_by(std::vector<std::uint32_t> nodes) const;

  const MessageRoute& route_;
  const TypeTable& types_;
  const PassSchedule schedule_;
};

std::string Words::reason(const Conflict& c, const Handler& first, const Handler& second) const {
  switch (c.kind) {
    case ConflictKind::component: {
      if (c.first_writes && c.second_writes) return "both write " + name(c.component);
      const Handler& writer = c.first_writes ? first : second;
      const Handler& reader = c.first_writes ? second : first;
      return called(writer) + " writes " + name(c.component) + ", which " + called(reader) + " reads" +
             (c.first_writes ? of(c.second_source, c.second_anchor) : of(c.first_source, c.first_anchor));
    }
    case ConflictKind::external:
      if (c.first_writes && c.second_writes) return "both write the external resource " + quoted(c.resource, '"');
      return called(c.first_writes ? first : second) + " writes the external resource " + quoted(c.resource, '"') +
             ", which " + called(c.first_writes ? second : first) + " reads";
    case ConflictKind::hidden_state:
      return "both have private state (captures, an object, on_begin) and declare no external reads or writes";
    case ConflictKind::ids:
      if (c.first_writes && c.second_writes) return "both take a Spawner, which issues ids in sequence";
      return called(c.first_writes ? first : second) + " takes a Spawner, which issues ids, and " +
             called(c.first_writes ? second : first) +
             (finds_others(c.first_writes ? second : first) ? " looks up other entities by id"
                                                            : " has state and may check which entities are alive");
  }
  return {};
}

std::string Words::order_reason(const Handler& first, const Handler& second) const {
  const auto says = [](const std::vector<std::string>& list, const Handler& h) {
    return !h.name.empty() && std::ranges::find(list, h.name) != list.end();
  };
  const int a = first.options.priority, b = second.options.priority;
  if (says(first.options.before, second)) return called(first) + " has before = " + quoted(second.name, '"');
  if (says(second.options.after, first)) return called(second) + " has after = " + quoted(first.name, '"');
  if (a < b) return "its priority is " + std::to_string(a) + " and the other's is " + std::to_string(b);
  if (a == b && first.name < second.name) return "its name comes first";
  if (a == b && first.name == second.name) return "it was subscribed first";
  return "handlers between them use before or after";
}

std::string Words::split(const Node& node) const {
  const Handler& h = *node.handler;
  const Splitting& s = node.splitting;
  switch (s.split) {
    case Split::rows: return "split over its rows";
    case Split::branches: {
      TypeId anchor = 0;
      for (const Term& term : h.terms)
        if (term.type == s.component && term.source == s.source) anchor = term.anchor;
      return "split over branches, parents before children: it writes " + name(s.component) + " and reads it" +
             of(s.source, anchor);
    }
    case Split::whole: break;
  }
  switch (s.because) {
    case WholeBecause::once: return "not split: it takes no entity and is called once";
    case WholeBecause::spawns: return "not split: it takes a Spawner, which issues ids in sequence";
    case WholeBecause::hidden_state:
      return "not split: it has private state (captures, an object) and declares no external reads or writes";
    case WholeBecause::external_write:
      return "not split: it writes the external resource " + quoted(h.options.external_writes.front(), '"');
    case WholeBecause::reads_by_id:
      return "not split: it writes " + name(s.component) + " and reads it" + of(s.source, 0);
    case WholeBecause::splits: break;
  }
  return {};
}

std::string Words::not_there(std::string_view name) const {
  for (const Handler* h : route_.order)
    if (h->name == name) return quoted(name, '"') + " is disabled\n";
  return "no handler of " + route_.type->name + " is named " + quoted(name, '"') + "\n";
}

std::vector<std::uint32_t> Words::way(std::uint32_t from, std::uint32_t to) const {
  constexpr std::uint32_t unseen = ~0u;
  std::vector<std::uint32_t> next(schedule_.nodes.size(), unseen);  // toward `to`
  std::deque<std::uint32_t> open{to};
  while (!open.empty()) {
    const std::uint32_t at = open.front();
    open.pop_front();
    // Considers all conflicts, because a schedule omits those that are implied by others.
    for (std::uint32_t earlier = 0; earlier < at; ++earlier)
      if (next[earlier] == unseen &&
          !conflicts(*schedule_.nodes[earlier].handler, *schedule_.nodes[at].handler).empty()) {
        next[earlier] = at;
        open.push_back(earlier);
      }
  }
  std::vector<std::uint32_t> nodes;
  if (next[from] == unseen) return nodes;
  for (std::uint32_t at = from; at != to; at = next[at]) nodes.push_back(at);
  nodes.push_back(to);
  return nodes;
}

std::vector<bool> Words::waited_for_by(std::vector<std::uint32_t> nodes) const {
  std::vector<bool> found(schedule_.nodes.size());
  while (!nodes.empty()) {
    const std::uint32_t at = nodes.back();
    nodes.pop_back();
    for (const std::uint32_t earlier : schedule_.nodes[at].earlier)
      if (!found[earlier]) {
        found[earlier] = true;
        nodes.push_back(earlier);
      }
  }
  return found;
}

std::string Words::why(std::string_view first, std::string_view second) const {
  const Node* a = find(first);
  const Node* b = find(second);
  if (!a || !b) return not_there(a ? second : first);
  if (a == b) return called(*a->handler) + " is " + split(*a) + "\n";
  if (number(*b) < number(*a)) std::swap(a, b);
  const std::string both = called(*a->handler) + " and " + called(*b->handler);
  const std::vector<std::uint32_t> nodes = way(number(*a), number(*b));
  if (nodes.empty()) return both + " may overlap: neither writes what the other reads or writes\n";
  std::string text = both + " do not overlap:\n";
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Handler& before = *schedule_.nodes[nodes[i]].handler;
    const Handler& after = *schedule_.nodes[nodes[i + 1]].handler;
    if (nodes.size() > 2) text += "  " + called(after) + " waits for " + called(before) + ":\n";
    const char* indent = nodes.size() > 2 ? "    " : "  ";
    for (const Conflict& conflict : conflicts(before, after)) text += indent + reason(conflict, before, after) + "\n";
    text += indent + called(before) + " runs first: " + order_reason(before, after) + "\n";
  }
  return text;
}

std::string Words::groups() const {
  const std::size_t count = schedule_.nodes.size();
  std::string text = route_.type->name + ": " + std::to_string(count) +
                     (count == 1 ? " handler in " : " handlers in ") + std::to_string(schedule_.groups) +
                     (schedule_.groups == 1 ? " group\n" : " groups\n");
  for (std::uint32_t group = 0; group < schedule_.groups; ++group) {
    std::uint32_t members = 0;
    for (const Node& node : schedule_.nodes) members += node.group == group;
    text += "group " + std::to_string(group + 1) + (members > 1 ? ", may overlap:\n" : ":\n");
    for (const Node& node : schedule_.nodes)
      if (node.group == group) text += "  " + called(*node.handler) + " is " + split(node) + "\n";
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string Words::dot() const {
  std::string text = "digraph \"" + route_.type->name + "\" {\n  node [shape=box];\n";
  for (const Node& node : schedule_.nodes) {
    const Handler& h = *node.handler;
    std::vector<std::string> lines{h.name.empty() ? "subscription " + std::to_string(h.ordinal) : h.name};
    for (const Term& term : h.terms)
      if (term.value)
        lines.push_back((term.access == Access::write ? "writes " : "reads ") + name(term.type) +
                        of(term.source, term.anchor));
    for (const std::string& resource : h.options.external_reads) lines.push_back("reads external " + resource);
    for (const std::string& resource : h.options.external_writes) lines.push_back("writes external " + resource);
    if (h.spawns) lines.push_back("issues ids");
    lines.push_back(node.splitting.split == Split::rows       ? "split over rows"
                    : node.splitting.split == Split::branches ? "split over branches"
                                                              : "not split");
    text += "  h" + std::to_string(number(node)) + " [label=\"";
    for (const std::string& line : lines) text += escaped(line) + "\\n";
    text += "\"];\n";
  }
  for (const Node& node : schedule_.nodes) {
    const std::vector<bool> implied = waited_for_by(node.earlier);
    for (const std::uint32_t earlier : node.earlier) {
      // Skips edges that are implied by a path through a third handler.
      if (implied[earlier]) continue;
      const Handler& before = *schedule_.nodes[earlier].handler;
      text += "  h" + std::to_string(earlier) + " -> h" + std::to_string(number(node)) + " [label=\"" +
              escaped(reason(conflicts(before, *node.handler).front(), before, *node.handler)) + "\"];\n";
    }
  }
  return text + "}\n";
}

}  // namespace

std::string schedule_as_dot(const MessageRoute& route, const TypeTable& types) { return Words(route, types).dot(); }
std::string schedule_as_groups(const MessageRoute& route, const TypeTable& types) {
  return Words(route, types).groups();
}
std::string why_apart(const MessageRoute& route, const TypeTable& types, std::string_view first,
                      std::string_view second) {
  return Words(route, types).why(first, second);
}

}  // namespace muster
