// Splits the text of a schema into tokens, and finds the files that it includes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace muster::schemac {

struct Token {
  std::string text;  ///< the token's text; for strings, without the quotation marks
  bool is_string = false, is_word = false;
  std::size_t line = 1, column = 1;
};

/// Splits a schema's text into words, strings, numbers, and single characters, omitting comments.
/// The last token is empty.
std::vector<Token> tokens_of(std::string_view text);

/// Returns the folders in which flatc looks for the files that the file `path` includes.
std::vector<std::string> folders_of(const std::string& path, const std::vector<std::string>& include_folders);

/// Returns the first regular file called `name` in these folders, or an empty path if there is
/// none.
std::filesystem::path included_file(const std::string& name, const std::vector<std::string>& folders);

}  // namespace muster::schemac
