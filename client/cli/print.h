// Prints output to stdout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

/// Prints the line and a newline.
void print_line(std::string_view line);
/// Makes each line of `text` printable. Error messages quote file names and file contents, which
/// must not be able to send control codes to a terminal.
std::string printable_lines(std::string_view text);

/// Returns the count and the noun: "1 part", "2 parts".
std::string plural(std::uint64_t count, std::string_view one, std::string_view many);

/// Prints rows as aligned columns. Control characters in cells are escaped.
class Columns {
 public:
  /// If the titles are empty, no title line is printed.
  explicit Columns(std::vector<std::string> titles) : titled_(!titles.empty()) {
    if (titled_) rows_.push_back(std::move(titles));
  }
  void add(std::vector<std::string> cells);
  /// Prints nothing if there are no rows.
  void print() const;
  /// Prints the columns, or the line `nothing` if there are no rows.
  void print_or(std::string_view nothing) const;

 private:
  bool empty() const noexcept { return rows_.size() == (titled_ ? 1u : 0u); }
  bool titled_;
  std::vector<std::vector<std::string>> rows_;
};

/// Formats a duration, as in "2.5 s" or "1 h 2 min".
std::string seconds_text(std::uint64_t ns);
/// Returns the shortest string that reads back as the same number.
std::string number_text(double value);

}  // namespace muster::cli
