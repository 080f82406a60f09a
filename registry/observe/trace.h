// Records the activity of a registry as time slices in Chrome's trace-event format, for
// ui.perfetto.dev and chrome://tracing.
//
//   track "registry"   | push                                                     |   an input: what the host called
//                        | game.Damage       | | game.Died  |                         a batch of messages of one type
//                          | armor | health |                                         a handler and its rows
//   track "worker 1"                             | move |    | move |                 tasks of a pass that was spread
//   track "watches"      work for watches outside the registry's thread; on the thread: | watching |
//
// Memory is bounded: the oldest slices are overwritten, and their number is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster {

/// Belongs to a single registry and its thread. Must outlive its recording
/// (RegistryProfile::set_trace) and may be written to a file afterward.
class Trace {
 public:
  /// Keeps the most recent `slices_max` slices, but at least 1. Each recorded slice occupies 64
  /// bytes.
  explicit Trace(std::size_t slices_max = std::size_t{1} << 18);

  std::size_t slices() const noexcept { return slices_.size(); }
  /// Returns the number of slices that were overwritten, or were not recorded because a batch had
  /// too many slices.
  std::uint64_t left_out() const noexcept { return left_out_; }
  void clear() noexcept;

  /// Records work for watches. If `beside` is false, the work consists of listing the changes in
  /// `count` chunks. If it is true, the work consists of serving `count` watches on a thread other
  /// than the registry's. Times are from steady_ns().
  void add_watching(std::uint64_t begin_ns, std::uint64_t ns, std::uint64_t count, bool beside);

  /// Calls `take` for each piece of the JSON text.
  void write(const std::function<void(std::string_view)>& take) const;
  std::string json() const;

 private:
  friend class Observer;
  enum class Kind : std::uint8_t { input, batch, handler, watching };
  static constexpr std::uint16_t watches_track = 0xffff;
  struct Slice {
    std::uint64_t begin_ns = 0, ns = 0;
    std::uint64_t count = 0;    // input: sequence; batch: messages; handler: rows; watching: chunks, or watches
    std::uint64_t message = 0;  // batch: number of its first message if causes are recorded;
                                // otherwise 0
    std::uint64_t cause = 0, last_cause = 0;  // batch: causes of its first and its last message
    std::uint64_t messages = 0;               // batch: number of numbered messages
    std::uint32_t name = 0;                   // into names_
    std::uint16_t track = 0;                  // 0 for the registry's thread, n for worker n, or
                                              // watches_track
    Kind kind = Kind::input;
  };
  void add(const Slice& slice);
  void leave_out() noexcept { ++left_out_; }
  /// Returns the number assigned to a text. `key` identifies the text; later calls with the same
  /// key return the same number.
  std::uint32_t name(std::uint64_t key, std::string_view text);

  std::size_t slices_max_;
  std::vector<Slice> slices_;  // used as a ring buffer once it is full
  std::size_t next_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint16_t tracks_ = 1;
  bool beside_ = false;  // true if work for watches was recorded
  std::vector<std::string> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> name_of_;
};

}  // namespace muster
