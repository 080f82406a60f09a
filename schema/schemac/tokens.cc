#include "schema/schemac/tokens.h"

#include <algorithm>
#include <cctype>
#include <system_error>

namespace muster::schemac {

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0, line = 1, line_begin = 0;
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  const auto step = [&] {
    if (text[at] == '\n') ++line, line_begin = at + 1;
    ++at;
  };
  while (at < text.size()) {
    const char c = text[at];
    Token token;
    token.line = line;
    token.column = at - line_begin + 1;
    if (text.substr(at).starts_with("//")) {
      while (at < text.size() && text[at] != '\n') ++at;
      continue;
    }
    if (text.substr(at).starts_with("/*")) {
      while (at < text.size() && !text.substr(at).starts_with("*/")) step();
      at = std::min(at + 2, text.size());
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      step();
      continue;
    }
    if (c == '"' || c == '\'') {
      step();
      while (at < text.size() && text[at] != c) {
        if (text[at] == '\\' && at + 1 < text.size()) token.text += text[at], step();
        token.text += text[at];
        step();
      }
      at = std::min(at + 1, text.size());
      token.is_string = true;
    } else if (is_letter(c) || c == '-' || c == '+') {
      do {
        token.text += text[at++];
        // A qualified name such as std::string is one token.
        if (text.substr(at).starts_with("::")) token.text += "::", at += 2;
      } while (at < text.size() && is_letter(text[at]));
      token.is_word = true;
    } else {
      token.text = c;
      step();
    }
    tokens.push_back(std::move(token));
  }
  tokens.emplace_back();
  tokens.back().line = line;
  tokens.back().column = at - line_begin + 1;
  return tokens;
}

std::vector<std::string> folders_of(const std::string& path, const std::vector<std::string>& include_folders) {
  std::vector<std::string> folders = {std::filesystem::path(path).parent_path().string()};
  if (folders.front().empty()) folders.front() = ".";
  folders.insert(folders.end(), include_folders.begin(), include_folders.end());
  return folders;
}

std::filesystem::path included_file(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.lexically_normal();
  }
  return {};
}

}  // namespace muster::schemac
