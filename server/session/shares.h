// Counts what the sessions of each user hold together, and refuses what would exceed the user's
// share. Each share is a limit in ServerLimits that begins with "user_". docs/operation.md lists
// the shares. Users with the right `admin` are counted, but never refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "messages/session.h"
#include "server/access/rights.h"
#include "server/session/server_limits.h"
#include "system/mutex.h"

namespace muster {

/// Things of which every user has a share.
enum class ShareOf : std::uint8_t {
  sessions,
  watches,
  watched_entities,
  frames_bytes,
  unused_ids,
  timers,
  timers_bytes,
  templates,
  templates_bytes,
  texts,
  texts_bytes,
  entities,
};
constexpr std::size_t share_kinds = 12;

/// Thread-safe.
class Shares {
 public:
  /// `limits` must outlive this object.
  explicit Shares(const ServerLimits& limits) : limits_(limits) {}

  std::uint64_t held(std::uint64_t user, ShareOf what) const;
  /// Changes the count of a user. A count never becomes negative.
  void add(std::uint64_t user, ShareOf what, std::int64_t more);
  void set(std::uint64_t user, ShareOf what, std::uint64_t now);
  /// If the user would hold more than the share after adding `more`, returns a Fault that names the
  /// limit, the count and the option. Its code is `refused`.
  [[nodiscard]] std::optional<session::Fault> refuses(std::uint64_t user, const Rights& rights, ShareOf what,
                                                      std::uint64_t more) const;
  /// Adds `more` and returns nothing, or returns the Fault of refuses() and adds nothing.
  [[nodiscard]] std::optional<session::Fault> take(std::uint64_t user, const Rights& rights, ShareOf what,
                                                   std::uint64_t more);
  /// The same check for a count that is not kept here.
  [[nodiscard]] std::optional<session::Fault> refuses_count(std::uint64_t user, const Rights& rights, ShareOf what,
                                                            std::uint64_t would_be) const;

 private:
  using Counts = std::array<std::uint64_t, share_kinds>;

  const ServerLimits& limits_;
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Counts> users_ MUSTER_GUARDED_BY(mutex_);
};

/// Returns the name of the limit on what one user holds, such as "user_sessions_max".
std::string_view share_limit(ShareOf what) noexcept;

}  // namespace muster
