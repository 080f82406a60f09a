// What a world is at work on, kept where a process that dies leaves it for the next: WORLD-work, one page that is mapped, so that marking
// costs stores. An input at which processes die again and again is found by it.
//
//   0            16      48                    96      104    112        120       168     176          184        2232
//   | magic 16   | world | in work: a place 48 | deaths | code | hung at  | suspect | check | left out n | 256 of 8 | zero ...
//
//   a place      | sequence | tick | session | type 4 | hung 4 | zero 16 |
//
// 4096 bytes, numbers as this machine has them. What follows `check` are the numbers of inputs that are left out on request, and its hash.
//
// A power cut may lose marks that were made shortly before; what is known of a suspect when a world is opened is synced.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// Where processes died.
struct WorkSuspect {
  std::uint64_t sequence = 0;  ///< of the input that was in work
  std::uint64_t tick = 0;      ///< that was being made then; 0: none was, or the input was done again from the journal
  std::uint64_t session = 0;   ///< its author; 0: the host
  std::uint32_t type = 0;      ///< of its message; 0: unknown, or a flush
  std::uint64_t deaths = 0;    ///< processes that died there, one behind the other
  bool hung = false;           ///< it was killed while a handler did not return
  bool by_the_last = false;    ///< one of them was the process before this one
  /// It is not to be tried again by itself.
  bool is_sure() const noexcept { return deaths >= 2 || hung; }
};

/// Owner's thread, but for what is said of others. If no such file can be had, or another program cuts it off, marks are made and
/// lost.
class WorkMark {
 public:
  static constexpr std::size_t left_out_max = 256;

  WorkMark();
  /// Nothing is in work. The file goes, unless there is a suspect, or an input that is left out.
  ~WorkMark();
  WorkMark(const WorkMark&) = delete;
  WorkMark& operator=(const WorkMark&) = delete;

  /// Goes on with the file of the world at `path`, which is locked by the caller, and makes it where it is not there: finds out where the
  /// process before died. Marks of another `world` (FileMeta::world), and those that were made while other code ran, count for
  /// nothing.
  void open(const std::string& path, std::string_view world, std::uint64_t code);
  bool is_open() const noexcept { return mapped_; }
  /// Other code runs from now on: it has not died anywhere.
  void set_code(std::uint64_t code) noexcept;

  const std::optional<WorkSuspect>& suspect() const noexcept { return suspect_; }
  /// It was passed, or is not to be tried again.
  void forget() noexcept;

  /// Inputs of the journal that are left out on request: until the file has the state without them, each start leaves them out. In the order
  /// in which leave_out() named them; valid until it is called.
  std::span<const std::uint64_t> left_out() const noexcept { return {page_->left_out, page_->left_out_count}; }
  /// False: left_out_max are. Survives a loss of power when it returns.
  [[nodiscard]] bool leave_out(std::uint64_t sequence) noexcept;
  /// The file has the state without them.
  void forget_left_out() noexcept;

  /// Tick `tick` is being made, whose first input has this number, until end().
  void begin_tick(std::uint64_t tick, std::uint64_t sequence) noexcept;
  /// This input is in work, until the next one is, or end().
  void begin(std::uint64_t sequence, std::uint64_t session, std::uint32_t type) noexcept {
    in_work_->session = session;
    in_work_->type = type;
    store(in_work_->sequence, sequence);
  }
  /// Nothing is in work: all inputs up to this one, and all ticks up to this one, were handled.
  void end(std::uint64_t sequence, std::uint64_t tick) noexcept;
  /// What is in work does not return: where the process dies now, it dies of that. False: it returned. Any thread.
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
    __atomic_store_n(&to, value, __ATOMIC_RELEASE);  // whoever looks later sees what was stored before
  }
  static std::uint64_t check_of(const Page& page) noexcept;
  void find_suspect();
  void note_suspect() noexcept;

  const std::unique_ptr<Page> own_;  // until a file is mapped
  Page* page_;
  std::atomic<Page*> shared_page_;  // the same, for other threads
  Place* in_work_;
  bool mapped_ = false;
  int fd_ = -1;
  std::string path_;
  std::optional<WorkSuspect> suspect_;
};

}  // namespace muster
