// Remembers which requests of sessions were applied. A client that resumes its session sends the
// requests again to which it has not received an answer, and each of them is applied only once.
//
//   while the world runs     the desk notes each request of a resumable session
//   in a checkpoint          the meta table contains the newest requests of each session
//   after a crash            recovery notes the requests in the journal
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "registry/apply/receipt.h"

namespace muster {

/// A request that became an input, and its result.
struct AppliedRequest {
  std::uint64_t request = 0;
  std::uint64_t sequence = 0;  ///< of the input
  std::uint32_t handled = 0, unhandled = 0, dead = 0;
  bool refused = false, cut_short = false;
  bool operator==(const AppliedRequest&) const = default;
};
/// Returns the result in a receipt.
inline AppliedRequest applied_request(std::uint64_t request, const Receipt& receipt) {
  return {.request = request,
          .sequence = receipt.sequence,
          .handled = receipt.handled,
          .unhandled = receipt.unhandled,
          .dead = receipt.dead,
          .refused = receipt.refused > 0,
          .cut_short = receipt.cut_short};
}

/// Must be used only on the world thread.
class AppliedRequests {
 public:
  /// Number of requests of a session whose results are kept.
  static constexpr std::size_t kept_max = 256;

  void note(std::uint64_t session, const AppliedRequest& applied);
  /// Returns the largest number of a request that was applied, or 0 if there is none.
  std::uint64_t last(std::uint64_t session) const;
  /// Returns the result of a request, or null if it is unknown. Valid until the next change.
  const AppliedRequest* find(std::uint64_t session, std::uint64_t request) const;
  void forget(std::uint64_t session) { sessions_.erase(session); }
  /// Forgets the sessions for which `keeps(session)` returns false.
  template <class F>
  void keep_only(F&& keeps) {
    std::erase_if(sessions_, [&](const auto& each) { return !keeps(each.first); });
  }
  std::size_t sessions() const noexcept { return sessions_.size(); }

  /// Returns all that is kept as text. Equal contents have equal texts.
  std::string text() const;
  /// Replaces everything by the contents of a text. Returns false, and forgets everything, if it is
  /// not a text of this kind.
  bool read(std::string_view text);

 private:
  struct OfSession {
    std::uint64_t last = 0;
    std::deque<AppliedRequest> newest;  // in the order in which they were applied
  };
  std::unordered_map<std::uint64_t, OfSession> sessions_;
};

}  // namespace muster
