// What a registry did and when, for a look at it: slices of time in Chrome's trace-event format, which ui.perfetto.dev and
// chrome://tracing open.
//
//   track "registry"   | push                                                     |   an input: what the host called
//                        | game.Damage       | | game.Died  |                         a batch of messages of one type
//                          | armor | health |                                         a handler and its rows
//   track "worker 1"                             | move |    | move |                 tasks of a pass that was spread
//
// Memory is bounded: the oldest slices are overwritten, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster {

/// Of one registry, on its thread. Must outlive its recording (EntityRegistry::set_trace); may be written afterwards.
class Trace {
 public:
  /// `slices_max`: at least 1; 64 bytes each, taken as they come.
  explicit Trace(std::size_t slices_max = std::size_t{1} << 18);

  std::size_t slices() const noexcept { return slices_.size(); }
  /// Slices that were overwritten, or not recorded because a batch had too many.
  std::uint64_t left_out() const noexcept { return left_out_; }
  void clear() noexcept;

  /// Gives the JSON in pieces.
  void write(const std::function<void(std::string_view)>& take) const;
  std::string json() const;

 private:
  friend class Observer;
  enum class Kind : std::uint8_t { input, batch, handler };
  struct Slice {
    std::uint64_t begin_ns = 0, ns = 0;
    std::uint64_t count = 0;                  // input: sequence; batch: messages; handler: rows
    std::uint64_t message = 0;                // batch: number of its first message, with causes recorded; 0: none
    std::uint64_t cause = 0, last_cause = 0;  // batch: of its first message, and of its last
    std::uint64_t messages = 0;               // batch: how many numbers it has
    std::uint32_t name = 0;                   // into names_
    std::uint16_t track = 0;                  // 0: the registry's thread; n: worker n
    Kind kind = Kind::input;
  };
  void add(const Slice& slice);
  void leave_out() noexcept { ++left_out_; }
  /// `key` stands for the text from its first use on.
  std::uint32_t name(std::uint64_t key, std::string_view text);

  std::size_t slices_max_;
  std::vector<Slice> slices_;  // a ring once it is full
  std::size_t next_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint16_t tracks_ = 1;
  std::vector<std::string> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> name_of_;
};

}  // namespace muster
