#include <utility>

#include "client/import/file_kind.h"
#include "client/import/model.h"
#include "client/import/reader.h"
#include "client/import/reader_process.h"

namespace muster {
namespace {

/// Limit on the number of warnings for one model. A broken model could cause one warning for each
/// of its numbers.
constexpr std::size_t warnings_max = 200;

ImportedModel read_here(const std::filesystem::path& file, const ModelLimits& limits) {
  const auto read = [&] {
    if (may_be_gltf(kind_of(file)))
      if (auto model = read_gltf(file, limits)) return std::move(*model);
    return read_with_assimp(file, limits);
  };
  ImportedModel model = read();
  shorten_names(model);
  if (const std::size_t told = model.warnings.size(); told > warnings_max) {
    model.warnings.resize(warnings_max);
    model.warnings.push_back("there are " + std::to_string(told - warnings_max) + " more warnings.");
  }
  return model;
}

}  // namespace

std::string ModelError::text() const { return "cannot import " + file.string() + ": " + what; }

std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file, const ModelLimits& limits) {
  if (std::string reason = unfit(file); !reason.empty()) return std::unexpected(ModelError{file, std::move(reason)});
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file, error);
  const std::uint64_t mib = error ? 0 : size >> 20;
  const ProcessLimits process{.memory_bytes = (limits.memory_mib + mib * limits.memory_mib_per_mib) << 20,
                              .seconds = static_cast<std::uint32_t>(limits.seconds + mib * limits.seconds_per_mib)};
  auto model = read_apart([&] { return read_here(file, limits); }, process);
  if (!model) return std::unexpected(ModelError{file, std::move(model.error())});
  return std::move(*model);
}

}  // namespace muster
