// Marks are plain stores to a memory-mapped page, which survive the death of the process. A table
// in the world file would cost one transaction per input. If two processes die at the same place,
// the world stops before that place. During a tick, the place is identified by the tick rather than
// by the input, because sessions send different inputs after each start. If the process ends during
// a hang, that counts as two deaths. If you kill a process for another reason while it handles a
// long input, remove the mark or use --skip at the next start.
#include "server/world/journal/work_mark.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "schema/hash.h"
#include "server/world/journal/cut_off_page.h"
#include "system/open_file.h"
#include "system/standard_descriptors.h"

namespace muster {
namespace {

constexpr std::string_view magic("muster-work 1\n\0\0", 16);
constexpr std::size_t page_bytes = guarded_page_bytes;

}  // namespace

WorkMark::WorkMark()
    : own_(std::make_unique<Page>()), page_(own_.get()), shared_page_(page_), in_work_(&page_->in_work) {}

WorkMark::~WorkMark() {
  if (!mapped_) return;
  page_->in_work = {};
  struct stat own{}, there{};
  const bool is_ours = ::fstat(fd_, &own) == 0 && ::lstat(path_.c_str(), &there) == 0 && own.st_ino == there.st_ino &&
                       own.st_dev == there.st_dev;
  if (!suspect_ && left_out().empty() && is_ours) ::unlink(path_.c_str());
  unguard_page(page_);
  ::munmap(page_, page_bytes);
  ::close(fd_);
}

void WorkMark::open(const std::string& path, std::string_view world, std::uint64_t code) {
  if (mapped_) return;
  path_ = path + "-work";
  if (occupy_standard_descriptors() != 0) return;
  const int fd = open_file(path_.c_str(), O_RDWR | O_CREAT);
  if (fd < 0) return;
  struct stat file{};
  // The whole page must be allocated on disk, because writing to an unallocated page could kill the
  // process.
  if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || ::posix_fallocate(fd, 0, page_bytes) != 0) {
    ::close(fd);
    return;
  }
  void* const mapped = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    ::close(fd);
    return;
  }
  guard_page(mapped);
  fd_ = fd;
  mapped_ = true;
  page_ = static_cast<Page*>(mapped);
  in_work_ = &page_->in_work;
  const std::size_t named = std::min(world.size(), sizeof page_->world);
  const bool ours = file.st_size == page_bytes && std::memcmp(page_->magic, magic.data(), magic.size()) == 0 &&
                    std::memcmp(page_->world, world.data(), named) == 0 && page_->code == code;
  if (ours) {
    // If the list does not match its hash, the process died while writing it, before the change was
    // reported.
    if (page_->left_out_count > left_out_max || page_->left_out_check != check_of(*page_)) forget_left_out();
    find_suspect();
  } else {
    std::memset(mapped, 0, page_bytes);
    std::memcpy(page_->magic, magic.data(), magic.size());
    std::memcpy(page_->world, world.data(), named);
    page_->code = code;
  }
  page_->in_work = {};
  page_->hung = 0;
  shared_page_.store(page_, std::memory_order_release);
  if (suspect_) ::fsync(fd_);
}

void WorkMark::find_suspect() {
  const Place before = page_->suspect, died = page_->in_work;
  std::uint64_t deaths = page_->deaths;
  bool hung = before.hung != 0;
  Place at = before;
  if (died.sequence != 0) {
    // A replayed input keeps its original number. A live input may get another number if inputs
    // from sessions arrive before it, but its tick stays the same.
    const bool again = before.sequence != 0 && (died.tick != 0 && before.tick != 0 ? died.tick == before.tick
                                                                                   : died.sequence == before.sequence);
    deaths = again ? deaths + 1 : 1;
    hung = page_->hung == died.sequence || (again && hung);
    at = died;
  }
  if (at.sequence == 0 || deaths == 0) return;
  suspect_ = {.sequence = at.sequence,
              .tick = at.tick,
              .session = at.session,
              .type = at.type,
              .deaths = deaths,
              .hung = hung,
              .by_the_last = died.sequence != 0};
  note_suspect();
}

void WorkMark::note_suspect() noexcept {
  page_->suspect = {};
  page_->deaths = 0;
  if (!suspect_) return;
  page_->suspect = {.sequence = suspect_->sequence,
                    .tick = suspect_->tick,
                    .session = suspect_->session,
                    .type = suspect_->type,
                    .hung = suspect_->hung ? 1u : 0u};
  page_->deaths = suspect_->deaths;
}

void WorkMark::forget() noexcept {
  suspect_.reset();
  note_suspect();
}

std::uint64_t WorkMark::check_of(const Page& page) noexcept {
  if (page.left_out_count == 0) return 0;
  return hash64(
      {reinterpret_cast<const char*>(&page.left_out_count), (1 + page.left_out_count) * sizeof(std::uint64_t)});
}

bool WorkMark::leave_out(std::uint64_t sequence) noexcept {
  if (std::ranges::find(left_out(), sequence) != left_out().end()) return true;
  if (page_->left_out_count == left_out_max) return false;
  page_->left_out[page_->left_out_count++] = sequence;
  page_->left_out_check = check_of(*page_);
  if (mapped_) ::fsync(fd_);
  return true;
}

void WorkMark::forget_left_out() noexcept { page_->left_out_check = page_->left_out_count = 0; }

void WorkMark::set_code(std::uint64_t code) noexcept {
  if (page_->code == code) return;
  forget();
  forget_left_out();
  page_->code = code;
}

void WorkMark::begin_tick(std::uint64_t tick, std::uint64_t sequence) noexcept {
  begin(sequence, 0, 0);
  in_work_->tick = tick;
}

void WorkMark::end(std::uint64_t sequence, std::uint64_t tick) noexcept {
  store(in_work_->sequence, 0);
  in_work_->tick = 0;
  if (suspect_ && (suspect_->tick != 0 ? tick >= suspect_->tick : sequence >= suspect_->sequence)) [[unlikely]]
    forget();
}

void WorkMark::hang(bool on) noexcept {
  Page& page = *shared_page_.load(std::memory_order_acquire);
  // If the world has handled the input in the meantime, that input is not the cause of a later
  // death of the process.
  store(page.hung, on ? __atomic_load_n(&page.in_work.sequence, __ATOMIC_ACQUIRE) : 0);
}

}  // namespace muster
