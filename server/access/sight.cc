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

Sight::Sight(std::vector<RuleEntry> types, std::vector<RuleEntry> places, RemoteRight role)
    : types_(std::move(types)), places_(std::move(places)), role_(role) {}

bool Sight::hides(const TypeDescriptor& type) const noexcept {
  if (!hides_messages_of(type)) return false;
  const bool is_message = type.role == TypeRole::message || type.role == TypeRole::table_message;
  const bool may_send = is_message && type.remote != RemoteRight::none && role_ >= type.remote;
  return !may_send || decided_by(types_, type.name) != nullptr;
}

bool Sight::hides_messages_of(const TypeDescriptor& type) const noexcept {
  if (type.name.starts_with("muster.")) return false;
  const RuleEntry* const decides = decided_by(types_, type.name);
  return decides ? !decides->allows : role_ < type.see;
}

bool Sight::equals(const Sight& other) const noexcept {
  return role_ == other.role_ && have_equal_whats(types_, other.types_) && have_equal_whats(places_, other.places_);
}

HiddenTypes hidden_types(const TypeTable& all, const Sight& sight) {
  HiddenTypes hidden;
  for (const TypeDescriptor* const type : all.types())
    if (sight.hides(*type)) hidden.insert(type->id);
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
