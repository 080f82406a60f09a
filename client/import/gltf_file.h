// A glTF 2.0 file as far as an import needs it: its JSON, and numbers out of its buffers.
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

/// Where a value is, for what is said of it: "nodes[3].mesh".
std::string place_text(const char* list, std::size_t index, const char* member = "");

/// The member, or null if `of` is no object or has none of that name.
const Json* member(const Json& of, const char* name);
/// A text member; empty if there is none.
std::string text_of(const Json& of, const char* name);
/// A number member. Throws ReadFailure if it is there and no number.
std::optional<double> number_of(const Json& of, const char* name, const std::string& place);
/// A member that is a list of N numbers. Throws ReadFailure if it is there and is not.
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
  if (!good) throw ReadFailure(place + "." + name + " is no list of " + std::to_string(N) + " numbers");
  return numbers;
}
/// A whole number from 0. Throws ReadFailure if it is none.
std::size_t whole(const Json& value, const std::string& place);

/// The JSON of a file as text: a .gltf without its byte order mark, or the first chunk of a .glb.
struct GltfParts {
  std::string json;
  bool is_binary = false;
  std::uint32_t version = 2;  ///< of a .glb
  /// Where in the file its binary chunk is; 0, 0: it has none
  std::uint64_t data_at = 0, data_bytes = 0;
};
/// Throws ReadFailure for a .glb whose chunks do not fit into the file.
GltfParts parts_of(const std::filesystem::path& file);

class GltfFile {
 public:
  /// Parses the JSON and checks that each buffer is there and long enough. Throws ReadFailure.
  explicit GltfFile(std::filesystem::path file);

  /// Nothing but this and json() may be asked of a file of glTF 1.0.
  bool is_gltf_1() const;

  const Json& json() const { return json_; }
  /// A list at the top, such as "nodes"; an empty one if the file has none.
  const Json& list(const char* name) const;
  /// An object of a list. Throws ReadFailure if there is no such one; `from` is the place that
  /// names it.
  const Json& at(const char* name, std::size_t index, const std::string& from) const;
  /// The index that a member holds, checked; none if there is no such member.
  std::optional<std::size_t> index_of(const Json& of, const char* name, const char* of_list,
                                      const std::string& place) const;

  /// Whether `values` can read the accessor: it is not compressed by meshopt, and its buffer is
  /// there.
  bool is_readable(std::size_t accessor) const;
  /// The accessor's `min` and `max` as a box; none if they are missing or senseless.
  std::optional<Box> said_box(std::size_t accessor) const;
  /// How many elements the accessor has.
  std::size_t count(std::size_t accessor) const;
  /// All values of an accessor of that type ("VEC3", of 3 components), one element after the other;
  /// normalized integers as floats. Throws ReadFailure.
  std::vector<double> values(std::size_t accessor, const char* type, std::size_t components) const;

 private:
  struct Span {
    std::size_t view, offset, stride, element, count;
  };
  void check_version() const;
  void check_buffer(std::size_t index);
  std::filesystem::path path_of(const std::string& uri, const std::string& place) const;
  const std::string& buffer(std::size_t index) const;
  /// The bytes of elements in a buffer view. Throws ReadFailure if they are not all in it.
  const unsigned char* bytes(const Span& span, const std::string& place) const;
  void apply_sparse(const Json& accessor, const std::string& place, std::size_t components,
                    std::vector<double>& values) const;

  std::filesystem::path file_;
  GltfParts parts_;
  Json json_;
  mutable std::vector<std::optional<std::string>> buffers_;  // read when they are needed
};

}  // namespace muster
