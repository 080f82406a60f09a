#include "registry/delivery/unknown_names.h"

#include <algorithm>
#include <string_view>

namespace muster {
namespace {

constexpr std::size_t said_max = 16;
constexpr std::size_t compared_bytes_max = 64;

/// True if up to two edits turn one text into the other: inserting, removing or replacing a letter,
/// or swapping neighbors. Texts under 4 or over 64 bytes never match.
bool look_alike(std::string_view a, std::string_view b) {
  constexpr std::size_t changes_max = 2, least_bytes = 4;
  if (a.size() > b.size()) std::swap(a, b);
  if (a.size() < least_bytes || b.size() > compared_bytes_max || b.size() - a.size() > changes_max) return false;
  std::vector<std::size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) old[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], older[j - 2] + 1);
    }
    older.swap(old);
    old.swap(now);
  }
  return old.back() <= changes_max;
}

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }
std::string title(const Handler& handler) {
  return handler.name.empty() ? std::string("a handler without a name") : "handler " + in_quotes(handler.name);
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
    said.push_back(std::to_string(more) + " more names in the options of handlers mean nothing");
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
        if (other != &handler && near.empty() && look_alike(name, other->name)) near = other->name;
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
