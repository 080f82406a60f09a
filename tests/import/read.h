// Reads a model that must be readable.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>

#include "client/import/model.h"

namespace muster::test {

/// Returns the model; fails the test case, with the error's text, if it cannot be read.
inline ImportedModel read(const std::filesystem::path& file) {
  auto model = read_model(file);
  if (!model) FAIL(model.error().text());
  return std::move(*model);
}

}  // namespace muster::test
