// Where the tests' files are.
#pragma once

#include <filesystem>

namespace muster::test {

inline const std::filesystem::path levels = std::filesystem::path(MUSTER_SOURCE_ROOT) / "examples/levels";
inline const std::filesystem::path data = std::filesystem::path(MUSTER_SOURCE_ROOT) / "tests/data";
inline const std::filesystem::path models = data / "models";
inline const std::filesystem::path assimp_models = ASSIMP_MODELS;

}  // namespace muster::test
