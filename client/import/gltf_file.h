// Reads the parts of a glTF 2.0 file that an import needs: its JSON, and numbers from its buffers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/import/reader.h"

namespace muster {

using Json = nlohmann::json;

/// Returns the path of a value for error messages, such as "nodes[3].mesh".
std::string place_text(const char* list, std::size_t index, const char* member = "");

/// Returns a member of an object, or null if `of` is not an object or has no such member.
const Json* member(const Json& of, const char* name);
/// Returns a string member, or an empty string if there is none.
std::string text_of(const Json& of, const char* name);
/// Returns a numeric member, or nothing if the member does not exist. Throws ReadFailure if the
/// member is not a number.
std::optional<double> number_of(const Json& of, const char* name, const std::string& place);
/// Returns a member that is a list of N numbers, or nothing if the member does not exist. Throws
/// ReadFailure if the member is anything other than a list of N numbers.
template <std::size_t N>
std::optional<std::array<double, N>> numbers_of(const Json& of, const char* name, const std::string& place) {
  const Json* const list = member(of, name);
  if (!list) return {};
  std::array<double, N> numbers{};
  bool good = list->is_array() && list->size() == N;
  for (std::size_t i = 0; good && i < N; ++i) {
    good = (*list)[i].is_number();
    if (good) numbers[i] = (*list)[i].get<double>();
  }
  if (!good) throw ReadFailure(place + "." + name + " is not a list of " + std::to_string(N) + " numbers");
  return numbers;
}
/// Returns the value as an integer. Throws ReadFailure if it is not a non-negative integer.
std::size_t whole(const Json& value, const std::string& place);

/// The JSON text of a file: a .gltf without its byte order mark, or the first chunk of a .glb.
struct GltfParts {
  std::string json;
  bool is_binary = false;
  std::uint32_t version = 2;  ///< Version of the .glb container.
  /// Range of the binary chunk in the file. Both members are 0 if there is no such chunk.
  std::uint64_t data_at = 0, data_bytes = 0;
};
/// Splits a file into its parts. Throws ReadFailure for a .glb whose chunks do not fit in the file.
GltfParts parts_of(const std::filesystem::path& file);

class GltfFile {
 public:
  /// Parses the JSON, and checks that each buffer exists and is long enough. Throws ReadFailure if
  /// the JSON cannot be parsed or a buffer is missing or too short.
  explicit GltfFile(std::filesystem::path file);

  /// Returns true for a glTF 1.0 file. For such a file, only this function and json() may be
  /// called.
  bool is_gltf_1() const;

  const Json& json() const { return json_; }
  /// Returns a top-level list such as "nodes", or an empty list if the file does not have it.
  const Json& list(const char* name) const;
  /// Returns an element of a list. Throws ReadFailure if it does not exist. `from` is the path of
  /// the member that refers to the element, and is used in the error.
  const Json& at(const char* name, std::size_t index, const std::string& from) const;
  /// Returns the index that a member contains, or nothing if there is no such member. Throws
  /// ReadFailure if the index is invalid.
  std::optional<std::size_t> index_of(const Json& of, const char* name, const char* of_list,
                                      const std::string& place) const;

  /// Returns true if values() can read the accessor: its buffer exists and is not compressed with
  /// meshopt.
  bool is_readable(std::size_t accessor) const;
  /// Returns the box given by the accessor's `min` and `max`, or nothing if they are missing or
  /// invalid.
  std::optional<Box> said_box(std::size_t accessor) const;
  /// Returns the number of elements in the accessor.
  std::size_t count(std::size_t accessor) const;
  /// Returns all values of an accessor of the given type (for example "VEC3", with 3 components),
  /// element by element. Normalized integers are converted to floats. Throws ReadFailure if the
  /// values cannot be read.
  std::vector<double> values(std::size_t accessor, const char* type, std::size_t components) const;

 private:
  struct Span {
    std::size_t view, offset, stride, element, count;
  };
  void check_version() const;
  void check_buffer(std::size_t index);
  std::filesystem::path path_of(const std::string& uri, const std::string& place) const;
  const std::string& buffer(std::size_t index) const;
  /// Returns the bytes of the elements of a buffer view. Throws ReadFailure if they are not
  /// completely inside the view.
  const unsigned char* bytes(const Span& span, const std::string& place) const;
  void apply_sparse(const Json& accessor, const std::string& place, std::size_t components,
                    std::vector<double>& values) const;

  std::filesystem::path file_;
  GltfParts parts_;
  Json json_;
  mutable std::vector<std::optional<std::string>> buffers_;  // contents of the buffers, read when
                                                             // needed
};

}  // namespace muster
