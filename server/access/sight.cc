#include "server/access/sight.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "messages/require.h"
#include "messages/type_table.h"
#include "schema/reduce.h"

namespace muster {
namespace {

bool have_equal_whats(const std::vector<RuleEntry>& some, const std::vector<RuleEntry>& others) noexcept {
  return std::ranges::equal(some, others, [](const RuleEntry& one, const RuleEntry& other) {
    return one.what == other.what && one.allows == other.allows;
  });
}

}  // namespace

Sight::Sight(std::vector<RuleEntry> types, std::vector<RuleEntry> places)
    : types_(std::move(types)), places_(std::move(places)) {}

bool Sight::hides(std::string_view type) const noexcept {
  if (type.starts_with("muster.")) return false;
  for (auto entry = types_.rbegin(); entry != types_.rend(); ++entry)
    if (names_type(entry->what, type)) return !entry->allows;
  return false;
}

bool Sight::equals(const Sight& other) const noexcept {
  return have_equal_whats(types_, other.types_) && have_equal_whats(places_, other.places_);
}

HiddenTypes hidden_types(const TypeTable& all, const Sight& sight) {
  HiddenTypes hidden;
  for (const TypeDescriptor* const type : all.types())
    if (sight.hides(type->name)) hidden.insert(type->id);
  for (bool grows = !hidden.empty(); grows;) {
    grows = false;
    for (const TypeDescriptor* const type : all.types()) {
      const auto is_hidden = [&](const FieldDescriptor& field) { return hidden.contains(field.type); };
      if (!hidden.contains(type->id) && std::ranges::any_of(type->fields, is_hidden))
        grows = hidden.insert(type->id).second;
    }
  }
  return hidden;
}

std::shared_ptr<const TypeTable> visible_types(const TypeTable& all, const Sight& sight) {
  const HiddenTypes hidden = hidden_types(all, sight);
  std::set<std::string> names;
  for (const TypeDescriptor* const type : all.types())
    if (!hidden.contains(type->id)) names.insert(type->name);
  auto made = std::make_shared<TypeTable>();
  for (const auto& schema : all.schemas())
    require(made->add_schema(reduce_schema(schema, names)).has_value(), "a part of a known schema is refused");
  return made;
}

}  // namespace muster
