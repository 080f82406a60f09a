// Which watch has the next turn. Sessions share the time: the one whose watches took least comes first, so who opens many, or asks for
// much, makes nobody else wait for longer than for one turn of it. Of one session the watch of the greatest priority comes
// first, and among equals the one whose last turn is longest ago.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/watches/watch.h"

namespace muster {

/// One thread only.
class TurnOrder {
 public:
  void opened(const Session& session);
  void closed(const Session& session);

  /// A round of turns begins: nobody waits for one.
  void begin();
  /// It may have a turn in this round. The watch outlives it.
  void add(Watch& watch);
  /// Who is next, once in a round; null: nobody.
  Watch* next();
  /// The last of next() took so long. ns of processor time.
  void took(std::uint64_t ns);

 private:
  struct Line {
    std::uint32_t watches = 0;
    std::uint64_t spent_ns = 0;  // counted from where the others were when it had something again
    std::uint64_t turned = 0;    // its last turn
    std::uint64_t round = 0;     // the last one in which it had something
    bool sorted = false;
    std::vector<Watch*> waiting;  // sorted: the next one last
  };
  static bool later(const Line* a, const Line* b);

  std::unordered_map<const Session*, Line> lines_;
  std::vector<Line*> ready_;  // a heap once somebody was asked for: who is next first
  bool is_heap_ = false;
  Line* current_ = nullptr;
  Watch* watch_ = nullptr;
  std::uint64_t clock_ns_ = 0;  // `spent_ns` of the line that had the last turn
  std::uint64_t turns_ = 0, round_ = 0;
};

}  // namespace muster
