// Defines functions that the answers to several questions share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/questions/inquiry.h"
#include "server/session/shown_text.h"

namespace muster {

/// Returns the maximum number of rows on a page, which is the requested number or the limit,
/// whichever is smaller.
inline std::uint32_t rows_allowed(std::uint32_t asked, const ServerLimits& limits) {
  constexpr std::uint32_t rows_default = 1000;
  return std::min(asked == 0 ? rows_default : asked, limits.rows_max);
}

/// The message that tells a session the schema at this index.
inline session::Schema schema_message(std::span<const std::vector<std::byte>> schemas, std::size_t index) {
  session::Schema schema;
  schema.index = static_cast<std::uint32_t>(index);
  schema.count = static_cast<std::uint32_t>(schemas.size());
  const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(schemas[index].data()), schemas[index].size());
  schema.bytes.assign(bytes.begin(), bytes.end());
  return schema;
}

/// Creates an inquiry that answers with the fault.
inline std::unique_ptr<Inquiry> refuse(const Asked& asked, const session::Fault& fault) {
  return once(asked, [asked, fault](Steps&) { asked.fault(fault); });
}
/// The fault for a question whose answer may contain anything, from a user with limited sight.
inline session::Fault whole_sight_fault() {
  return fault_of(session::FaultCode::no_right, "rule",
                  "this question needs the right to see the whole world, which a rule of this server denies this user");
}
inline session::Fault dead_fault(Entity e, const char* field) {
  session::Fault fault =
      fault_of(session::FaultCode::dead_entity, "dead_entity", "no entity " + shown_id(e) + " is alive");
  fault.entity = e;
  fault.field = field;
  return fault;
}
inline std::unique_ptr<Inquiry> refuse_dead(const Asked& asked, Entity e, const char* field) {
  return refuse(asked, dead_fault(e, field));
}

}  // namespace muster
