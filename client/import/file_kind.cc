#include "client/import/file_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>

namespace muster {
namespace {

/// Marks of file formats. A mark is a byte sequence with which every file of its format begins.
/// Formats without a mark, or with a mark too short to be reliable, are not listed.
struct Mark {
  std::string_view suffix, bytes;
};
constexpr std::array marks{
    Mark{"3mf", "PK\x03\x04"},
    Mark{"ac", "AC3D"},
    Mark{"amf", "<?xml"},
    Mark{"ase", "*3dsmax_asciiexport"},
    Mark{"assbin", "ASSIMP.binary"},
    Mark{"blend", "BLENDER"},
    Mark{"bvh", "HIERARCHY"},
    Mark{"cob", "Caligari "},
    Mark{"dae", "<?xml"},
    Mark{"dxf", "AutoCAD Binary DXF"},
    Mark{"fbx", "Kaydara FBX Binary"},
    Mark{"fbx", "; FBX "},
    Mark{"glb", "glTF"},
    Mark{"hmp", "HMP4"},
    Mark{"hmp", "HMP5"},
    Mark{"hmp", "HMP7"},
    Mark{"ifc", "ISO-10303-21"},
    Mark{"iqm", "INTERQUAKEMODEL"},
    Mark{"lwo", "FORM"},
    Mark{"lws", "LWSC"},
    Mark{"md2", "IDP2"},
    Mark{"md3", "IDP3"},
    Mark{"md5mesh", "MD5Version"},
    Mark{"mdc", "IDPC"},
    Mark{"mdl", "IDPO"},
    Mark{"ms3d", "MS3D000000"},
    Mark{"ndo", "nendo "},
    Mark{"off", "OFF"},
    Mark{"ogex", "Metric"},
    Mark{"ply", "ply"},
    Mark{"q3o", "quick3Do"},
    Mark{"q3s", "quick3Ds"},
    Mark{"sib", "HEAD"},
    Mark{"stl", "solid"},
    Mark{"ter", "TERRAGENTERRAIN"},
    Mark{"x", "xof "},
    Mark{"xgl", "<?xml"},
    Mark{"xgl", "<WORLD"},
};

/// Suffixes of text formats. Some of the readers for these formats accept arbitrary bytes as text,
/// and some crash on them.
constexpr std::array<std::string_view, 18> text_suffixes{"ac",   "ase",  "ask",  "bvh", "csm", "dae",
                                                         "enff", "gltf", "irr",  "lws", "mot", "nff",
                                                         "obj",  "off",  "ogex", "smd", "vta", "x3d"};

bool has_suffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.ends_with(suffix) && name[name.size() - suffix.size() - 1] == '.';
}

bool is_text(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    return true;  // byte order
                  // marks of UTF-16
  return std::ranges::none_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    // DOS programs terminated text files with 0x1a
    return byte < 0x20 && (byte < '\t' || byte > '\r') && byte != 0x1a;
  });
}

bool has_mark(std::string_view head) {
  return std::ranges::any_of(marks, [&](const Mark& mark) { return head.starts_with(mark.bytes); });
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  FileKind kind{.name = file.filename().string(), .head = std::string(4096, '\0')};
  std::ranges::transform(kind.name, kind.name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  std::ifstream in(file, std::ios::binary);
  in.read(kind.head.data(), static_cast<std::streamsize>(kind.head.size()));
  kind.head.resize(static_cast<std::size_t>(in.gcount()));
  if (kind.head.starts_with("\xef\xbb\xbf")) kind.head.erase(0, 3);
  return kind;
}

std::string unfit(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return "there is no such file";
  if (error) return error.message();
  if (std::filesystem::is_directory(status)) return "it is a folder, not a model file";
  if (!std::filesystem::is_regular_file(status)) return "it is not a regular file";
  if (!std::ifstream(file, std::ios::binary)) return "it cannot be opened for reading";
  const FileKind kind = kind_of(file);
  if (kind.head.empty()) return "the file is empty";
  if (kind.head.size() >= 12 && kind.head.starts_with("glTF")) {
    std::array<unsigned char, 4> size{};
    std::memcpy(size.data(), kind.head.data() + 8, size.size());
    const std::uint64_t said = size[0] | size[1] << 8 | size[2] << 16 | std::uint64_t{size[3]} << 24;
    const std::uint64_t there = std::filesystem::file_size(file, error);
    if (!error && there < said)
      return "the file is cut off: its header says " + std::to_string(said) + " bytes, and it has " +
             std::to_string(there);
  }
  for (const std::string_view suffix : text_suffixes)
    if (has_suffix(kind.name, suffix) && !is_text(kind.head) && !has_mark(kind.head))
      return "a ." + std::string(suffix) + " file is text, and this one holds other bytes";
  return {};
}

bool may_be_gltf(const FileKind& file) {
  return has_suffix(file.name, "gltf") || has_suffix(file.name, "glb") || file.head.starts_with("glTF");
}

bool reader_fits(std::string_view suffixes, const FileKind& file) {
  while (!suffixes.empty()) {
    const std::size_t end = std::min(suffixes.find(' '), suffixes.size());
    const std::string_view suffix = suffixes.substr(0, end);
    suffixes.remove_prefix(std::min(end + 1, suffixes.size()));
    if (suffix.empty()) continue;
    if (has_suffix(file.name, suffix)) return true;
    for (const Mark& mark : marks)
      if (mark.suffix == suffix && file.head.starts_with(mark.bytes)) return true;
  }
  return false;
}

}  // namespace muster
