// Finds the lines of a schema's declarations. A binary schema does not have them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::schemac {

class Places {
 public:
  /// Reads a schema and the files that it includes. Files that cannot be read are omitted.
  Places(const std::string& source, const std::vector<std::string>& include_folders);

  /// Returns the place of a type or, if `field` is not empty, of its field or enum value, as
  /// "game.fbs:3:8: ". If the field is not found, returns the place of the type. If the type is not
  /// found either, returns the name of the main file, as "game.fbs: ".
  std::string of(std::string_view type, std::string_view field = {}) const;

  /// Returns the place at which the main file, or a file that it includes, includes a file with
  /// this file name ("parts.fbs"), or the first line of the main file if there is none.
  std::string of_include(std::string_view file_name) const;

  /// Returns the path under which a file was read: that of the main file as it was given, those of
  /// others as their folders were. Returns `path` if it was not read.
  std::string spelled(const std::string& path) const;

  /// Returns the type or the field that is declared at this place, or else the one declared before
  /// it, as "game.Health.value". Returns an empty string if there is none in the file.
  std::string declared_at(const std::string& path, std::size_t line, std::size_t column) const;

 private:
  struct Item {
    std::string path, type, field;
    std::size_t line, column;
  };
  void read(const std::string& path, const std::vector<std::string>& include_folders);
  static std::string text(const Item& item);

  std::string source_;
  std::map<std::string, std::string> files_;  ///< canonical path -> path as it was read
  std::vector<Item> items_;                   ///< in the order of each file
  std::vector<Item> includes_;                ///< `type` is the path in the statement
};

}  // namespace muster::schemac
