// Describes loading errors and corrections in sentences for users.
#include <cstddef>
#include <iterator>
#include <string>

#include "messages/value_text.h"
#include "registry/state/state.h"
#include "registry/state/state_reader.h"

namespace muster {

std::string StateError::text() const {
  static constexpr const char* sections[] = {"",         "registry",     "schema", "directory", "free_queue",
                                             "grants",   "archetypes",   "chunks", "columns",   "hierarchy",
                                             "texts",    "pending",      "timers", "managers",  "templates",
                                             "disabled", "manager_parts"};
  const auto number = static_cast<std::size_t>(at.section);
  std::string text = number < std::size(sections) ? sections[number] : "section " + std::to_string(number);
  text += ' ' + std::to_string(at.key);
  if (at.section == StateSection::manager_parts)
    text += " part " + std::to_string(at.column);
  else if (at.column)
    text += " column " + std::to_string(at.column);
  return text + ": " + what;
}

std::string other_bounds(const CascadeBounds& saved, const CascadeBounds& required) {
  const auto two = [](std::uint64_t messages, const char* between, std::uint64_t bytes) {
    return std::to_string(messages) + between + std::to_string(bytes);
  };
  if (saved.messages_max != required.messages_max || saved.bytes_max != required.bytes_max)
    return "saved with cascades of at most " + two(saved.messages_max, " messages and ", saved.bytes_max) +
           " bytes; the host requires " + two(required.messages_max, " and ", required.bytes_max);
  return "saved with at most " + two(saved.carried_messages_max, " messages and ", saved.carried_bytes_max) +
         " bytes carried over; the host requires " +
         two(required.carried_messages_max, " and ", required.carried_bytes_max);
}

std::string MendedState::text() const {
  const std::string who = entity ? "entity #" + id_text(entity) + ": " : "";
  return StateError{at, {}}.text() + who + type + "." + field + " was " + found + " and is now " + put;
}

}  // namespace muster
