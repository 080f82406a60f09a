#include "server/access/access_rules.h"

#include <algorithm>
#include <utility>

#include "messages/type_table.h"
#include "server/access/suggestion.h"

namespace muster {
namespace {

constexpr std::string_view questions = "muster.session.";

template <class T>
bool holds(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

std::string_view namespace_of(std::string_view type) noexcept { return type.substr(0, type.rfind('.') + 1); }

bool matches(std::string_view what, std::string_view type) noexcept {
  if (what == "*") return !type.starts_with(questions);
  if (what.ends_with(".*")) return namespace_of(type) == what.substr(0, what.size() - 1);
  return what == type;
}

}  // namespace

std::optional<bool> WriteRules::decides(const TypeDescriptor& type) const noexcept {
  if (types_.empty()) return std::nullopt;
  if (type.remote <= RemoteRight::view && type.name.starts_with(questions)) return std::nullopt;
  for (auto entry = types_.rbegin(); entry != types_.rend(); ++entry)
    if (matches(entry->what, type.name)) return entry->allows;
  return std::nullopt;
}

void AccessRules::set(std::vector<AccessRule> rules) {
  rules_ = std::move(rules);
  ++version_;
  for (auto& [user, known] : known_) known.rules = made_for(known.name, known.role);
}

const WriteRules* AccessRules::of(std::uint64_t user, const std::string& name, RemoteRight role) {
  if (user == 0) return nullptr;
  const auto [at, is_new] = known_.try_emplace(user, Known{.name = name, .role = role, .rules = {}});
  if (is_new) at->second.rules = made_for(name, role);
  return &at->second.rules;
}

WriteRules AccessRules::made_for(const std::string& name, RemoteRight role) const {
  WriteRules made;
  for (const AccessRule& rule : rules_) {
    const bool concerns =
        (rule.roles.empty() && rule.users.empty()) || holds(rule.roles, role) || holds(rule.users, name);
    if (!concerns) continue;
    for (const RuleEntry& entry : rule.entries) (entry.is_path() ? made.places_ : made.types_).push_back(entry);
  }
  return made;
}

std::string wrong_types(const std::vector<AccessRule>& rules, const TypeTable& types) {
  std::vector<std::string> names;
  for (const TypeDescriptor* const type : types.types()) names.push_back(type->name);
  for (const AccessRule& rule : rules) {
    for (const RuleEntry& entry : rule.entries) {
      const auto fits = [&](const std::string& name) { return matches(entry.what, name); };
      if (entry.is_path() || std::ranges::any_of(names, fits)) continue;
      return entry.place + "there is no type " + entry.what + suggestion(entry.what, names);
    }
  }
  return {};
}

std::string wrong_users(const std::vector<AccessRule>& rules, const std::vector<std::string>& names) {
  std::size_t paths = 0;
  for (const AccessRule& rule : rules) {
    const std::string place = rule.entries.empty() ? std::string() : rule.entries.front().place;
    for (const std::string& user : rule.users)
      if (!holds(names, user))
        return place + "the rule names a user \"" + user + "\" who does not exist" + suggestion(user, names);
    paths += static_cast<std::size_t>(std::ranges::count_if(rule.entries, &RuleEntry::is_path));
    if (paths > rule_paths_max)
      return place + "the rules contain more than " + std::to_string(rule_paths_max) + " paths";
  }
  return {};
}

}  // namespace muster
