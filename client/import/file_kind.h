// Determines the format of a model file from its name and first bytes, in order to select Assimp's
// reader.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster {

/// The name of a file, and at most 4096 of its first bytes.
struct FileKind {
  std::string name;  ///< file name without directories, with ASCII letters in lower case
  std::string head;
};

/// Reads the name and the first bytes of `file`. If the file cannot be opened, the head is empty.
[[nodiscard]] FileKind kind_of(const std::filesystem::path& file);

/// Returns the reason why no reader should be tried on the file: it is missing, unreadable, empty,
/// a directory, a pipe, a device, shorter than its header says, or not of the format that its
/// suffix indicates. Returns an empty string if there is no such reason. Never blocks on a pipe.
[[nodiscard]] std::string unfit(const std::filesystem::path& file);

/// Returns true if the file is named .gltf or .glb, or begins with the mark of a .glb.
[[nodiscard]] bool may_be_gltf(const FileKind& file);

/// Returns true if a reader for these suffixes ("gltf glb", as listed by Assimp) matches the file:
/// the file has one of the suffixes, or begins with the mark of a format that has one of the
/// suffixes. Assimp itself would try every reader, and some readers accept anything.
[[nodiscard]] bool reader_fits(std::string_view suffixes, const FileKind& file);

}  // namespace muster
