// Records the input that is being handled in WORLD-work, a memory-mapped page that outlives the
// process, so that a mark costs only a few stores. The next process uses the marks to find an input
// at which processes die repeatedly.
//
//   0            16      48                    96      104    112        120       168     176          184        2232
//   | magic 16   | world | in work: a place 48 | deaths | code | hung at  | suspect | check | left out n | 256 of 8 | zero ...
//
//   a place      | sequence | tick | session | type 4 | hung 4 | zero 16 |
//
// The file is 4096 bytes long and uses the machine's byte order. `check` is followed by the number
// of inputs to leave out, their sequence numbers, and a hash of those numbers.
//
// Recent marks may be lost in a power failure. The marks of a suspect are synced when a world is
// opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// Describes an input during which one or more processes died.
struct WorkSuspect {
  std::uint64_t sequence = 0;  ///< sequence number of the input being handled

  /// The tick that was being made at the time, or 0 if no tick was being made or if the input was
  /// being replayed from the journal.
  std::uint64_t tick = 0;
  std::uint64_t session = 0;  ///< the session that sent the input, or 0 for the host
  std::uint32_t type = 0;     ///< type of the input's message, or 0 for a flush or if unknown
  std::uint64_t deaths = 0;   ///< number of consecutive processes that died at this input
  bool hung = false;          ///< true if a process was killed while a handler was hanging
  bool by_the_last = false;   ///< true if the previous process died at this input

  /// Returns true if the input must not be retried automatically.
  bool is_sure() const noexcept { return deaths >= 2 || hung; }
};

/// Must be used on the world thread, except for members marked otherwise. If the file cannot be
/// created, or if another program truncates it, marks are lost.
class WorkMark {
 public:
  static constexpr std::size_t left_out_max = 256;

  WorkMark();
  /// Marks that no input is being handled. Removes the file unless there is a suspect or an input
  /// to leave out.
  ~WorkMark();
  WorkMark(const WorkMark&) = delete;
  WorkMark& operator=(const WorkMark&) = delete;

  /// Opens or creates the work file of the world at `path`, which the caller must have locked, and
  /// finds the input at which the previous process died. Ignores marks of any other `world`
  /// (FileMeta::world) and marks made by other code.
  void open(const std::string& path, std::string_view world, std::uint64_t code);
  bool is_open() const noexcept { return mapped_; }
  /// Sets the code identity, and forgets any suspect that other code recorded.
  void set_code(std::uint64_t code) noexcept;

  const std::optional<WorkSuspect>& suspect() const noexcept { return suspect_; }
  /// Forgets the suspect. Must be called once the suspect has been handled or left out.
  void forget() noexcept;

  /// Returns the journaled inputs to leave out, in the order in which leave_out() was called. They
  /// are left out at each start until the world file contains the state without them. The span is
  /// valid until the next call to leave_out().
  std::span<const std::uint64_t> left_out() const noexcept { return {page_->left_out, page_->left_out_count}; }
  /// Adds an input to leave out. The change is on disk when the call returns. Returns false if
  /// there are already left_out_max such inputs.
  [[nodiscard]] bool leave_out(std::uint64_t sequence) noexcept;
  /// Clears the list of inputs to leave out. Must be called once the world file contains the state
  /// without them.
  void forget_left_out() noexcept;

  /// Marks that `tick` is being made until end() is called. `sequence` is the sequence number of
  /// the tick's first input.
  void begin_tick(std::uint64_t tick, std::uint64_t sequence) noexcept;
  /// Marks the input that is being handled. The mark stays until the next begin() or end().
  void begin(std::uint64_t sequence, std::uint64_t session, std::uint32_t type) noexcept {
    in_work_->session = session;
    in_work_->type = type;
    store(in_work_->sequence, sequence);
  }
  /// Marks that no input is being handled, and that all inputs up to `sequence` and all ticks up to
  /// `tick` have been handled.
  void end(std::uint64_t sequence, std::uint64_t tick) noexcept;
  /// Marks that the current input is hanging (true) or has continued (false). If the process ends
  /// while the input is hanging, that input is considered the cause. May be called on any thread.
  void hang(bool on) noexcept;

 private:
  struct Place {
    std::uint64_t sequence = 0, tick = 0, session = 0;
    std::uint32_t type = 0, hung = 0;
    std::uint64_t zero[2] = {};
  };
  static_assert(sizeof(Place) == 48);
  struct Page {
    char magic[16] = {};
    char world[32] = {};
    Place in_work;
    std::uint64_t deaths = 0, code = 0, hung = 0;
    Place suspect;
    std::uint64_t left_out_check = 0, left_out_count = 0, left_out[left_out_max] = {};
  };
  static_assert(sizeof(Page) == 2232);
  static void store(std::uint64_t& to, std::uint64_t value) noexcept {
    __atomic_store_n(&to, value, __ATOMIC_RELEASE);  // ensures that readers also see earlier stores
  }
  static std::uint64_t check_of(const Page& page) noexcept;
  void find_suspect();
  void note_suspect() noexcept;

  const std::unique_ptr<Page> own_;  // used until a file is mapped
  Page* page_;
  std::atomic<Page*> shared_page_;  // a copy of page_ for other threads
  Place* in_work_;
  bool mapped_ = false;
  int fd_ = -1;
  std::string path_;
  std::optional<WorkSuspect> suspect_;
};

}  // namespace muster
