#include "registry/delivery/unknown_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "schema/edit_distance.h"

namespace muster {
namespace {

constexpr std::size_t said_max = 16;
constexpr std::size_t compared_bytes_max = 64;

/// Returns true if at most two edits turn one string into the other. Returns false if either string
/// has fewer than 4 or more than 64 bytes.
bool look_alike(std::string_view a, std::string_view b) {
  constexpr std::size_t changes_max = 2, least_bytes = 4;
  if (a.size() > b.size()) std::swap(a, b);
  if (a.size() < least_bytes || b.size() > compared_bytes_max || b.size() - a.size() > changes_max) return false;
  return edit_distance(a, b) <= changes_max;
}
/// Returns the last part of a handler's name, such as "take_damage" for "game.take_damage".
std::string_view own_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }
/// True if `written` may be a misspelling of the handler name `name`.
bool may_mean(std::string_view written, std::string_view name) {
  const std::string_view own = own_name(name);
  return look_alike(written, name) || (!own.empty() && own == own_name(written)) || look_alike(own_name(written), own);
}

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }
std::string title(const Handler& handler) {
  return handler.name.empty() ? std::string("an unnamed handler") : "handler " + in_quotes(handler.name);
}

}  // namespace

std::vector<std::string> UnknownNames::look(const HandlerTable& handlers) {
  std::vector<std::string> said;
  for (const Handler* handler : handlers.handlers()) {
    if (handler->ordinal < looked_at_) continue;
    look_at_order(handlers, *handler, said);
    look_at_reads(handlers, *handler, said);
  }
  looked_at_ = handlers.next_ordinal();
  if (said.size() > said_max) {
    const std::size_t more = said.size() - said_max;
    said.resize(said_max);
    said.push_back(std::to_string(more) + " more names in handler options match nothing");
  }
  return said;
}

void UnknownNames::look_at_order(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said) {
  const MessageRoute& route = *handlers.route(handler.message);
  const auto look = [&](const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names) {
      if (route.order.has(name)) continue;
      std::string sentence = title(handler) + " of " + route.type->name + " names " + in_quotes(name) + " in `" +
                             option + "`, but that message has no such handler";
      if (!was_said_.insert(sentence).second) continue;
      std::string near;
      for (const Handler* other : route.order) {
        if (other != &handler && near.empty() && may_mean(name, other->name)) near = other->name;
      }
      if (!near.empty()) {
        sentence += "; did you mean " + in_quotes(near) + "?";
      } else {
        const auto elsewhere = std::ranges::find(handlers.handlers(), name, &Handler::name);
        if (!name.empty() && elsewhere != handlers.handlers().end())
          sentence += "; " + in_quotes(name) + " handles " + handlers.route((*elsewhere)->message)->type->name;
      }
      said.push_back(std::move(sentence));
    }
  };
  look(handler.options.before, "before");
  look(handler.options.after, "after");
}

void UnknownNames::look_at_reads(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said) {
  const auto writes = [](const Handler* other, const std::string& name) {
    return std::ranges::find(other->options.external_writes, name) != other->options.external_writes.end();
  };
  for (const std::string& name : handler.options.external_reads) {
    std::string near;
    bool known = false;
    for (const Handler* other : handlers.handlers()) {
      known = known || writes(other, name);
      for (const std::string& written : other->options.external_writes)
        if (near.empty() && look_alike(name, written)) near = written;
    }
    if (known || near.empty()) continue;
    std::string sentence = title(handler) + " reads " + in_quotes(name) + ", which no handler writes";
    if (!was_said_.insert(sentence).second) continue;
    said.push_back(sentence + "; did you mean " + in_quotes(near) + "?");
  }
}

}  // namespace muster
