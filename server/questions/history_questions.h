// Handles Undo and GetHistory, with which sessions undo edits and list the steps of their user, and
// sends Histories to followers. docs/undo.md states the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/questions/inquiry.h"
#include "server/session/seen_now.h"
#include "server/session/world_side.h"

namespace muster {

/// Must be used only on the world thread.
class HistoryQuestions {
 public:
  HistoryQuestions(const EntityRegistry& registry, WorldSide& world, SeenNows& seen)
      : registry_(registry), world_(world), seen_(seen) {}

  /// Answers GetHistory.
  void get(const Asked& asked, const session::GetHistory& what);
  /// Answers Undo.
  void undo(const Asked& asked, const session::Undo& what);
  /// Sends the newest History to each follower whose user's history has changed, as soon as the
  /// follower's queue has room. Must be called after each flush, once questions have been
  /// processed.
  void tell();
  /// Removes a session that has ended.
  void leave(const Session& session);

 private:
  struct Follower {
    std::shared_ptr<Session> session;
    std::uint32_t rows = 0;  // limits of the page that it is sent
    std::size_t bytes_max = 0;
    std::uint64_t version = 0;  // of the History that it was sent last
  };
  session::History page(const EditHistory& history, std::uint64_t user, std::uint32_t offset, std::uint32_t rows,
                        std::size_t bytes_max, const std::shared_ptr<SeenNow>& seen) const;

  const EntityRegistry& registry_;
  WorldSide& world_;
  SeenNows& seen_;
  std::vector<Follower> followers_;
};

}  // namespace muster
