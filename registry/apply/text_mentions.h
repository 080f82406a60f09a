// Finds which of some texts nothing mentions, so that they may be dropped.
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

/// Begins with some texts; each that is found mentioned is taken out. A number of a table or of a value that nobody knows the fields of
/// counts as a mention where it has a text's hash: rather a text too many is kept.
class TextMentions {
 public:
  explicit TextMentions(std::span<const std::uint64_t> hashes) : left_(hashes.begin(), hashes.end()) {}

  void in(Text text) { left_.erase(text.hash); }
  /// In the messages from `first` on, which begins at `offset` in the body of a table's batch. The texts that a DropTexts names are
  /// not mentioned by it.
  void in(BatchView batch, std::uint32_t first = 0, std::size_t offset = 0);
  void in(const Template& what, DefineTemplateView definition, const TypeTable& types);
  /// In all rows.
  void in(const Storage& storage);
  /// Whether nothing mentioned it.
  bool left(Text text) const { return left_.contains(text.hash); }
  bool empty() const noexcept { return left_.empty(); }

 private:
  void in_bytes(std::span<const std::byte> bytes);

  std::unordered_set<std::uint64_t> left_;
};

}  // namespace muster
