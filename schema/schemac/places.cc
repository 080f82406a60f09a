#include "schema/schemac/places.h"
#include "schema/schemac/names.h"

#include <filesystem>
#include <system_error>

#include "schema/schemac/flatc.h"
#include "schema/schemac/tokens.h"

namespace muster::schemac {
namespace {

std::string canonical(const std::string& path) {
  std::error_code error;
  return std::filesystem::weakly_canonical(path, error).string();
}

}  // namespace

Places::Places(const std::string& source, const std::vector<std::string>& include_folders) : source_(source) {
  read(source, include_folders);
}

void Places::read(const std::string& path, const std::vector<std::string>& include_folders) {
  if (files_.size() >= schema_files_max || !files_.emplace(canonical(path), path).second) return;
  const auto bytes = read_file(path);
  if (!bytes) return;
  const std::vector<Token> tokens = tokens_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  std::string space, type;
  std::size_t parentheses = 0;
  bool in_body = false, in_enum = false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const Token& next = tokens[i + 1];
    if (token.is_string) continue;
    if (token.text == "(") ++parentheses;
    if (token.text == ")" && parentheses > 0) --parentheses;
    if (parentheses > 0) continue;
    if (in_body) {
      const bool begins = tokens[i - 1].text == "{" || tokens[i - 1].text == (in_enum ? "," : ";");
      if (token.text == "}")
        in_body = false;
      else if (token.is_word && begins)
        items_.push_back({path, type, token.text, token.line, token.column});
    } else if (token.text == "{") {
      in_body = !type.empty();
    } else if (token.text == "include" && next.is_string) {
      includes_.push_back({path, next.text, {}, next.line, next.column});
      const std::filesystem::path found = included_file(next.text, folders_of(path, include_folders));
      if (!found.empty()) read(found.string(), include_folders);
    } else if (token.text == "namespace") {
      space = next.is_word ? next.text + "." : std::string();
      ++i;
    } else if (token.text == "struct" || token.text == "table" || token.text == "enum" || token.text == "union") {
      in_enum = token.text == "enum" || token.text == "union";
      type = space + next.text;
      items_.push_back({path, type, {}, next.line, next.column});
      ++i;
    }
  }
}

std::string Places::text(const Item& item) {
  return item.path + ":" + std::to_string(item.line) + ":" + std::to_string(item.column) + ": ";
}

std::string Places::of(std::string_view type, std::string_view field) const {
  const Item* found = nullptr;
  for (const Item& item : items_) {
    if (item.type != type) continue;
    if (item.field == field) return text(item);
    if (item.field.empty()) found = &item;
  }
  return found ? text(*found) : source_ + ": ";
}

std::string Places::of_include(std::string_view file_name) const {
  for (const Item& item : includes_)
    if (std::filesystem::path(item.type).filename() == file_name) return text(item);
  return source_ + ":1:1: ";
}

std::string Places::spelled(const std::string& path) const {
  const auto at = files_.find(canonical(path));
  return at == files_.end() ? path : at->second;
}

std::string Places::declared_at(const std::string& path, std::size_t line, std::size_t column) const {
  const std::string wanted = spelled(path);
  const Item* found = nullptr;
  for (const Item& item : items_)
    if (item.path == wanted && (item.line < line || (item.line == line && item.column <= column))) found = &item;
  if (!found) return {};
  return found->type + (found->field.empty() ? "" : ".") + found->field;
}

}  // namespace muster::schemac
