// Defines the format of the records in a journal group, which are stored one after another. All
// numbers are little-endian. A record begins on a 16-byte boundary of the group, and its length is
// a multiple of 16. Bytes not named below are zero.
//
//   input    0       4      5        6      8         12      16         24     32        40        48           56
//            | bytes | kind | format | zero | resumed | drawn | sequence | user | session | request | next_timer | zero |  batch ...
//
//            `kind` is 1 to 5, an InputKind. The other fields are those of the input's Envelope
//            (registry/delivery/input_sink.h). `session` is the sender of the input. `format` is 1.
//            Format 0 did not record the user, which is then zero. The batch is as passed to the
//            input sink (see messages/batch.h for its layout). It is absent for a flush.
//
//   tick     | bytes | kind | zero | zero 8          | sequence | tick | zero 32                               |
//
//            `kind` is 16. The world has made this tick. Here and in a schema record, `sequence` is
//            that of the preceding input.
//
//   schema   | bytes | kind | zero | zero 8          | sequence | zero 16        | length  | zero 16           |  schema ...
//
//            `kind` is 17. The registry has learned this binary schema of `length` bytes. The
//            schema is padded with zeros to a multiple of 16.
//
//            0       4      5      6       7      8         12     16         24      32        48           56
//   unkept   | bytes | kind | zero | input | zero | resumed | zero | sequence | count | zero 16 | next_timer | zero |
//
//            `kind` is 18. Stands for `count` inputs of kind `input` (a push, a post, or a lane's
//            batch), starting at `sequence`, whose messages are never journaled. `resumed` is that
//            of the first input; it is 0 for the others. `next_timer` is that of every input.
//
//            0       4      5        16         24         32          40     48        56        64          72
//   counters | bytes | kind | zero   | sequence | messages | unhandled | dead | refused | carried | overtaken | dropped |
//
//            `kind` is 19. Contains the registry's counters after input `sequence`. Written once
//            per group if any inputs were not kept.
//
//            0       4      5      8         12    16         24         32
//   cut      | bytes | kind | zero | resumed | run | sequence | messages | zero 32 |
//
//            `kind` is 20. A cascade that was cut short because its time was over: a CascadeCut
//            (registry/delivery/input_sink.h). `sequence` is that of the preceding input. The cuts
//            of an input's own cascade follow its record directly; the others precede the record of
//            the next input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "registry/delivery/input_sink.h"

namespace muster::journal_format {

constexpr std::size_t alignment = 16;
constexpr std::uint8_t kind_tick = 16, kind_schema = 17;  ///< lower values are InputKinds
constexpr std::uint8_t kind_unkept = 18, kind_counters = 19, kind_cut = 20;
/// Limit on the number of inputs that one unkept record covers.
constexpr std::uint64_t unkept_max = 4096;

/// The newest format of input records. Older formats can still be read.
constexpr std::uint8_t format_newest = 1;
constexpr std::uint8_t format_with_users = 1;  ///< first format in which the user is recorded

struct InputRecord {
  std::uint32_t bytes = 0;  ///< size of the whole record
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

struct UnkeptRecord {
  std::uint32_t bytes = sizeof(UnkeptRecord);
  std::uint8_t kind = kind_unkept;
  std::uint8_t zero = 0;
  std::uint8_t input = 0;
  std::uint8_t more_zero = 0;
  std::uint32_t resumed = 0;
  std::uint32_t still_more_zero = 0;
  std::uint64_t sequence = 0;
  std::uint64_t count = 1;
  std::uint64_t zeros[2] = {};
  std::uint64_t next_timer = 0;
  std::uint64_t last_zero = 0;
};
static_assert(sizeof(UnkeptRecord) == 64 && offsetof(UnkeptRecord, next_timer) == offsetof(InputRecord, next_timer));

struct CountersRecord {
  std::uint32_t bytes = sizeof(CountersRecord);
  std::uint8_t kind = kind_counters;
  std::uint8_t zero[11] = {};
  std::uint64_t sequence = 0;
  std::uint64_t messages = 0, unhandled = 0, dead = 0, refused = 0, carried = 0, overtaken = 0, dropped = 0;
};
static_assert(sizeof(CountersRecord) == 80);

struct CutRecord {
  std::uint32_t bytes = sizeof(CutRecord);
  std::uint8_t kind = kind_cut;
  std::uint8_t zero[3] = {};
  std::uint32_t resumed = 0;
  std::uint32_t run = 0;
  std::uint64_t sequence = 0;
  std::uint64_t messages = 0;
  std::uint64_t more_zero[4] = {};
};
static_assert(sizeof(CutRecord) == 64);

}  // namespace muster::journal_format
