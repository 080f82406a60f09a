#include "server/desk/questions.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "messages/row_set.h"
#include "registry/entity_registry.h"
#include "server/desk/template_questions.h"

namespace muster {
namespace {

constexpr std::uint32_t rows_default = 1000;

std::uint32_t rows_allowed(std::uint32_t asked, const ServerLimits& limits) {
  return std::min(asked == 0 ? rows_default : asked, limits.rows_max);
}

std::string id_text(Entity e) { return "#" + std::to_string(e.index) + ":" + std::to_string(e.generation); }

void refuse_dead(Session& to, std::uint64_t request, Entity e, const char* field) {
  session::Fault fault =
      fault_of(session::FaultCode::dead_entity, "dead_entity", "no entity " + id_text(e) + " is alive");
  fault.entity = e;
  fault.field = field;
  to.outgoing->fault(fault, request);
}

void list_children(const EntityRegistry& registry, const ServerLimits& limits, Session& to, std::uint64_t request,
                   const session::ListChildren& asked) {
  if (asked.entity && !registry.alive(asked.entity)) return refuse_dead(to, request, asked.entity, "entity");
  session::Children children;
  children.sequence = registry.sequence();
  children.entity = asked.entity;
  children.offset = asked.offset;
  const std::uint32_t rows = rows_allowed(asked.limit, limits);
  const auto add = [&](Entity child) {
    const auto components = registry.components(child);
    children.entities.push_back(child);
    children.names.emplace_back(registry.name(child));
    children.child_counts.push_back(registry.child_count(child));
    children.component_counts.push_back(static_cast<std::uint32_t>(components.size()));
    children.components.insert(children.components.end(), components.begin(), components.end());
  };
  if (asked.entity) {
    children.total = registry.child_count(asked.entity);
    std::uint32_t place = 0;
    for (Entity child = registry.first_child(asked.entity); child && children.entities.size() < rows;
         child = registry.next_sibling(child))
      if (place++ >= asked.offset) add(child);
  } else {  // roots have no order of their own: by id, so that parts fit together
    std::vector<Entity> roots;
    for (const auto& archetype : registry.storage().archetypes())
      if (archetype && !archetype->groups.empty())
        for (const Chunk* chunk : archetype->groups.front().chunks)
          roots.insert(roots.end(), chunk->ids(), chunk->ids() + chunk->count);
    children.total = static_cast<std::uint32_t>(roots.size());
    const std::size_t first = std::min<std::size_t>(asked.offset, roots.size());
    const std::size_t last = std::min<std::size_t>(first + rows, roots.size());
    std::ranges::partial_sort(roots, roots.begin() + static_cast<std::ptrdiff_t>(last));
    for (std::size_t i = first; i < last; ++i) add(roots[i]);
  }
  answer(to, request, children);
}

/// The names of a path, unescaped, the last one first.
std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size())
      names.back() += path[++i];
    else if (path[i] == '/')
      names.emplace_back();
    else
      names.back() += path[i];
  }
  std::ranges::reverse(names);
  return names;
}

void resolve(const EntityRegistry& registry, const ServerLimits& limits, Session& to, std::uint64_t request,
             const session::Resolve& asked) {
  if (asked.path.empty()) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, "bad_question", "an empty path names nothing");
    fault.field = "path";
    return to.outgoing->fault(fault, request);
  }
  session::Found found;
  found.sequence = registry.sequence();
  const auto add = [&](Entity e) {
    found.entities.push_back(e);
    found.paths.push_back(registry.path(e));
  };
  if (asked.path.front() == '/') {
    if (const Entity e = registry.find_path(asked.path)) add(e);
  } else {
    // "tower" or "north/tower": wherever the end of a path is so.
    const std::vector<std::string> names = split_path(asked.path);
    std::vector<Entity> fitting;
    registry.each_entity([&](Entity e) {
      Entity at = e;
      for (const std::string& name : names) {
        if (!at || registry.name(at) != name) return;
        at = registry.parent(at);
      }
      fitting.push_back(e);
    });
    std::ranges::sort(fitting);
    const std::uint32_t rows = rows_allowed(asked.limit, limits);
    found.more = fitting.size() > rows;
    if (found.more) fitting.resize(rows);
    for (const Entity e : fitting) add(e);
  }
  answer(to, request, found);
}

