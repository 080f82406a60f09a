// Records what each user made in the world (entities, templates, timers, texts), so that the user's
// shares can be counted (server/session/shares.h) and an admin can remove what a user left.
//
// The record begins with what the history of edits contains, and then notes each edit of a session.
// It is not saved. After a restart, timers, texts, and whatever the history has dropped therefore
// belong to no user, as does everything that handlers and timers create.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "registry/apply/timers.h"
#include "registry/entity_registry.h"
#include "server/edits/edit_cost.h"
#include "server/session/session.h"
#include "server/session/shares.h"

namespace muster {

class EditHistory;

/// Must be used only on the world thread, between inputs. The counts are upper bounds, because
/// things may disappear unnoticed; they are corrected at most once per recount_every and user.
class MadeThings {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto recount_every = std::chrono::seconds(1);

  /// `history` may be null. All arguments must outlive this object.
  MadeThings(const EntityRegistry& registry, Shares& shares, EditHistory* history);

  /// If an edit with this cost would exceed a share of the session's user, returns the Fault.
  [[nodiscard]] std::optional<session::Fault> refuses(const Session& from, BatchView edit, const EditCost& cost);
  /// Must be called before the edit is pushed. Remembers which of its texts are new.
  void begin(const EditCost& cost);
  /// Must be called after the edit has been pushed. `timer` is the timer that the edit set, or 0.
  void end(const Session& from, BatchView edit, const EditCost& cost, TimerId timer);

  /// Things of a user that still exist.
  struct OfUser {
    std::vector<Entity> entities;  ///< alive
    std::vector<TimerId> timers;   ///< waiting
    std::vector<std::string> templates;
  };
  OfUser of(std::uint64_t user);

 private:
  struct Timer {
    TimerId id;
    std::uint64_t due_ns;
    std::uint32_t bytes;
  };
  struct Things {
    std::vector<Entity> entities;  // may contain dead ones, and some twice
    std::vector<Timer> timers;     // may contain timers that no longer wait
    std::vector<std::uint64_t> texts;
    std::size_t recount_at = 4096;  // number of things at which they are recounted
    Clock::time_point counted{};
    std::size_t count() const noexcept { return entities.size() + timers.size() + texts.size(); }
  };
  struct Definition {
    std::uint64_t user = 0, bytes = 0;
  };
  std::optional<session::Fault> over(const Session& from, BatchView edit, const EditCost& cost) const;
  std::uint64_t replaced_bytes(std::uint64_t user, BatchView edit) const;
  /// Forgets what no longer exists.
  void recount(std::uint64_t user, Things& things);
  void note(const Seat& seat, BatchView batch, Things& to) const;
  void define(std::uint64_t user, const std::string& name, std::uint64_t bytes);
  void read(const EditHistory& history);

  const EntityRegistry& registry_;
  Shares& shares_;
  std::unordered_map<std::uint64_t, Things> users_;
  std::unordered_map<std::string, Definition> templates_;  // by name
  // Hashes of the texts that the current edit adds.
  std::vector<std::uint64_t> new_texts_;
};

}  // namespace muster
