#include "client/import/assimp_files.h"

#include <assimp/MemoryIOWrapper.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "client/import/collada_text.h"
#include "client/import/fbx_text.h"
#include "client/import/file_kind.h"

namespace muster {
namespace {

/// Prefix of the numbered object names. No tool writes names with this prefix.
constexpr std::string_view mark = "\x7fmuster-object-";

/// An input stream for Assimp that owns its text.
class TextStream : public Assimp::MemoryIOStream {
 public:
  explicit TextStream(std::string text) : TextStream(std::make_unique<std::string>(std::move(text))) {}

 private:
  explicit TextStream(std::unique_ptr<std::string> text)
      : MemoryIOStream(reinterpret_cast<const std::uint8_t*>(text->data()), text->size()), text_(std::move(text)) {}
  std::unique_ptr<std::string> text_;
};

/// Replaces the names in the "o" lines of `text` with numbered names. Stores the original names in
/// `names`.
std::string numbered_objects(std::string_view text, std::vector<std::string>& names) {
  std::string result;
  result.reserve(text.size() + 1024);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    if (begin + 1 < line.size() && line[begin] == 'o' && (line[begin + 1] == ' ' || line[begin + 1] == '\t')) {
      std::string_view name = line.substr(begin + 2);
      const std::size_t first = name.find_first_not_of(" \t\r\n");
      if (first != name.npos) {
        name = name.substr(first, name.find_last_not_of(" \t\r\n") + 1 - first);
        result.append("o ").append(mark).append(std::to_string(names.size())).append("\n");
        names.emplace_back(name);
        continue;
      }
    }
    result += line;
  }
  return result;
}

}  // namespace

bool AssimpFiles::Exists(const char* path) const {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

Assimp::IOStream* AssimpFiles::Open(const char* path, const char* mode) {
  if (!Exists(path)) return nullptr;
  const FileKind kind = kind_of(path);
  const bool is_obj = kind.name.ends_with(".obj");
  const bool is_collada = kind.name.ends_with(".dae") || kind.head.find("<COLLADA") != kind.head.npos;
  const bool is_fbx = kind.name.ends_with(".fbx");
  if (!is_obj && !is_collada && !is_fbx) return DefaultIOSystem::Open(path, mode);
  std::ifstream in(path, std::ios::binary);
  std::string text(std::filesystem::file_size(path), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) return nullptr;
  if (is_fbx) warnings_ = unread_in_fbx(text);
  if (is_fbx) return DefaultIOSystem::Open(path, mode);
  if (is_collada) {
    warnings_.clear();
    return new TextStream(readable_collada(text, warnings_));
  }
  objects_.clear();
  return new TextStream(numbered_objects(text, objects_));
}

void AssimpFiles::Close(Assimp::IOStream* stream) { delete stream; }

std::string AssimpFiles::name(std::string_view name) const {
  if (!name.starts_with(mark)) return std::string(name);
  std::size_t index = 0;
  const std::string_view digits = name.substr(mark.size());
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), index).ptr;
  if (end == digits.data() || index >= objects_.size()) return std::string(name);
  return objects_[index] + std::string(end, digits.data() + digits.size());
}

}  // namespace muster
