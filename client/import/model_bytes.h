// Serializes a model to pass it from the process that reads the file to the process that imports
// it. Both processes run the same program, so the format needs no version.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/import/model.h"

namespace muster {

std::vector<std::byte> model_bytes(const ImportedModel& model);
std::vector<std::byte> refusal_bytes(std::string_view reason);

/// Returns the model, or the reason why the bytes are refused. Checks all bytes and refuses
/// anything that is not a valid model, because a malicious file could have taken over the process
/// that wrote the bytes.
std::expected<ImportedModel, std::string> model_from(std::span<const std::byte> bytes);

}  // namespace muster
