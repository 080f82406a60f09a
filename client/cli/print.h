// Text on stdout, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

/// The line and a newline.
void print_line(std::string_view line);

/// Rows whose cells stand below each other. Control characters in cells are made visible.
class Columns {
 public:
  /// Empty titles: no first line.
  explicit Columns(std::vector<std::string> titles) : titled_(!titles.empty()) {
    if (titled_) rows_.push_back(std::move(titles));
  }
  void add(std::vector<std::string> cells);
  /// Prints nothing without rows.
  void print() const;
  /// Then this line instead.
  void print_or(std::string_view nothing) const;

 private:
  bool empty() const noexcept { return rows_.size() == (titled_ ? 1u : 0u); }
  bool titled_;
  std::vector<std::vector<std::string>> rows_;
};

/// "2.5 s", "1 h 2 min".
std::string seconds_text(std::uint64_t ns);
/// The shortest that reads back the same.
std::string number_text(double value);

}  // namespace muster::cli
