#include "client/cli/remote_world.h"

#include "client/cli/print.h"

#include <algorithm>

#include "client/cli/failure.h"
#include "schema/hash.h"

namespace muster::cli {

Exit exit_of(const ClientError& error) {
  using session::FaultCode;
  switch (error.kind) {
    case ClientError::Kind::refused: return Exit::refused;
    case ClientError::Kind::mistaken: return Exit::usage;
    case ClientError::Kind::late: return Exit::unreachable;
    case ClientError::Kind::lost: break;
  }
  // If a message caused the server to end the session, the message is reported as refused.
  // Otherwise, the connection is reported as lost.
  switch (error.fault.code) {
    case FaultCode::bad_frame:
    case FaultCode::bad_batch:
    case FaultCode::wrong_direction:
    case FaultCode::limit_exceeded: return Exit::refused;
    default: return Exit::unreachable;
  }
}

Interruptions::Change Interruptions::next(const Client& client) {
  const auto why = client.interruption();
  if (why.has_value() == is_lost_) return Change::none;
  is_lost_ = why.has_value();
  if (!is_lost_) return Change::back;
  text_ = "the connection is lost: " + why->text + "; trying again for up to " +
          seconds_text(client.welcome().resume_ns_max);
  return Change::lost;
}

std::string UserNames::name(std::uint64_t user) {
  if (user == 0) return "somebody with the server's token";
  if (!names_) {
    names_.emplace();
    if (const auto all = world_.client().ask<session::ListSessions>())
      for (std::size_t i = 0; i < all->users.size(); ++i) names_->emplace(all->users[i], all->names[i]);
  }
  const auto known = names_->find(user);
  return known == names_->end() ? "user " + std::to_string(user) : printable(known->second);
}

bool is_kept_by_registry(TypeId component) {
  return component == TypeTraits<Name>::id || component == TypeTraits<ChildOf>::id;
}

std::string NamedEntity::text() const {
  if (!entity) return "/";
  return path.empty() ? id_text(entity) : printable(path) + " (" + id_text(entity) + ")";
}

NamedEntity RemoteWorld::find(std::string_view text) {
  // An escaped slash is part of a name, not a separator between names.
  const auto ends_with_separator = [](std::string_view path) {
    if (path.size() <= 1 || !path.ends_with('/')) return false;
    const std::size_t last = path.find_last_not_of('\\', path.size() - 2);
    const std::size_t escapes = path.size() - 2 - (last == std::string_view::npos ? std::size_t(-1) : last);
    return escapes % 2 == 0;
  };
  while (ends_with_separator(text)) text.remove_suffix(1);
  if (text.empty()) fail(Exit::usage, "an empty text is not an entity: use a path, a name or an id");
  if (text == "/") fail(Exit::usage, "/ is the whole world, not an entity");
  if (Entity id; parse_id(text.starts_with('#') ? text.substr(1) : text, id)) {
    const ShownEntity shown = must(client_.show(id));
    return {id, shown.about.path};
  }
  constexpr std::uint32_t listed = 20;
  const session::Found found = must(client_.ask(session::Resolve{.path = std::string(text), .limit = listed}));
  if (found.entities.size() == 1) return {found.entities[0], found.paths[0]};
  if (found.entities.empty()) missing(text);
  std::string several = "\"" + printable(text) + "\" is ambiguous: " + (found.more ? "more than " : "") +
                        std::to_string(found.entities.size()) + " entities have this name; use a path or an id";
  for (std::size_t i = 0; i < found.entities.size(); ++i)
    several += "\n  " + id_text(found.entities[i]) + "  " + printable(found.paths[i]);
  fail(Exit::refused, several);
}

NamedEntity RemoteWorld::find_or_root(std::string_view text) {
  if (text == "/") return {{}, "/"};
  return find(text);
}

void RemoteWorld::missing(std::string_view text) {
  const std::string what = "no entity " + printable(text);
  if (!text.starts_with('/')) {
    session::Find alike;
    alike.name = text;
    alike.limit = 5;
    const session::Found found = must(client_.ask(alike));
    if (found.entities.empty()) fail(Exit::refused, what + " in this world");
    std::string names;
    for (std::size_t i = 0; i < found.entities.size(); ++i)
      names += "\n  " + id_text(found.entities[i]) + "  " + printable(found.paths[i]);
    fail(Exit::refused, what + " in this world; names that contain it:" + names + (found.more ? "\n  ..." : ""));
  }
  // Determine which part of the path does not exist.
  NamedEntity parent{{}, "/"};
  std::size_t begin = 1;
  while (true) {
    std::size_t end = begin;
    while (end < text.size() && text[end] != '/') end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    const session::Found step =
        must(client_.ask(session::Resolve{.path = std::string(text.substr(0, end)), .limit = 1}));
    if (step.entities.empty() || end == text.size()) {
      const std::string_view part = text.substr(begin, end - begin);
      std::vector<std::string> names;
      each_child(parent.entity, [&](const Child& child) { names.push_back(child.name); });
      const std::vector<std::string_view> known(names.begin(), names.end());
      const std::string near = nearest_name(part, known);
      fail(Exit::refused, what + ": " + (parent.entity ? printable(parent.path) : std::string("the world")) +
                              " has no child \"" + printable(part) + "\"" +
                              (near.empty() ? "" : "; did you mean \"" + printable(near) + "\"?"));
    }
    parent = {step.entities[0], step.paths[0]};
    begin = end + 1;
  }
}

void RemoteWorld::each_child(Entity of, const std::function<void(const Child&)>& f) {
  for (std::uint32_t offset = 0;;) {
    const session::Children page = must(client_.ask(session::ListChildren{.entity = of, .offset = offset}));
    std::size_t component = 0;
    for (std::size_t i = 0; i < page.entities.size(); ++i) {
      Child child{page.entities[i], page.names[i], page.child_counts[i], {}};
      for (std::uint32_t n = page.component_counts[i]; n > 0; --n)
        child.components.push_back(page.components[component++]);
      // The order of type ids is meaningless to users, so sort the components by name.
      std::ranges::sort(child.components, {}, [this](TypeId id) {
        const TypeDescriptor* type = types().find(id);
        return type ? std::string_view(type->name) : std::string_view();
      });
      f(child);
    }
    offset += static_cast<std::uint32_t>(page.entities.size());
    if (page.entities.empty() || offset >= page.total) return;
  }
}

std::vector<Entity> RemoteWorld::grant(std::size_t count) {
  constexpr std::size_t at_once = 1u << 15;
  std::vector<Entity> ids;
  ids.reserve(count);
  while (ids.size() < count) {
    session::RequestGrant request;
    request.count = static_cast<std::uint32_t>(std::min(count - ids.size(), at_once));
    const session::Granted granted = must(client_.ask(request));
    for (std::uint32_t i = 0; i < granted.count; ++i) ids.push_back({granted.first + i, 1});
  }
  return ids;
}

void RemoteWorld::wait_until_durable(const Common& common, std::uint64_t sequence) {
  if (!common.durable) return;
  const auto durable = client_.wait_durable(sequence);
  if (!durable)
    fail(exit_of(durable.error()),
         "applied, as sequence " + std::to_string(sequence) + ", but " + durable.error().text);
}

std::string RemoteWorld::component_names(const std::vector<TypeId>& components) const {
  std::string names;
  for (const TypeId id : components) {
    if (is_kept_by_registry(id)) continue;
    const TypeDescriptor* type = types().find(id);
    names += (names.empty() ? "" : ", ") + (type ? type->name : "#" + std::to_string(id));
  }
  return names;
}

std::string RemoteWorld::text(Text text) {
  if (!text) return {};
  if (const std::string_view known = client_.text(text); !known.empty()) return std::string(known);
  const auto answer = client_.ask(session::GetText{.hash = text.hash});
  if (answer) return answer->text;
  return "#" + std::to_string(text.hash);
}

ValueResult<Text> RemoteWorld::intern(std::string_view text) {
  if (!holds_texts_ || text.empty()) return found_text(client_.intern(text));
  held_texts_.emplace_back(text);
  return Text{hash64(text)};
}

Text RemoteWorld::found_text(Result<Text> text) { return must(std::move(text)); }

}  // namespace muster::cli
