// Tracks how much of the -wal is in use, how much has been merged into the file, and how much
// cannot be merged yet because of readers.
//
//   0              merged             until              used
//   |----------------|------------------|------------------|      the -wal, in bytes of pages
//   those in the file | being merged now | written since
//
// Once the whole -wal has been merged, the next commit restarts the -wal at 0, unless another
// program is reading it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace muster {

/// Must be used on the writing thread.
class WalUse {
 public:
  /// Must be called after a commit with the number of bytes in use. If the value decreases, the
  /// -wal was restarted.
  void wrote(std::uint64_t used) noexcept {
    if (used < used_) {
      merged_ = kept_ = held_ = 0;
      began_anew_ = true;
    } else if (used > used_ && used_ > 0 && merged_ == used_) {
      kept_ = used_;  // the -wal could have been restarted, but a reader prevented it
    }
    used_ = used;
  }
  /// Must be called before a merge of all bytes in use. Only one merge may run at a time.
  void merge_begun() noexcept {
    until_ = used_;
    merging_ = true;
    began_anew_ = false;
  }
  /// Must be called after a merge with the number of bytes of the -wal that are now in the file, or
  /// with no value if the merge failed.
  void merge_ended(std::optional<std::uint64_t> in_file) noexcept {
    merging_ = false;
    if (began_anew_) return;  // the -wal was restarted, so everything had been merged
    merged_ = until_;         // the next merge retries the rest
    if (in_file) held_ = until_ - std::min(until_, *in_file);
    if (!in_file || held_ > 0) kept_ = until_;
  }
  bool is_merging() const noexcept { return merging_; }
  std::uint64_t unmerged() const noexcept { return used_ - merged_; }
  /// Returns the number of bytes in use that a merge could free. Excludes bytes that cannot be
  /// merged because of readers or a failing disk.
  std::uint64_t length() const noexcept { return used_ - kept_; }
  /// Returns the number of bytes that the previous merge could not move because another program was
  /// reading an older state.
  std::uint64_t held() const noexcept { return held_; }

 private:
  std::uint64_t used_ = 0, merged_ = 0, until_ = 0, kept_ = 0, held_ = 0;
  bool merging_ = false, began_anew_ = false;
};

}  // namespace muster
