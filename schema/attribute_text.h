// Helper functions for the attribute readers: one that trims a string, and one that creates an
// error. Internal to schema/.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace muster::schema_detail {

[[nodiscard]] inline std::unexpected<std::string> fail(std::string what) { return std::unexpected(std::move(what)); }

/// Strips spaces and tabs from both ends of a string.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace muster::schema_detail
