// Decides which watch gets the next turn. Sessions share the available time: the session whose
// watches have used the least time goes first. A session with many or large watches therefore
// delays other sessions by at most one turn. Within a session, the watch with the highest priority
// goes first. Among watches of equal priority, the one whose previous turn was longest ago goes
// first.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/watches/watch.h"

namespace muster {

/// Must be used by only one thread.
class TurnOrder {
 public:
  void opened(const Session& session);
  void closed(const Session& session);

  /// Begins a round of turns, which initially contains no watches.
  void begin();
  /// Adds a watch to this round. The watch must outlive this object.
  void add(Watch& watch);
  /// Returns the next watch, or null if there are no more. Each watch is returned once per round.
  Watch* next();
  /// Records how much processor time, in ns, was used by the watch that next() last returned. If
  /// `counts` is false, the watch keeps its place among the watches of its session.
  void took(std::uint64_t ns, bool counts = true);

 private:
  struct Line {
    std::uint32_t watches = 0;
    // Time used since the session became active, relative to the others.
    std::uint64_t spent_ns = 0;
    std::uint64_t turned = 0;  // the watch's most recent turn
    std::uint64_t round = 0;   // most recent round that contained a watch of this line
    bool sorted = false;
    std::vector<Watch*> waiting;  // once sorted, the next watch is at the end
  };
  static bool later(const Line* a, const Line* b);

  std::unordered_map<const Session*, Line> lines_;
  std::vector<Line*> ready_;  // a heap after the first next(), with the next line first
  bool is_heap_ = false;
  Line* current_ = nullptr;
  Watch* watch_ = nullptr;
  std::uint64_t clock_ns_ = 0;  // value of spent_ns of the line that had the most recent turn
  std::uint64_t turns_ = 0, round_ = 0;
};

}  // namespace muster
