// Sends sessions the lines that handlers write to the game's log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/session/session.h"

namespace muster {

class EntityRegistry;

/// Must be used only on the world thread. The registry must outlive this object.
class FollowedLog {
 public:
  explicit FollowedLog(const EntityRegistry& registry);

  /// Answers ReadLog. A page has at most `rows` lines and about `bytes_max` bytes, and so have the
  /// pages that a follower is sent.
  void read(const std::shared_ptr<Session>& from, std::uint64_t request, const session::ReadLog& what,
            std::uint32_t rows, std::size_t bytes_max);
  /// Sends new lines to each follower, as far as there is room in the follower's queue. Must be
  /// called after each flush.
  void tell();
  /// Removes a session that has ended.
  void leave(const Session& session);

 private:
  struct Follower {
    std::shared_ptr<Session> session;
    std::uint64_t told = 0;  // number of the last line that it was sent
    std::uint32_t rows = 0;  // limits of its pages
    std::size_t bytes_max = 0;
  };
  session::LogLines page(std::uint64_t after, std::uint32_t rows, std::size_t bytes_max) const;

  const EntityRegistry& registry_;
  const std::uint64_t log_;  // identifies the log
  std::vector<Follower> followers_;
};

}  // namespace muster
