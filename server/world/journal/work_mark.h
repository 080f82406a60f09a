// Records the input in work in WORLD-work, a mapped page that survives the process, so that a mark
// costs only stores. The next process finds an input at which processes die repeatedly.
//
//   0            16      48                    96      104    112        120       168     176          184        2232
//   | magic 16   | world | in work: a place 48 | deaths | code | hung at  | suspect | check | left out n | 256 of 8 | zero ...
//
//   a place      | sequence | tick | session | type 4 | hung 4 | zero 16 |
//
// 4096 bytes, numbers in the machine's byte order. After `check` follow the number of inputs to
// leave out, their sequences, and a hash of these.
//
// A power cut may lose recent marks. Marks of a suspect are synced when a world is opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// An input at which processes died.
struct WorkSuspect {
  std::uint64_t sequence = 0;  ///< of the input in work
  /// That was being made then; 0: none was, or the input was done again from the journal.
  std::uint64_t tick = 0;
  std::uint64_t session = 0;  ///< that sent it; 0: the host
  std::uint32_t type = 0;     ///< of its message; 0: unknown, or a flush
  std::uint64_t deaths = 0;   ///< consecutive processes that died there
  bool hung = false;          ///< a process was killed while a handler did not return
  bool by_the_last = false;   ///< the last process died there
  /// True if the input must not be tried again automatically.
  bool is_sure() const noexcept { return deaths >= 2 || hung; }
};

/// Used on the world thread, except for members marked otherwise. If the file cannot be made, or
/// another program truncates it, marks are lost.
class WorkMark {
 public:
  static constexpr std::size_t left_out_max = 256;

  WorkMark();
  /// Marks that no input is in work. Removes the file, unless there is a suspect or an input to
  /// leave out.
  ~WorkMark();
  WorkMark(const WorkMark&) = delete;
  WorkMark& operator=(const WorkMark&) = delete;

  /// Opens or makes the file of the world at `path`, which the caller must have locked, and finds
  /// the input at which the last process died. Ignores marks of another `world` (FileMeta::world),
  /// and marks made by other code.
  void open(const std::string& path, std::string_view world, std::uint64_t code);
  bool is_open() const noexcept { return mapped_; }
  /// Sets the code, and forgets suspects of other code.
  void set_code(std::uint64_t code) noexcept;

  const std::optional<WorkSuspect>& suspect() const noexcept { return suspect_; }
  /// Forgets the suspect, which was handled, or is left out.
  void forget() noexcept;

  /// Returns the inputs of the journal to leave out, in the order of calls of leave_out(). Each
  /// start leaves them out until the file has the state without them. Valid until leave_out() is
  /// called.
  std::span<const std::uint64_t> left_out() const noexcept { return {page_->left_out, page_->left_out_count}; }
  /// Adds an input to leave out, on the disk on return. Returns false if there are left_out_max of
  /// them.
  [[nodiscard]] bool leave_out(std::uint64_t sequence) noexcept;
  /// Removes all inputs to leave out, when the file has the state without them.
  void forget_left_out() noexcept;

  /// Marks that tick `tick`, whose first input is `sequence`, is under way until end().
  void begin_tick(std::uint64_t tick, std::uint64_t sequence) noexcept;
  /// Marks the input in work, until the next begin() or end().
  void begin(std::uint64_t sequence, std::uint64_t session, std::uint32_t type) noexcept {
    in_work_->session = session;
    in_work_->type = type;
    store(in_work_->sequence, sequence);
  }
  /// Marks that no input is in work, and that all inputs and ticks up to these were handled.
  void end(std::uint64_t sequence, std::uint64_t tick) noexcept;
  /// Marks that the input in work hangs (true) or has continued (false). If the process ends while
  /// it hangs, the input is the cause. Any thread.
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
    __atomic_store_n(&to, value, __ATOMIC_RELEASE);  // later readers see earlier stores
  }
  static std::uint64_t check_of(const Page& page) noexcept;
  void find_suspect();
  void note_suspect() noexcept;

  const std::unique_ptr<Page> own_;  // used until a file is mapped
  Page* page_;
  std::atomic<Page*> shared_page_;  // the same, for other threads
  Place* in_work_;
  bool mapped_ = false;
  int fd_ = -1;
  std::string path_;
  std::optional<WorkSuspect> suspect_;
};

}  // namespace muster
