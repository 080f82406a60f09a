#include "client/import/fbx_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace muster {
namespace {

/// Reads values from the front of a binary record. Returns nothing if a value does not fit.
class BinaryValues {
 public:
  explicit BinaryValues(std::string_view bytes) : left_(bytes) {}

  std::optional<std::string_view> text() {
    std::uint32_t size = 0;
    if (!left_.starts_with('S') || !take(size, 1) || size > left_.size()) return {};
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  std::optional<double> number() {
    if (left_.empty()) return {};
    switch (left_.front()) {
      case 'I': return take_as<std::int32_t>();
      case 'L': return take_as<std::int64_t>();
      case 'F': return take_as<float>();
      case 'D': return take_as<double>();
      default: return {};
    }
  }

 private:
  template <class T>
  bool take(T& value, std::size_t skipped) {
    if (left_.size() < skipped + sizeof value) return false;
    std::memcpy(&value, left_.data() + skipped, sizeof value);
    left_.remove_prefix(skipped + sizeof value);
    return true;
  }
  template <class T>
  std::optional<double> take_as() {
    T value{};
    if (!take(value, 1)) return {};
    return static_cast<double>(value);
  }
  std::string_view left_;
};

/// Returns at most `count` numbers from a binary record, after the three strings that follow a
/// property's name.
std::vector<double> binary_numbers(std::string_view behind_name, std::size_t count) {
  BinaryValues values(behind_name);
  std::vector<double> numbers;
  for (unsigned i = 0; i < 3; ++i)
    if (!values.text()) return {};
  while (numbers.size() < count) {
    const auto number = values.number();
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

/// Returns at most `count` numbers from the end of a line of text, after three quoted strings.
std::vector<double> text_numbers(std::string_view behind_name, std::size_t count) {
  std::string_view line = behind_name.substr(0, behind_name.find('\n'));
  line.remove_prefix(std::min(line.rfind('"') + 1, line.size()));
  std::vector<double> numbers;
  while (!line.empty() && numbers.size() < count) {
    const std::size_t begin = line.find_first_of("+-.0123456789");
    if (begin == line.npos) break;
    line.remove_prefix(begin + (line[begin] == '+' ? 1 : 0));
    double number = 0;
    const auto end = std::from_chars(line.data(), line.data() + line.size(), number);
    if (end.ec != std::errc()) break;
    numbers.push_back(number);
    line.remove_prefix(static_cast<std::size_t>(end.ptr - line.data()));
  }
  return numbers;
}

/// Finds all properties with this name in the file, and returns the `count` numbers of each one.
std::vector<std::vector<double>> properties(std::string_view file, std::string_view name, std::size_t count) {
  const bool is_binary = file.starts_with("Kaydara FBX Binary");
  std::vector<std::vector<double>> found;
  for (std::size_t at = 0; (at = file.find(name, at)) != file.npos;) {
    const std::size_t begin = at;
    at += name.size();
    std::vector<double> numbers;
    if (is_binary) {
      std::uint32_t size = 0;
      if (begin < 5 || file[begin - 5] != 'S') continue;
      std::memcpy(&size, file.data() + begin - 4, sizeof size);
      if (size == name.size()) numbers = binary_numbers(file.substr(at), count);
    } else if (begin > 0 && file[begin - 1] == '"' && at < file.size() && file[at] == '"') {
      numbers = text_numbers(file.substr(at + 1), count);
    }
    if (numbers.size() == count) found.push_back(std::move(numbers));
  }
  return found;
}

bool any_other_than(const std::vector<std::vector<double>>& found, double usual) {
  return std::ranges::any_of(
      found, [&](const auto& numbers) { return std::ranges::any_of(numbers, [&](double n) { return n != usual; }); });
}

}  // namespace

std::vector<std::string> unread_in_fbx(std::string_view file) {
  std::vector<std::string> warnings;
  if (any_other_than(properties(file, "CameraProjectionType", 1), 0))
    warnings.push_back("the file has an orthographic camera (CameraProjectionType); it came in as a perspective one.");
  const auto angles = properties(file, "FieldOfView", 1), across = properties(file, "FieldOfViewX", 1);
  // Most programs write both properties for every camera, so a file with fewer FieldOfView than
  // FieldOfViewX properties is missing some.
  if (!across.empty() && angles.size() < across.size())
    warnings.push_back("the file has a camera with FieldOfViewX and no FieldOfView; its angle was not read.");
  if (any_other_than(properties(file, "GeometricTranslation", 3), 0) ||
      any_other_than(properties(file, "GeometricRotation", 3), 0) ||
      any_other_than(properties(file, "GeometricScaling", 3), 1))
    warnings.push_back(
        "the file has geometric transforms; the children of a node with one are moved by it too, which is wrong.");
  return warnings;
}

}  // namespace muster