bool contains_folded(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

void find(const EntityRegistry& registry, const ServerLimits& limits, Session& to, std::uint64_t request,
          const session::Find& asked) {
  if (asked.under && !registry.alive(asked.under)) return refuse_dead(to, request, asked.under, "under");
  for (const TypeId component : asked.components) {
    const TypeDescriptor* type = registry.types().find(component);
    if (type && type->role == TypeRole::component) continue;
    session::Fault fault =
        fault_of(session::FaultCode::unknown_type, "unknown_type",
                 type ? type->name + " is no component" : "no type has the id " + std::to_string(component));
    fault.field = "components";
    fault.type = component;
    return to.outgoing->fault(fault, request);
  }
  const auto below = [&](Entity e) {
    for (; e; e = registry.parent(e))
      if (e == asked.under) return true;
    return false;
  };
  std::vector<Entity> fitting;
  registry.each_entity([&](Entity e) {
    if (e <= asked.after) return;
    for (const TypeId component : asked.components)
      if (!registry.find(e, component)) return;
    if (!asked.name.empty() && !contains_folded(registry.name(e), asked.name)) return;
    if (asked.under && !below(e)) return;
    fitting.push_back(e);
  });
  session::Found found;
  found.sequence = registry.sequence();
  const std::size_t rows = std::min<std::size_t>(rows_allowed(asked.limit, limits), fitting.size());
  found.more = rows < fitting.size();
  std::ranges::partial_sort(fitting, fitting.begin() + static_cast<std::ptrdiff_t>(rows));
  fitting.resize(rows);
  for (const Entity e : fitting) found.paths.push_back(registry.path(e));
  found.entities = std::move(fitting);
  answer(to, request, found);
}

void show(const EntityRegistry& registry, Session& to, std::uint64_t request, Entity e) {
  if (!registry.alive(e)) return refuse_dead(to, request, e, "entity");
  session::Shown shown;
  shown.sequence = registry.sequence();
  shown.clock_ns = registry.now_ns();
  shown.entity = e;
  shown.parent = registry.parent(e);
  shown.name = registry.name(e);
  shown.path = registry.path(e);
  shown.depth = registry.depth(e);
  shown.child_count = registry.child_count(e);
  const auto components = registry.components(e);
  shown.components.assign(components.begin(), components.end());

  std::vector<PayloadShape> shapes;
  for (const TypeId component : components) {
    const TypeDescriptor* type = registry.types().find(component);
    if (!type || shapes.size() == row_set_components_max) continue;
    shapes.push_back(PayloadShape::of(*type));
  }
  answer(to, request, shown, shapes.empty() ? 0 : std::uint32_t{frame_more});
  if (shapes.empty()) return;
  BatchBuilder builder;
  const RowSet rows(PayloadShape::of<Set>(), shapes);
  std::byte* payload = builder.append_rows(rows, e);
  const Set set{};
  std::memcpy(payload, &set, sizeof set);
  for (const PayloadShape& shape : shapes) {
    const auto* stored = registry.storage().component(shape.type);
    if (!stored || stored->saved_size() == 0) continue;  // a tag, or a runtime component
    const std::byte* value = registry.find(e, shape.type);
    std::memcpy(payload + rows.offset(shape.type), value, stored->size);
    send_texts(to, registry, *stored->descriptor, value);
  }
  to.outgoing->control(builder.bytes(), request);
}

void get_text(const EntityRegistry& registry, Session& to, std::uint64_t request, Text text) {
  const std::string_view bytes = registry.text(text);
  if (bytes.empty())
    return to.outgoing->fault(fault_of(session::FaultCode::not_found, "unknown_text",
                                       "the world knows no text of hash " + std::to_string(text.hash)),
                              request);
  to.texts_sent.insert(text.hash);
  answer(to, request, InternText{.text = std::string(bytes)});
}

}  // namespace

bool answer_question(EntityRegistry& registry, const ServerLimits& limits, Session& to, std::uint64_t request,
                     BatchView question) {
  switch (question.type()) {
    case TypeTraits<session::ListChildren>::id:
      list_children(registry, limits, to, request, session::read<session::ListChildren>(question));
      return true;
    case TypeTraits<session::Resolve>::id:
      resolve(registry, limits, to, request, session::read<session::Resolve>(question));
      return true;
    case TypeTraits<session::Find>::id:
      find(registry, limits, to, request, session::read<session::Find>(question));
      return true;
    case TypeTraits<session::Show>::id:
      show(registry, to, request, session::read<session::Show>(question).entity);
      return true;
    case TypeTraits<session::GetText>::id:
      get_text(registry, to, request, Text{session::read<session::GetText>(question).hash});
      return true;
    default: return answer_template_question(registry, to, request, question);
  }
}

}  // namespace muster
