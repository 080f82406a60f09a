// Helpers of the attribute readers: trimming a text and refusing it. Internal to schema/.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace muster::schema_detail {

[[nodiscard]] inline std::unexpected<std::string> fail(std::string what) { return std::unexpected(std::move(what)); }

/// Returns the text without spaces and tabs at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace muster::schema_detail
