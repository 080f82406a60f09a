// How much of the -wal is in use, how much of that was merged into the file, and what readers keep there.
//
//   0              merged             until              used
//   |----------------|------------------|------------------|      the -wal, in bytes of pages
//   those in the file | being merged now | written since
//
// It begins anew, at 0, with a commit before which all of it was merged, where nobody reads it just then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace muster {

/// Of the thread that writes.
class WalUse {
 public:
  /// A commit left so much in use. Less than before: it began anew.
  void wrote(std::uint64_t used) noexcept {
    if (used < used_) {
      merged_ = kept_ = held_ = 0;
      began_anew_ = true;
    } else if (used > used_ && used_ > 0 && merged_ == used_) {
      kept_ = used_;  // it could have: somebody reads it
    }
    used_ = used;
  }
  /// A merge of all that is in use begins. One at a time.
  void merge_begun() noexcept {
    until_ = used_;
    merging_ = true;
    began_anew_ = false;
  }
  /// It ended, and by now so much of the -wal is in the file; no value: it failed, and nobody knows.
  void merge_ended(std::optional<std::uint64_t> in_file) noexcept {
    merging_ = false;
    if (began_anew_) return;  // so all of it was
    merged_ = until_;         // what could not be merged is tried again with what comes
    if (in_file) held_ = until_ - std::min(until_, *in_file);
    if (!in_file || held_ > 0) kept_ = until_;
  }
  bool is_merging() const noexcept { return merging_; }
  std::uint64_t unmerged() const noexcept { return used_ - merged_; }
  /// Of what is in use, that which would go were all of it merged: not what readers or a failing disk keep there.
  std::uint64_t length() const noexcept { return used_ - kept_; }
  /// What was to be merged the last time and could not, because somebody reads what the file was before.
  std::uint64_t held() const noexcept { return held_; }

 private:
  std::uint64_t used_ = 0, merged_ = 0, until_ = 0, kept_ = 0, held_ = 0;
  bool merging_ = false, began_anew_ = false;
};

}  // namespace muster
