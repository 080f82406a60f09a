// Finds types and fields by names that users have typed.
#include <algorithm>
#include <cctype>

#include "messages/value_text.h"
#include "schema/edit_distance.h"

namespace muster {
namespace {

using Kind = ValueError::Kind;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool is_message(const TypeDescriptor& type) {
  return (type.role == TypeRole::message || type.role == TypeRole::table_message) &&
         !type.name.starts_with("muster.session.");
}
bool is_component(const TypeDescriptor& type) { return type.role == TypeRole::component; }

ValueResult<const TypeDescriptor*> find_type(const TypeTable& types, std::string_view name, const char* what,
                                             bool (*fits)(const TypeDescriptor&)) {
  const auto fail = [](std::string text) { return std::unexpected(ValueError{Kind::unknown_name, std::move(text)}); };
  const std::string of = std::string(what) + " \"" + printable(name) + '"';
  if (const TypeDescriptor* exact = types.find(name)) {
    if (fits(*exact)) return exact;
    return fail("no " + of + ": that type is not a " + what);
  }
  std::vector<const TypeDescriptor*> ending;
  std::vector<std::string_view> all;
  for (const TypeDescriptor* type : types.types()) {
    if (!fits(*type)) continue;
    all.push_back(type->name);
    const std::string_view full = type->name;
    if (!name.empty() && full.size() > name.size() && full.ends_with(name) &&
        full[full.size() - name.size() - 1] == '.')
      ending.push_back(type);
  }
  // A game may use a name that is also the name of a built-in type.
  if (ending.size() > 1)
    std::erase_if(ending, [](const TypeDescriptor* type) { return type->name.starts_with("muster."); });
  if (ending.size() == 1) return ending.front();
  if (ending.size() > 1) {
    std::string text = of + " is ambiguous: it could be ";
    for (const TypeDescriptor* type : ending) text += (type == ending.front() ? "" : " or ") + type->name;
    return fail(text);
  }
  if (const std::string near = nearest_name(name, all); !near.empty())
    return fail("no " + of + "; did you mean " + near + "?");
  // List built-in types last, because the user is more likely to mean one of the game's types.
  std::ranges::sort(all, {}, [](std::string_view known) { return std::pair(known.starts_with("muster."), known); });
  std::string text = "no " + of + " in this world; it has ";
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < std::min(all.size(), shown); ++i) text += (i == 0 ? "" : ", ") + std::string(all[i]);
  if (all.size() > shown) text += " and " + std::to_string(all.size() - shown) + " more";
  return fail(text);
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string_view> known) {
  const std::string wanted = lower(last_part(name));
  std::string_view best;
  std::size_t best_distance = wanted.size() / 3 + 1;
  for (const std::string_view each : known) {
    const std::size_t far = edit_distance(wanted, lower(last_part(each)));
    if (far < best_distance || (far == best_distance && best.empty())) {
      best = each;
      best_distance = far;
    }
  }
  return std::string(best);
}

ValueResult<const TypeDescriptor*> find_component(const TypeTable& types, std::string_view name) {
  return find_type(types, name, "component", is_component);
}

ValueResult<const TypeDescriptor*> find_message(const TypeTable& types, std::string_view name) {
  return find_type(types, name, "message", is_message);
}

ValueResult<FieldName> find_field(const TypeTable& types, std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const auto component = find_component(types, name.substr(0, dot));
    if (!component) continue;
    FieldName found{*component, std::string(name.substr(dot + 1)), {}};
    if (found.component->tag)
      return std::unexpected(ValueError{Kind::unknown_name, found.component->name + " is a tag: it has no fields"});
    auto place = types.place(*found.component, found.path);
    if (!place) return std::unexpected(ValueError{Kind::unknown_name, std::move(place.error())});
    found.place = *place;
    return found;
  }
  // No component matches, so report the error for the part that was most likely meant as the
  // component's name.
  const std::size_t last = name.rfind('.');
  if (last == std::string_view::npos || last == 0) {
    if (const auto component = find_component(types, name))
      return std::unexpected(ValueError{
          Kind::malformed, (*component)->name + " is a component; name one of its fields, as in " +
                               std::string(last_part((*component)->name)) + "." +
                               ((*component)->fields.empty() ? "field" : (*component)->fields.front().name)});
    return std::unexpected(ValueError{
        Kind::malformed, "'" + printable(name) + "' does not name a field; write Component.field, as in Health.value"});
  }
  // In "Helth.value", "game.Helth.value" or "Helth.position.x", choose the first part that begins
  // with a capital letter, or the first part if there is none.
  std::size_t end = name.find('.');
  for (std::size_t begin = 0; begin < last;) {
    const std::size_t dot = name.find('.', begin);
    if (std::isupper(static_cast<unsigned char>(name[begin]))) {
      end = dot;
      break;
    }
    begin = dot + 1;
  }
  return std::unexpected(find_component(types, name.substr(0, end)).error());
}

}  // namespace muster
