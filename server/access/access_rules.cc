#include "server/access/access_rules.h"

#include <algorithm>
#include <utility>

#include "messages/type_table.h"
#include "server/access/sight.h"
#include "server/access/suggestion.h"

namespace muster {
namespace {

constexpr std::string_view questions = "muster.session.";

template <class T>
bool holds(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

std::string_view namespace_of(std::string_view type) noexcept { return type.substr(0, type.rfind('.') + 1); }

}  // namespace

bool names_type(std::string_view what, std::string_view type) noexcept {
  if (what == "*") return !type.starts_with(questions);
  if (what.ends_with(".*")) return namespace_of(type) == what.substr(0, what.size() - 1);
  return what == type;
}

const RuleEntry* decided_by(const std::vector<RuleEntry>& entries, std::string_view type) noexcept {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (names_type(entry->what, type)) return &*entry;
  return nullptr;
}

std::optional<bool> WriteRules::decides(const TypeDescriptor& type) const noexcept {
  if (types_.empty()) return std::nullopt;
  if (type.remote <= RemoteRight::view && type.name.starts_with(questions)) return std::nullopt;
  const RuleEntry* const entry = decided_by(types_, type.name);
  return entry ? std::optional(entry->allows) : std::nullopt;
}

std::vector<std::uint64_t> AccessRules::set(std::vector<AccessRule> rules) {
  rules_ = std::move(rules);
  return renew();
}

std::vector<AccessRules::Reserved> AccessRules::reserved_in(const TypeTable& types) {
  std::vector<Reserved> found;
  for (const TypeDescriptor* const type : types.types())
    if (type->see > RemoteRight::view && !type->name.starts_with("muster.")) found.push_back({type->name, type->see});
  return found;
}

bool AccessRules::would_learn(const TypeTable& types) const { return reserved_in(types) != reserved_; }

std::vector<std::uint64_t> AccessRules::learn(const TypeTable& types) {
  reserved_ = reserved_in(types);
  return renew();
}

std::vector<std::uint64_t> AccessRules::renew() {
  ++version_;
  std::vector<std::uint64_t> changed;
  for (auto& [user, known] : known_) {
    const std::shared_ptr<const Sight> before = known.rules.sight_;
    known.rules = made_for(known.name, known.role);
    if (known.rules.sight_ != before) changed.push_back(user);
  }
  return changed;
}

const WriteRules* AccessRules::of(std::uint64_t user, const std::string& name, RemoteRight role) {
  if (user == 0) return nullptr;
  const auto [at, is_new] = known_.try_emplace(user, Known{.name = name, .role = role, .rules = {}});
  if (is_new) at->second.rules = made_for(name, role);
  return &at->second.rules;
}

WriteRules AccessRules::made_for(const std::string& name, RemoteRight role) {
  WriteRules made;
  std::vector<RuleEntry> types, places;
  for (const AccessRule& rule : rules_) {
    const bool concerns =
        (rule.roles.empty() && rule.users.empty()) || holds(rule.roles, role) || holds(rule.users, name);
    if (!concerns) continue;
    for (const RuleEntry& entry : rule.entries) (entry.is_path() ? made.places_ : made.types_).push_back(entry);
    for (const RuleEntry& entry : rule.sights) (entry.is_path() ? places : types).push_back(entry);
  }
  made.sight_ = sight_of(std::move(types), std::move(places), role);
  return made;
}

std::shared_ptr<const Sight> AccessRules::sight_of(std::vector<RuleEntry> types, std::vector<RuleEntry> places,
                                                   RemoteRight role) {
  const auto hides = [](const RuleEntry& entry) { return !entry.allows; };
  const auto is_kept_from = [&](const Reserved& each) { return role < each.see && !decided_by(types, each.type); };
  const bool by_role = std::ranges::any_of(reserved_, is_kept_from);
  if (!by_role && std::ranges::none_of(types, hides) && std::ranges::none_of(places, hides)) return nullptr;
  auto made = std::make_shared<const Sight>(std::move(types), std::move(places), by_role ? role : RemoteRight::admin);
  std::erase_if(sights_, [](const auto& known) { return known.expired(); });
  for (const auto& known : sights_)
    if (auto same = known.lock(); same && same->equals(*made)) return same;
  sights_.push_back(made);
  return made;
}

bool AccessRules::names(const std::string& user) const {
  return std::ranges::any_of(rules_, [&](const AccessRule& rule) { return holds(rule.users, user); });
}

std::string wrong_types(const std::vector<AccessRule>& rules, const TypeTable& types) {
  std::vector<std::string> names;
  for (const TypeDescriptor* const type : types.types()) names.push_back(type->name);
  const auto wrong = [&](const RuleEntry& entry) {
    const auto fits = [&](const std::string& name) { return names_type(entry.what, name); };
    if (entry.is_path() || std::ranges::any_of(names, fits)) return std::string();
    return entry.place + "there is no type " + entry.what + suggestion(entry.what, names);
  };
  for (const AccessRule& rule : rules) {
    for (const RuleEntry& entry : rule.entries)
      if (std::string text = wrong(entry); !text.empty()) return text;
    for (const RuleEntry& entry : rule.sights) {
      if (std::string text = wrong(entry); !text.empty()) return text;
      if (entry.what.starts_with("muster."))
        return entry.place + entry.what + " belongs to Muster itself and is always visible";
    }
  }
  return {};
}

std::string wrong_users(const std::vector<AccessRule>& rules, const std::vector<std::string>& names) {
  std::size_t paths = 0, seen_paths = 0;
  for (const AccessRule& rule : rules) {
    const std::string place = !rule.entries.empty()  ? rule.entries.front().place
                              : !rule.sights.empty() ? rule.sights.front().place
                                                     : std::string();
    for (const std::string& user : rule.users)
      if (!holds(names, user))
        return place + "the rule names a user \"" + user + "\" who does not exist" + suggestion(user, names);
    paths += static_cast<std::size_t>(std::ranges::count_if(rule.entries, &RuleEntry::is_path));
    seen_paths += static_cast<std::size_t>(std::ranges::count_if(rule.sights, &RuleEntry::is_path));
    if (std::max(paths, seen_paths) > rule_paths_max)
      return place + "the rules contain more than " + std::to_string(rule_paths_max) + " paths";
  }
  return {};
}

}  // namespace muster
