// Rules that grant or deny what users may write, beyond what their roles say, and what they may
// see. docs/operation.md describes them for operators.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"
#include "server/access/server_error.h"

namespace muster {

class Sight;
class TypeTable;

/// An error in the rules, such as an unknown user.
class RulesError : public ServerError {
 public:
  using ServerError::ServerError;
};

/// A type's name ("game.Damage"), the types of a namespace ("game.*"), all types that are not
/// questions to the server ("*"), or the path of an entity, which stands for it and everything
/// below it ("/town", or "/" for all).
struct RuleEntry {
  std::string what;
  bool allows = false;
  std::string place;  ///< where the entry was read, for error messages: "town.toml:3:9: "
  bool is_path() const noexcept { return what.starts_with('/'); }
};

struct AccessRule {
  std::vector<RemoteRight> roles = {};  ///< the rule concerns users with one of these roles
  std::vector<std::string> users = {};  ///< and these users; if both are empty, all users
  std::vector<RuleEntry> entries = {};
  std::vector<RuleEntry> sights = {};  ///< entries about what the users may see
};

/// Returns true if an entry that is not a path names the type: "game.Damage", "game.*" or "*".
bool names_type(std::string_view what, std::string_view type) noexcept;

/// Returns the last of the entries that names the type, or null.
const RuleEntry* decided_by(const std::vector<RuleEntry>& entries, std::string_view type) noexcept;

/// The entries that concern one user. The last entry that matches decides.
class WriteRules {
 public:
  bool empty() const noexcept { return types_.empty() && places_.empty(); }
  /// Returns whether the user may send messages, or write components, of this type. Returns nothing
  /// if no entry matches, so that the role decides. Questions that only read are not affected.
  std::optional<bool> decides(const TypeDescriptor& type) const noexcept;
  /// The entries with paths, in their order.
  const std::vector<RuleEntry>& places() const noexcept { return places_; }
  /// Returns the rules for what the user may see, or null if the user may see everything.
  const std::shared_ptr<const Sight>& sight() const noexcept { return sight_; }

 private:
  friend class AccessRules;
  std::vector<RuleEntry> types_, places_;
  std::shared_ptr<const Sight> sight_;
};

/// Knows the rules for each user. of() must be called on the listener's thread, and set() and
/// learn() while neither that thread nor the world thread reads rules.
class AccessRules {
 public:
  /// Returns the numbers of the users whose sight has changed.
  std::vector<std::uint64_t> set(std::vector<AccessRule> rules);
  /// Returns true if learn() would change what users of some role see.
  bool would_learn(const TypeTable& types) const;
  /// Takes over which types have the attribute `see`. Returns the numbers of the users whose sight
  /// has changed.
  std::vector<std::uint64_t> learn(const TypeTable& types);
  /// Returns the rules for a user. The address stays valid, and set() changes the content. Returns
  /// null for user 0, whom no rule concerns.
  const WriteRules* of(std::uint64_t user, const std::string& name, RemoteRight role);
  /// Returns true if a rule names the user.
  bool names(const std::string& user) const;
  /// Returns a number that changes with each call of set().
  std::uint64_t version() const noexcept { return version_; }

 private:
  struct Known {
    std::string name;
    RemoteRight role;
    WriteRules rules;
  };
  /// A type that not all roles see.
  struct Reserved {
    std::string type;
    RemoteRight see;
    friend bool operator==(const Reserved&, const Reserved&) = default;
  };
  static std::vector<Reserved> reserved_in(const TypeTable& types);
  std::vector<std::uint64_t> renew();
  WriteRules made_for(const std::string& name, RemoteRight role);
  std::shared_ptr<const Sight> sight_of(std::vector<RuleEntry> types, std::vector<RuleEntry> places, RemoteRight role);

  std::vector<AccessRule> rules_;
  std::vector<Reserved> reserved_;
  std::uint64_t version_ = 0;
  std::map<std::uint64_t, Known> known_;
  std::vector<std::weak_ptr<const Sight>> sights_;
};

/// Limit on the number of entries with paths that may concern one user, because each of the user's
/// edits is compared with all of them. Entries about seeing are counted separately.
constexpr std::size_t rule_paths_max = 64;

/// Returns an error if a rule names a type that `types` does not contain, or hides a type of Muster
/// itself. Otherwise, returns an empty string.
std::string wrong_types(const std::vector<AccessRule>& rules, const TypeTable& types);
/// Returns an error if a rule names a user who is not among `names`, or if too many paths concern
/// one user.
std::string wrong_users(const std::vector<AccessRule>& rules, const std::vector<std::string>& names);

}  // namespace muster
