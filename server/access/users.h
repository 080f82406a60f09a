// Access by token. Tokens belong either to the server itself or to users; users persist across
// sessions and restarts of the server. A file next to the world stores the users with hashes of
// their tokens. The hash is SHA-256, which is sufficient for 160 random bits.
//
//   level1.muster-users, text, readable by its owner only:
//     muster-users 1
//     next 4                                    number of the next user, which detects truncation;
//                                               "next 12000 users 10000" if numbers are missing
//     world 0123456789abcdef0123456789abcdef    World::id; missing in lists of earlier versions
//     1 edit 0 5f70bf18a0... ann                number, role, expiry, hash, name
//     2 view 1798761600 a1b2c3... the build     expiry in seconds since 1970; 0 means never
//     3 revoked 0 - bob                         kept, so that its number is not reused
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/session.h"
#include "server/access/rights.h"
#include "server/access/server_error.h"
#include "system/token_proof.h"

namespace muster {

/// One of the server's own tokens, and the role that it grants.
struct Admission {
  std::string token;
  session::Role role = session::Role::none;
};

struct User {
  std::uint64_t number = 0;
  std::string name;
  session::Role role = session::Role::none;  ///< none if revoked
  std::uint64_t expires_s = 0;               ///< seconds since 1970, or 0 for never
  TokenHash hash{};                          ///< hash of the token, or zero if revoked
  TokenId id{};                              ///< id of the token, which is not stored
};

/// A token's rights and the user to whom the token belongs.
struct Admitted {
  Rights rights = {};      ///< no rights if this server does not accept the token
  std::uint64_t user = 0;  ///< the user's number, or 0 for the server's own token
  std::string name = {};   ///< name of the user
};

/// The reason why a user was not created, as a short identifier for programs and as a message for
/// people.
struct UserFault {
  const char* reason;
  std::string text;
};

/// Returns true if the name contains characters that have no width, or letters that are blank. Such
/// a name looks like another one.
bool has_blank_letters(std::string_view name);
/// Returns 160 random bits, encoded as letters and digits.
std::string draw_token();

/// Must be used by only one thread at a time.
class Users {
 public:
  using Clock = std::chrono::system_clock;
  /// Limit on the number of users. At the limit, a new user replaces the revoked one with the
  /// lowest number, which is not reused.
  static constexpr std::size_t users_max = 10'000;
  static constexpr std::size_t name_bytes_max = 64;

  /// Reads the file at `path`, which need not exist. If `path` is empty, there are no users, and
  /// none can be created. If the list cannot be read, throws a ServerError that names the offending
  /// line, because a partial list must not be used. Also throws ServerError if the list belongs to
  /// a world other than `world`. A list that names no world is immediately assigned to `world`. If
  /// `world` is empty, the list's world is not checked.
  Users(const std::vector<Admission>& own, std::string path, std::string world = {});

  /// Replaces the server's own tokens.
  void set_own(const std::vector<Admission>& own);
  /// Returns the rights of a token. Takes equally long for all tokens of the same length, because
  /// every hash is compared in full.
  Admitted admit(std::string_view token, Clock::time_point now) const;
  /// A valid token that is known by its id only.
  struct Known {
    Admitted admitted;
    TokenHash hash{};
  };
  /// Returns the token with the given id, or nothing if this server does not accept it. Takes
  /// equally long for all ids.
  std::optional<Known> known(std::span<const std::uint8_t> id, Clock::time_point now) const;
  /// Returns false if the user has been revoked or has expired.
  bool may_stay(const Admitted& admitted, Clock::time_point now) const;

  /// A change of the list that has not been made yet.
  struct Change {
    std::uint64_t user = 0;  ///< number of the user who is added, revoked, or given a new token
    std::string token = {};  ///< the new token
    std::vector<User> users = {};
    std::string path = {}, text = {};  ///< the file, and its new content
  };
  /// Prepares to add a user.
  [[nodiscard]] std::expected<Change, UserFault> to_create(const std::string& name, session::Role role,
                                                           std::uint64_t expires_s, Clock::time_point now) const;
  /// Prepares to revoke a user.
  [[nodiscard]] std::expected<Change, UserFault> to_revoke(const std::string& name) const;
  /// Prepares to exchange the token of a user, who keeps the number, the role and the expiry time.
  [[nodiscard]] std::expected<Change, UserFault> to_rotate(const std::string& name) const;
  /// Prepares to remove users. Their numbers are not reused.
  [[nodiscard]] std::expected<Change, UserFault> to_remove(const std::vector<std::uint64_t>& numbers) const;
  /// Writes the changed list to the disk, which may take long. After an error, the file is
  /// unchanged. May be called on any thread.
  [[nodiscard]] static std::expected<void, UserFault> write(const Change& change);
  /// Makes the change, which must have been prepared since the previous change.
  void accept(const Change& change);

  struct Made {
    std::uint64_t user = 0;
    std::string token;
  };
  /// Adds a user. The change is on disk when the call returns. After an error, nothing has changed.
  [[nodiscard]] std::expected<Made, UserFault> create(const std::string& name, session::Role role,
                                                      std::uint64_t expires_s, Clock::time_point now);
  /// Revokes a user and returns the user's number. The change is on disk when the call returns.
  /// After an error, nothing has changed.
  [[nodiscard]] std::expected<std::uint64_t, UserFault> revoke(const std::string& name);
  /// Returns the user of this name who has not been revoked, or null. Valid until the list changes.
  const User* find(std::string_view name) const;
  /// Returns the users who were revoked or have expired.
  std::vector<User> past_users(Clock::time_point now) const;
  /// All users, ordered by number.
  const std::vector<User>& all() const noexcept { return users_; }

 private:
  void read();
  const User* numbered(std::uint64_t number) const;
  /// Returns a change to the given list.
  Change change_to(std::vector<User> users, std::uint64_t user) const;

  struct Own {
    TokenHash hash;
    session::Role role;
    TokenId id = id_of_token(hash);
  };
  std::vector<Own> own_;
  std::string path_, world_;
  std::vector<User> users_;  // ordered by number
  std::uint64_t next_ = 1;
};

}  // namespace muster
