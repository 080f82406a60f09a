// Determines which texts of a set are not mentioned anywhere, so that these texts can be dropped.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "messages/batch.h"
#include "registry/apply/template.h"
#include "registry/storage/storage.h"
#include "schema/builtin.h"
#include "schema/descriptor.h"

namespace muster {

/// Starts with a set of texts and removes every text that it finds mentioned. In a table or in a
/// value with unknown fields, any number that equals a text's hash counts as a mention. This rule
/// may keep a text unnecessarily, but a text in use is never dropped.
class TextMentions {
 public:
  explicit TextMentions(std::span<const std::uint64_t> hashes) : left_(hashes.begin(), hashes.end()) {}

  void in(Text text) { left_.erase(text.hash); }
  /// Searches the messages, starting with `first`. In a table's batch, `first` begins at `offset`
  /// in the body. The texts in a DropTexts do not count as mentioned.
  void in(BatchView batch, std::uint32_t first = 0, std::size_t offset = 0);
  void in(const Template& what, DefineTemplateView definition, const TypeTable& types);
  /// Searches all rows.
  void in(const Storage& storage);
  /// True if the text has not been mentioned.
  bool left(Text text) const { return left_.contains(text.hash); }
  bool empty() const noexcept { return left_.empty(); }

 private:
  void in_bytes(std::span<const std::byte> bytes);

  std::unordered_set<std::uint64_t> left_;
};

}  // namespace muster
