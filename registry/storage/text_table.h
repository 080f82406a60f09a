// Stores the bytes of texts. A Text value is the hash of a text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/storage/flat_map.h"
#include "schema/builtin.h"
#include "schema/hash.h"

namespace muster {

/// Returns the hash of a text, which is 0 for the empty text. A few other texts also have the hash
/// 0. They collide with the empty text, so the table refuses them.
constexpr Text text_of(std::string_view bytes) noexcept { return bytes.empty() ? Text{} : Text{hash64(bytes)}; }

/// The texts of a table before it first dropped some.
struct TextsBefore {
  bool dropped = false;
  std::vector<std::string> texts;
};

/// Stores texts in the order in which they were added. Views are valid until texts are dropped.
class TextTable {
 public:
  /// Adds a text and returns its hash. If a different text has the same hash (the empty text has
  /// the hash 0), adds nothing and sets `collision` to true.
  Text intern(std::string_view bytes, bool* collision = nullptr) {
    const Text text = text_of(bytes);
    if (!text) {
      if (collision) *collision = !bytes.empty();
      return text;
    }
    if (const std::uint32_t* known = by_hash_.find(text.hash)) {
      if (collision) *collision = texts_[*known] != bytes;
      return text;
    }
    by_hash_.put(text.hash, static_cast<std::uint32_t>(texts_.size()));
    hashes_.push_back(text.hash);
    texts_.emplace_back(bytes);
    bytes_ += bytes.size();
    return text;
  }
  bool knows(Text text) const noexcept { return !text || by_hash_.find(text.hash); }
  /// Returns an empty view if the text is unknown.
  std::string_view find(Text text) const noexcept {
    const std::uint32_t* known = by_hash_.find(text.hash);
    return known ? std::string_view(texts_[*known]) : std::string_view{};
  }
  /// True if the text cannot be added, because a different text has its hash.
  bool collides(std::string_view bytes) const noexcept {
    const Text text = text_of(bytes);
    return text ? by_hash_.find(text.hash) && find(text) != bytes : !bytes.empty();
  }
  std::size_t size() const noexcept { return texts_.size(); }
  /// Returns the i-th text, in the order of addition.
  std::string_view operator[](std::size_t i) const noexcept { return texts_[i]; }
  /// Returns the hash of the i-th text.
  Text at(std::size_t i) const noexcept { return Text{hashes_[i]}; }
  /// Returns the total number of bytes of all texts.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Drops the texts for which `goes(Text)` returns true. The other texts keep their order, and new
  /// texts are added after them.
  template <class F>
  void drop(F goes) {
    if (before_ && !std::exchange(before_->dropped, true)) before_->texts.assign(texts_.begin(), texts_.end());
    std::deque<std::string> texts;
    std::vector<std::uint64_t> hashes;
    by_hash_.clear();
    bytes_ = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (goes(Text{hashes_[i]})) continue;
      by_hash_.put(hashes_[i], static_cast<std::uint32_t>(texts.size()));
      hashes.push_back(hashes_[i]);
      bytes_ += texts_[i].size();
      texts.push_back(std::move(texts_[i]));
    }
    texts_ = std::move(texts);
    hashes_ = std::move(hashes);
    ++drops_;
  }
  /// Copies all texts to `before` before the next drop, unless `before->dropped` is set. Null ends
  /// this. `before` must remain valid until the next call.
  void keep_dropped(TextsBefore* before) noexcept { before_ = before; }
  /// Returns to an earlier state, which had `count` texts. `before` contains at least these texts,
  /// or is null if none have been dropped since. Counts as a drop.
  void rewind(std::size_t count, const TextsBefore* before) {
    if (before) {
      texts_.assign(before->texts.begin(), before->texts.end());
      hashes_.clear();
      by_hash_.clear();
      bytes_ = 0;
      for (const std::string& text : texts_) {
        bytes_ += text.size();
        by_hash_.put(text_of(text).hash, static_cast<std::uint32_t>(hashes_.size()));
        hashes_.push_back(text_of(text).hash);
      }
    }
    for (; texts_.size() > count; texts_.pop_back(), hashes_.pop_back()) {
      by_hash_.erase(hashes_.back());
      bytes_ -= texts_.back().size();
    }
    ++drops_;
  }
  /// Exchanges all texts with another table. Counts as a drop for this table.
  void swap(TextTable& other) noexcept {
    std::swap(*this, other);
    drops_ = std::max(drops_, other.drops_) + 1;
  }
  /// Changes whenever texts are dropped or swapped, because an index may then refer to another
  /// text.
  std::uint64_t drops() const noexcept { return drops_; }

 private:
  std::deque<std::string> texts_;
  std::vector<std::uint64_t> hashes_;  // parallel to texts_
  std::uint64_t bytes_ = 0, drops_ = 0;
  FlatMap<std::uint64_t, std::uint32_t> by_hash_;
  TextsBefore* before_ = nullptr;
};

}  // namespace muster
