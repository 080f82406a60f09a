// Somebody who edits a world by a session of its own, and knows what must be there whenever its server is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"

namespace muster::test {

/// An entity that a session made.
struct Thing {
  Entity entity;
  int folder = 0;
  std::string value;  // of its game.Health; empty: it has none
  int count = 0;      // of its counter.Count: what all its steps made, so one that is lost or done twice is seen
  bool operator==(const Thing&) const = default;
};
using Things = std::map<std::string, Thing>;  // by name

/// What the world's file said when its server was gone.
struct Left {
  std::uint64_t durable = 0;  ///< sequence of the last input it has
  std::uint64_t saved = 0;    ///< through which the state is in it; what is behind that was done again
  int step_before = 1;        ///< how long a counter.Step is by the plugin that was killed
  int step_now = 1;           ///< and by the one that did the journal again
};

/// What one session knows of its part of the world: two folders, and the things in them.
class EditingPerson {
 public:
  /// Makes the folders, called `name`a and `name`b.
  void begin(Client& client, const std::string& name);
  /// A server starts with the things of now.
  void forget_edits();
  /// Edits until the server is gone. `step`: how long one is there.
  void work(Client& client, std::uint64_t seed, int step);
  /// Whether `seen` is what the edits up to the durable one make of the things; one that was not answered may be there or not.
  bool accepts(const Things& seen, const Left& left) const;
  /// The things as a server shows them.
  Things read(Client& client) const;
  /// From now on they are these.
  void take(Things seen) { things_ = std::move(seen); }

  const std::string& failed() const noexcept { return failed_; }    ///< of its work: why an edit was refused
  std::uint64_t durable() const noexcept { return durable_; }       ///< that it was told
  std::size_t edits() const noexcept { return edits_.size(); }      ///< since forget_edits()
  std::uint64_t acknowledged() const noexcept;                      ///< of these
  std::uint64_t acknowledged_behind(std::uint64_t sequence) const;  ///< likewise

 private:
  using Done = std::function<void(Things&, int step)>;
  using Drawn = std::pair<std::vector<std::byte>, Done>;
  static constexpr std::uint64_t unanswered = ~std::uint64_t{0};
  struct Edit {
    std::uint64_t sequence;
    Done done;
  };
  std::optional<Drawn> draw(Client& client, const Things& known, std::mt19937_64& random);
  std::optional<Drawn> draw_new(Client& client, std::mt19937_64& random);

  Entity folders_[2];
  Things things_;
  int named_ = 0;
  std::vector<Edit> edits_;
  std::uint64_t durable_ = 0;
  std::string failed_;
};

}  // namespace muster::test
