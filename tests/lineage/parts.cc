#include "tests/lineage/parts.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "registry/host.h"

using namespace muster;

void add_parts(EntityRegistry& registry) {
  std::ifstream file(MUSTER_MANY_TYPES, std::ios::binary);
  const std::vector<char> schema{std::istreambuf_iterator<char>(file), {}};
  require(registry.types().add_schema(std::as_bytes(std::span(schema))).has_value(), "the schema of many types");
}

TypeId part_id(int n) { return hash32("lineage.many.P" + std::to_string(1000 + n).substr(1)); }

bool has_part(const EntityRegistry& registry, Entity e, int n) {
  const std::byte* found = registry.find(e, part_id(n));
  int number = -1;
  if (found) std::memcpy(&number, found, sizeof number);
  return number == n;
}

Receipt give_parts(EntityRegistry& registry, Entity e) {
  registry.add_type<Set>();
  std::vector<const TypeDescriptor*> types;
  for (int n = 0; n < part_count; ++n) types.push_back(registry.types().find(part_id(n)));
  const RowSet rows(*registry.types().find(TypeTraits<Set>::id), types);
  BatchBuilder builder;
  std::byte* payload = builder.append_rows(rows, e);
  std::memset(payload, 0, rows.shape().bytes);
  for (const TypeDescriptor* type : types)
    std::memcpy(payload + rows.offset(type->id), type->default_bytes.data(), type->size);
  return registry.host().push_batch(builder.bytes());
}
