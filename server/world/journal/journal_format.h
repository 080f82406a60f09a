// The records of a journal group, one behind the other. All numbers are little-endian; a record begins on a 16-byte boundary of the
// group and is a multiple of 16 long; every byte that is not named below is zero.
//
//   input    0       4      5        6      8         12      16         24     32        40        48           56
//            | bytes | kind | format | zero | resumed | drawn | sequence | user | session | request | next_timer | zero |  batch ...
//
//            kind 1 to 5: InputKind, and the fields are those of its Envelope (registry/delivery/input_sink.h). session: its author.
//            format: 1. Of a record of format 0 nobody wrote down the user, which is zero. batch: as the input sink saw it,
//            messages/batch.h draws it; none of a flush.
//
//   tick     | bytes | kind | zero | zero 8          | sequence | tick | zero 32                               |
//
//            kind 16: the world has made this tick. sequence: of the last input, here and in a schema.
//
//   schema   | bytes | kind | zero | zero 8          | sequence | zero 16        | length  | zero 16           |  schema ...
//
//            kind 17: the registry learned this binary schema, of `length` bytes, behind which zeros follow up to a multiple of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "registry/delivery/input_sink.h"

namespace muster::journal_format {

constexpr std::size_t alignment = 16;
constexpr std::uint8_t kind_tick = 16, kind_schema = 17;  ///< smaller ones are InputKinds
constexpr std::uint8_t format_newest = 1;                 ///< of an input; older ones are read
constexpr std::uint8_t format_with_users = 1;             ///< from this one on

struct InputRecord {
  std::uint32_t bytes = 0;  ///< of the whole record
  std::uint8_t kind = 0;
  std::uint8_t format = format_newest;
  std::uint8_t zero[2] = {};
  std::uint32_t resumed = 0;
  std::uint32_t drawn = 0;
  std::uint64_t sequence = 0;
  std::uint64_t user = 0;
  std::uint64_t session = 0;
  std::uint64_t request = 0;
  std::uint64_t next_timer = 0;
  std::uint64_t more_zero = 0;
};
static_assert(sizeof(InputRecord) == 64);

struct TickRecord {
  std::uint32_t bytes = sizeof(TickRecord);
  std::uint8_t kind = kind_tick;
  std::uint8_t zero[11] = {};
  std::uint64_t sequence = 0;
  std::uint64_t tick = 0;
  std::uint64_t more_zero[4] = {};
};
static_assert(sizeof(TickRecord) == 64 && offsetof(TickRecord, tick) == offsetof(InputRecord, user));

struct SchemaRecord {
  std::uint32_t bytes = 0;
  std::uint8_t kind = kind_schema;
  std::uint8_t zero[11] = {};
  std::uint64_t sequence = 0;
  std::uint64_t more_zero[2] = {};
  std::uint64_t length = 0;
  std::uint64_t still_more_zero[2] = {};
};
static_assert(sizeof(SchemaRecord) == 64 && offsetof(SchemaRecord, length) == offsetof(InputRecord, request));

}  // namespace muster::journal_format
