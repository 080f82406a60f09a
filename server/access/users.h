// Access by token: the server's own tokens, and users with their own tokens, which persist across
// sessions and restarts of the server. A file beside the world stores the users with hashes of
// their tokens: SHA-256, which is enough for 160 random bits.
//
//   level1.muster-users, text, readable by its owner only:
//     muster-users 1
//     next 4                                    number of the next user, which detects truncation
//     world 0123456789abcdef0123456789abcdef    World::id; missing in lists of earlier versions
//     1 edit 0 5f70bf18a0... ann                number, role, expiry, hash, name
//     2 view 1798761600 a1b2c3... the build     expiry in seconds since 1970; 0 means never
//     3 revoked 0 - bob                         kept, so that its number is not reused
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "messages/session.h"
#include "server/access/rights.h"
#include "server/access/server_error.h"

namespace muster {

/// One of the server's own tokens, and the role that it grants.
struct Admission {
  std::string token;
  session::Role role = session::Role::none;
};

using TokenHash = std::array<unsigned char, 32>;

struct User {
  std::uint64_t number = 0;
  std::string name;
  session::Role role = session::Role::none;  ///< none if revoked
  std::uint64_t expires_s = 0;               ///< since 1970; 0 for never
  TokenHash hash{};                          ///< of the token; zero if revoked
};

/// The rights of a token, and its user.
struct Admitted {
  Rights rights = {};      ///< none if the token is not valid here
  std::uint64_t user = 0;  ///< 0 for the server's own token
  std::string name = {};   ///< the user's
};

/// The reason why a user was not created: a short identifier for programs, and a sentence.
struct UserFault {
  const char* reason;
  std::string text;
};

/// Returns 160 random bits as letters and digits.
std::string draw_token();

/// One thread at a time.
class Users {
 public:
  using Clock = std::chrono::system_clock;
  static constexpr std::size_t users_max = 10'000;  ///< including revoked ones
  static constexpr std::size_t name_bytes_max = 64;

  /// Reads the file at `path`, which need not exist. If `path` is empty, there are no users, and
  /// none can be created. Throws ServerError with the line if the list cannot be read, because a
  /// partial list must not be used. Also throws if the list belongs to a world other than `world`.
  /// A list without a world is immediately assigned to `world`. An empty `world` is not checked.
  Users(const std::vector<Admission>& own, std::string path, std::string world = {});

  /// Returns the rights of a token. Takes equally long for all tokens of the same length, because
  /// every hash is compared completely.
  Admitted admit(std::string_view token, Clock::time_point now) const;
  /// Returns false if the user was revoked or has expired.
  bool may_stay(const Admitted& admitted, Clock::time_point now) const;

  struct Made {
    std::uint64_t user = 0;
    std::string token;
  };
  /// Adds a user. On return, the change is on the disk. After an error nothing has changed.
  [[nodiscard]] std::expected<Made, UserFault> create(const std::string& name, session::Role role,
                                                      std::uint64_t expires_s, Clock::time_point now);
  /// Revokes a user and returns the number. On return, the change is on the disk. After an error
  /// nothing has changed.
  [[nodiscard]] std::expected<std::uint64_t, UserFault> revoke(const std::string& name);
  const std::vector<User>& all() const noexcept { return users_; }  ///< by number

 private:
  void read();
  std::expected<void, UserFault> write() const;

  struct Own {
    TokenHash hash;
    session::Role role;
  };
  std::vector<Own> own_;
  std::string path_, world_;
  std::vector<User> users_;  // user n is at index n - 1
  std::uint64_t next_ = 1;
};

}  // namespace muster
