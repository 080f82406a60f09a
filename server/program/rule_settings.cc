#include "server/program/rule_settings.h"

#include <algorithm>
#include <string_view>

#include "messages/json_writer.h"
#include "schema/kinds.h"
#include "server/access/suggestion.h"

namespace muster {
namespace {

struct WrongRule {
  ConfigPlace place;
  std::string text;
};

/// Returns the texts of an entry, which is one text or an array of texts.
const std::vector<ConfigValue>& texts_of(const ConfigEntry& entry) {
  for (const ConfigValue& value : entry.values)
    if (value.kind != ConfigValue::Kind::text) throw WrongRule{value.place, entry.key + " takes texts"};
  if (entry.values.empty()) throw WrongRule{entry.place, entry.key + " is empty"};
  return entry.values;
}

/// If the text is neither a path nor the name of a type or of a namespace's types, returns the
/// reason.
std::string wrong_entry(std::string_view what) {
  if (what.starts_with('/')) {
    if (what.size() > 1 && (what.ends_with('/') || what.find("//") != what.npos))
      return "a path such as \"/town/gate\" has no empty names";
    return {};
  }
  if (what == "*") return {};
  const std::string_view name = what.ends_with(".*") ? what.substr(0, what.size() - 2) : what;
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return is_name ? std::string() : "expected a type such as \"game.Damage\", \"game.*\", \"*\", or a path";
}

AccessRule rule_of(const ConfigFile& file, ConfigPlace place, const std::vector<ConfigEntry>& entries) {
  AccessRule rule;
  std::vector<RuleEntry> denied, allowed, hidden, shown;
  struct List {
    std::string_view key;
    bool allows;
    std::vector<RuleEntry>* entries;
  };
  const List lists[] = {
      {"deny", false, &denied}, {"allow", true, &allowed}, {"hide", false, &hidden}, {"show", true, &shown}};
  for (const ConfigEntry& entry : entries) {
    if (entry.key == "roles") {
      for (const ConfigValue& value : texts_of(entry)) {
        const auto role = right_named(value.text);
        if (!role || *role == RemoteRight::none)
          throw WrongRule{value.place, "there is no role " + value.text + "; roles are view, edit, control and admin"};
        rule.roles.push_back(*role);
      }
    } else if (entry.key == "users") {
      for (const ConfigValue& value : texts_of(entry)) rule.users.push_back(value.text);
    } else if (const auto list = std::ranges::find(lists, entry.key, &List::key); list != std::end(lists)) {
      for (const ConfigValue& value : texts_of(entry)) {
        if (std::string wrong = wrong_entry(value.text); !wrong.empty()) throw WrongRule{value.place, std::move(wrong)};
        list->entries->push_back(
            {.what = value.text, .allows = list->allows, .place = shown_place(file.path, value.place)});
      }
    } else {
      throw WrongRule{entry.place, "a rule has no key " + entry.key +
                                       suggestion(entry.key, {"roles", "users", "deny", "allow", "hide", "show"})};
    }
  }
  rule.entries = std::move(denied);
  rule.entries.insert(rule.entries.end(), allowed.begin(), allowed.end());
  rule.sights = std::move(hidden);
  rule.sights.insert(rule.sights.end(), shown.begin(), shown.end());
  if (rule.entries.empty() && rule.sights.empty())
    throw WrongRule{place, "the rule has none of deny, allow, hide and show"};
  return rule;
}

}  // namespace

std::string shown_rule(const AccessRule& rule) {
  std::vector<std::string> roles, denied, allowed, hidden, shown;
  for (const RemoteRight role : rule.roles) roles.emplace_back(right_name(role));
  for (const RuleEntry& entry : rule.entries) (entry.allows ? allowed : denied).push_back(entry.what);
  for (const RuleEntry& entry : rule.sights) (entry.allows ? shown : hidden).push_back(entry.what);
  std::string text = "\n[[rule]]\n";
  const auto add = [&](const char* key, const std::vector<std::string>& values) {
    if (values.empty()) return;
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ", ") + json_string(value);
    text += std::string(key) + " = [" + list + "]\n";
  };
  add("roles", roles);
  add("users", rule.users);
  add("deny", denied);
  add("allow", allowed);
  add("hide", hidden);
  add("show", shown);
  return text;
}

std::expected<std::vector<AccessRule>, std::string> rules_of(const ConfigFile& file) {
  std::vector<AccessRule> rules;
  try {
    for (const auto& [place, entries] : file.rules) rules.push_back(rule_of(file, place, entries));
  } catch (const WrongRule& wrong) {
    return std::unexpected(shown_place(file.path, wrong.place) + wrong.text);
  }
  return rules;
}

}  // namespace muster
