// Rules that grant and deny, and the rates of users.
#include "server/access/access_rules.h"

#include <catch2/catch.hpp>

#include "server/access/rights.h"
#include "server/session/user_rates.h"

using namespace muster;

namespace {

TypeDescriptor type_of(const char* name, RemoteRight remote = RemoteRight::edit) {
  TypeDescriptor type;
  type.name = name;
  type.remote = remote;
  return type;
}

RuleEntry deny(std::string what) { return {.what = std::move(what), .allows = false, .place = "c:1:1: "}; }
RuleEntry allow(std::string what) { return {.what = std::move(what), .allows = true, .place = "c:2:1: "}; }

bool may(AccessRules& rules, const TypeDescriptor& type, RemoteRight role = RemoteRight::edit, std::uint64_t user = 1,
         const char* name = "ann") {
  return Rights{.role = role, .rules = rules.of(user, name, role)}.may_send(type);
}

}  // namespace

TEST_CASE("the last entry that matches decides; without one, the role does", "[rules]") {
  AccessRules rules;
  rules.set({{.roles = {RemoteRight::edit}, .entries = {deny("game.*"), allow("game.Chat")}},
             {.users = {"bob"}, .entries = {allow("*"), deny("muster.session.Save")}}});
  CHECK_FALSE(may(rules, type_of("game.Damage")));
  CHECK(may(rules, type_of("game.Chat")));
  CHECK(may(rules, type_of("game.Chat", RemoteRight::admin)));
  CHECK(may(rules, type_of("game.inner.Damage")));
  CHECK(may(rules, type_of("gamer.Damage")));
  CHECK(may(rules, type_of("muster.Set")));
  CHECK_FALSE(may(rules, type_of("muster.CancelTimer", RemoteRight::control)));
  CHECK(may(rules, type_of("game.Damage"), RemoteRight::control, 3, "carl"));
  CHECK(may(rules, type_of("game.Damage"), RemoteRight::edit, 2, "bob"));
  CHECK(may(rules, type_of("muster.CancelTimer", RemoteRight::control), RemoteRight::edit, 2, "bob"));
  CHECK_FALSE(may(rules, type_of("muster.session.Save", RemoteRight::control), RemoteRight::control, 4, "bob"));
}

TEST_CASE("no rule grants what nobody may write, takes the right to read, or concerns the server's own token",
          "[rules]") {
  AccessRules rules;
  rules.set({{.entries = {allow("*"), allow("muster.session.*")}}});
  CHECK_FALSE(may(rules, type_of("muster.Advance", RemoteRight::none)));
  rules.set({{.entries = {deny("*"), deny("muster.session.*")}}});
  CHECK_FALSE(may(rules, type_of("game.Damage", RemoteRight::view)));
  CHECK_FALSE(may(rules, type_of("muster.session.Save", RemoteRight::control), RemoteRight::admin));
  CHECK(may(rules, type_of("muster.session.Heartbeat", RemoteRight::view)));
  CHECK(may(rules, type_of("game.Damage"), RemoteRight::admin, 0, ""));
}

TEST_CASE("rules that are set change those that a session holds", "[rules]") {
  AccessRules rules;
  const WriteRules* const held = rules.of(1, "ann", RemoteRight::edit);
  CHECK(held->empty());
  const auto before = rules.version();
  rules.set({{.entries = {deny("game.Damage"), deny("/town")}}});
  CHECK(rules.version() != before);
  CHECK(held->decides(type_of("game.Damage")) == false);
  CHECK(held->places().size() == 1);
  rules.set({});
  CHECK(held->empty());
}

TEST_CASE("a rule's users are checked, and the number of its paths is limited", "[rules]") {
  const std::vector<AccessRule> rules = {{.users = {"anne"}, .entries = {deny("*")}}};
  CHECK(wrong_users(rules, {"anne"}).empty());
  CHECK(wrong_users(rules, {"anna"}) ==
        "c:1:1: the rule names a user \"anne\" who does not exist; did you mean \"anna\"?");
  std::vector<AccessRule> many = {{.entries = std::vector<RuleEntry>(rule_paths_max, deny("/x"))}};
  CHECK(wrong_users(many, {}).empty());
  many.push_back({.entries = {deny("/y")}});
  CHECK(wrong_users(many, {}) == "c:1:1: the rules contain more than 64 paths");
}

TEST_CASE("a user that has sent a second's worth waits until its time, and others do not", "[rates]") {
  UserRates rates;
  ServerLimits limits;
  limits.user_edits_rate = 10;
  const auto begin = UserRates::Clock::now();
  const auto at = [&](int ms) { return begin + std::chrono::milliseconds(ms); };
  UserRates::User& ann = rates.begin(1, "ann \"a\\b\"", true);
  UserRates::User& admin = rates.begin(2, "root", false);
  for (UserRates::User* user : {&ann, &admin})
    for (int i = 0; i < 10; ++i) {
      CHECK(UserRates::may(*user, RateOf::edits, limits, at(0)));
      UserRates::count(*user, RateOf::edits, 1, limits);
    }
  CHECK_FALSE(UserRates::may(ann, RateOf::edits, limits, at(0)));
  CHECK_FALSE(UserRates::may(ann, RateOf::edits, limits, at(0)));
  CHECK(UserRates::may(ann, RateOf::requests, limits, at(0)));
  CHECK(UserRates::may(admin, RateOf::edits, limits, at(0)));
  CHECK(UserRates::may(ann, RateOf::edits, limits, at(110)));
  // One message may be larger than a second's worth. The time that it takes is then waited for.
  UserRates::count(ann, RateOf::edits, 25, limits);
  for (int ms = 210; ms <= 2400; ms += 90) CHECK_FALSE(UserRates::may(ann, RateOf::edits, limits, at(ms)));
  CHECK(UserRates::may(ann, RateOf::edits, limits, at(2700)));
  CHECK(&rates.begin(1, "ann \"a\\b\"", true) == &ann);
  CHECK(rates.metrics().find("muster_user_edits_waits_total{user=\"1\",name=\"ann \\\"a\\\\b\\\"\"} 2\n") !=
        std::string::npos);
  limits.user_edits_rate = 0;
  UserRates::count(ann, RateOf::edits, 1'000'000, limits);
  CHECK(UserRates::may(ann, RateOf::edits, limits, at(2800)));
  limits.user_edits_rate = 10;
  CHECK(UserRates::may(ann, RateOf::edits, limits, at(2900)));
}
