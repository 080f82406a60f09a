// Shared parts of the formats' readers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/model.h"

namespace muster {

/// Why a file cannot be read; becomes ModelError::what.
class ReadFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads glTF 2.0; nothing if the file is glTF 1.0. Throws ReadFailure.
std::optional<ImportedModel> read_gltf(const std::filesystem::path& file, const ModelLimits& limits);

/// Reads any other format, in a process that ends soon: what Assimp made of the file is not freed.
/// Throws ReadFailure.
ImportedModel read_with_assimp(const std::filesystem::path& file, const ModelLimits& limits);

/// Adds an entity below `parent` (ImportedEntity::no_parent for the root) and returns its place. A
/// warning says if its name cannot be kept.
/// Throws ReadFailure beyond the limits.
std::uint32_t add_entity(ImportedModel& model, const ModelLimits& limits, std::uint32_t parent, std::string_view name,
                         bool is_part);

/// Gives an entity a transform; a warning says what of the matrix cannot be kept.
void place_by_matrix(ImportedModel& model, std::uint32_t place, const Matrix& matrix);

/// Shortens names that a world would refuse, with a warning for each.
void shorten_names(ImportedModel& model);

/// The numbers of one light, camera or mesh. Files hold negative, infinite and absurd ones, which a
/// world refuses.
class Numbers {
 public:
  /// `of`: the owner in warnings, such as "camera \"Eye\"".
  Numbers(std::string of, std::vector<std::string>& warnings) : of_(std::move(of)), warnings_(warnings) {}

  /// The number brought within 0..most; `otherwise` if it is not finite. A warning says so if that
  /// changes it.
  float within(const char* what, double value, double most, double otherwise = 0);
  void tell(const std::string& what) { warnings_.push_back(of_ + ' ' + what); }

 private:
  std::string of_;
  std::vector<std::string>& warnings_;
};

struct Box {
  std::array<double, 3> low, high;
};

/// The box as a Shape; none, with a warning, if a float cannot hold its size.
std::optional<scene::Shape> shape_of(const Box& box, Numbers& numbers);

/// "node \"door\" (12)".
std::string node_text(const ImportedModel& model, std::uint32_t place);

}  // namespace muster
