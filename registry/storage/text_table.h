// Keeps the bytes whose hashes Text values are.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "registry/storage/flat_map.h"
#include "schema/builtin.h"
#include "schema/hash.h"

namespace muster {

/// The hash of a text; 0 only for the empty one.
constexpr Text text_of(std::string_view bytes) noexcept { return bytes.empty() ? Text{} : Text{hash64(bytes)}; }

/// Keeps texts in the order they came. Views stay valid as long as the table.
class TextTable {
 public:
  /// Keeps a text and gives its hash. Where another text has that hash nothing is kept, and `collision` is set to true.
  Text intern(std::string_view bytes, bool* collision = nullptr) {
    const Text text = text_of(bytes);
    if (!text) return text;
    if (const std::uint32_t* known = by_hash_.find(text.hash)) {
      if (collision) *collision = texts_[*known] != bytes;
      return text;
    }
    by_hash_.put(text.hash, static_cast<std::uint32_t>(texts_.size()));
    texts_.emplace_back(bytes);
    return text;
  }
  bool knows(Text text) const noexcept { return !text || by_hash_.find(text.hash); }
  /// Empty where unknown.
  std::string_view find(Text text) const noexcept {
    const std::uint32_t* known = by_hash_.find(text.hash);
    return known ? std::string_view(texts_[*known]) : std::string_view{};
  }
  std::size_t size() const noexcept { return texts_.size(); }
  /// The i-th text that came.
  std::string_view operator[](std::size_t i) const noexcept { return texts_[i]; }
  void clear() {
    texts_.clear();
    by_hash_.clear();
  }

 private:
  std::deque<std::string> texts_;
  FlatMap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace muster
