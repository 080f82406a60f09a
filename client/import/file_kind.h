// Finds the format of a model file by its name and first bytes, to select Assimp's reader.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster {

/// A file's name and its first bytes, at most 4096 of them.
struct FileKind {
  std::string name;  ///< without folders, ASCII letters in lower case
  std::string head;
};

/// Reads what is said above. `file` must be one that can be opened; otherwise the head is empty.
[[nodiscard]] FileKind kind_of(const std::filesystem::path& file);

/// Why no reader should be asked: the file is missing, a folder, a pipe or a device, unreadable,
/// empty, cut off by its own header, or holds other bytes than its suffix says. Empty if there is
/// no such reason. Never waits for a pipe.
[[nodiscard]] std::string unfit(const std::filesystem::path& file);

/// Whether the file is called .gltf or .glb, or begins as a .glb does.
[[nodiscard]] bool may_be_gltf(const FileKind& file);

/// Whether a reader of these suffixes ("gltf glb", as Assimp lists them) fits the file: the file
/// has one of them, or begins with the mark of a format that has one of them. Assimp alone asks
/// every reader whether it likes what it sees, and some like anything.
[[nodiscard]] bool reader_fits(std::string_view suffixes, const FileKind& file);

}  // namespace muster
