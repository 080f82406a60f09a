// Names the handlers that could have made a difference, by what they declare.
#include <algorithm>
#include <ranges>
#include <set>

#include "registry/moments/synctest_impl.h"

namespace muster {
namespace {

bool names_resources(const Handler& handler) {
  return !handler.options.external_reads.empty() || !handler.options.external_writes.empty();
}
/// True if the handler may share captured variables with others.
bool may_share_state(const Handler& handler) {
  return (handler.has_state || handler.options.on_begin) && !names_resources(handler);
}
bool has_common(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(some,
                             [&](const std::string& each) { return std::ranges::find(others, each) != others.end(); });
}
bool uses(const Handler& handler, const Term& written) {
  return std::ranges::any_of(handler.terms, [&](const Term& term) { return term.type == written.type && term.value; });
}
/// True if what `of` does may depend on what `handler` did.
bool affects(const Handler& handler, const Handler& of) {
  if (handler.pushes || handler.spawns) return true;
  if (handler.writes_message && handler.message == of.message) return true;
  if (has_common(handler.options.external_writes, of.options.external_reads) ||
      has_common(handler.options.external_writes, of.options.external_writes))
    return true;
  if (may_share_state(handler) && may_share_state(of)) return true;
  return std::ranges::any_of(handler.terms,
                             [&](const Term& term) { return term.access == Access::write && uses(of, term); });
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
  return text;
}

}  // namespace

std::string handler_text(const Handler& handler) {
  return handler.name.empty() ? "number " + std::to_string(handler.ordinal) + " (unnamed)" : '"' + handler.name + '"';
}

bool writes_type(const Handler& handler, TypeId type) {
  return std::ranges::any_of(handler.terms, [&](const Term& term) {
    return term.type == type && term.access == Access::write && term.source == Source::self && term.value;
  });
}

void find_suspects(std::vector<const Handler*> called, TypeId component, SyncDifference& found) {
  std::ranges::sort(called, {}, &Handler::ordinal);
  const bool of_manager = component == 0 && found.part.contains("manager");
  const auto may_have_made = [&](const Handler& handler) {
    if (component != 0) return writes_type(handler, component);
    if (of_manager && (handler.of_manager || !handler.options.external_writes.empty() || may_share_state(handler)))
      return true;
    return !of_manager && (handler.pushes || handler.spawns);
  };
  std::vector<const Handler*> open;
  for (const Handler* const handler : called)
    if (may_have_made(*handler)) {
      open.push_back(handler);
      found.suspects.push_back(handler_text(*handler));
    }
  std::set<const Handler*> known(open.begin(), open.end());
  while (!open.empty()) {
    const Handler* const of = open.back();
    open.pop_back();
    for (const Handler* const handler : called)
      if (affects(*handler, *of) && known.insert(handler).second) open.push_back(handler);
  }
  for (const Handler* const handler : called)
    if (known.contains(handler) && !may_have_made(*handler)) found.behind.push_back(handler_text(*handler));
}

void find_beside(const Handler& named, const std::vector<const Handler*>& called, SyncDifference& found) {
  for (const Handler* const handler : called)
    if (handler != &named && has_common(handler->options.external_writes, named.options.external_reads))
      found.beside.push_back(handler_text(*handler));
  std::ranges::sort(found.beside);
}

std::string SyncDifference::text() const {
  std::string text = first_sequence == last_sequence
                         ? "input " + std::to_string(first_sequence)
                         : "inputs " + std::to_string(first_sequence) + " to " + std::to_string(last_sequence);
  if (!float_mode.empty())
    return text + ": handler " + handler + " of " + message + " left another floating-point mode: the thread " +
           float_mode + ". The mode before was put back";
  text += " gave two results: ";
  if (entity || !path.empty())
    text += component + (field.empty() ? "" : "." + field) + " of " + path + " is " + first + " the first time and " +
            second + " the second time" +
            (values > 1 ? ", and " + std::to_string(values - 1) + " more values differ" : "");
  else
    text += part + " differ";
  if (!handler.empty()) {
    text += ". The first call that differs is one of handler " + handler + " of " + message;
    if (!beside.empty()) text += "; it reads what " + list_of(beside) + " may have changed outside the registry";
    return text;
  }
  if (!finder.empty())
    return text + ". Something changed this that does not declare it, before a call of handler " + finder +
           " found it: a component was written through a pointer or reference that is const or was kept";
  if (suspects.empty() && behind.empty()) return text + ". No handler was found that declares to write this";
  text += ". By what handlers declare, " +
          (suspects.empty() ? "none writes this" : "it is written by " + list_of(suspects));
  return behind.empty() ? text : text + "; what these do depends on " + list_of(behind);
}

}  // namespace muster
