// load_schema takes any bytes: it loads them or refuses them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "schema/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto schema = muster::load_schema(std::as_bytes(std::span(data, size)));
  if (!schema) return 0;
  for (const muster::TypeDescriptor& type : schema->types) {
    if (type.default_bytes.size() != type.size) __builtin_trap();
    for (const std::uint32_t offset : type.entity_offsets)
      if (offset + 8 > type.size) __builtin_trap();
  }
  return 0;
}
