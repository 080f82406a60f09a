#include "client/cli/print.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "messages/value_text.h"

namespace muster::cli {
namespace {

/// Returns the width of a string in columns, assuming that every UTF-8 character is one column
/// wide.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string plural(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + ' ' + std::string(count == 1 ? one : many);
}

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

void Columns::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Columns::print() const {
  if (empty()) return;
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    print_line(line);
  }
}

void Columns::print_or(std::string_view nothing) const { empty() ? print_line(nothing) : print(); }

std::string seconds_text(std::uint64_t ns) {
  const std::uint64_t seconds = ns / 1'000'000'000;
  if (seconds >= 3600) return std::to_string(seconds / 3600) + " h " + std::to_string(seconds / 60 % 60) + " min";
  if (seconds >= 60) return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  const std::uint64_t ms = ns / 1'000'000;
  return number_text(static_cast<double>(ms) / 1000) + " s";
}

std::string number_text(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += printable(text.substr(0, end));
    if (end == text.npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace muster::cli
