#include "server/world/journal/record_reader.h"

#include <cstring>

#include "messages/judge/verifier.h"
#include "messages/require.h"
#include "registry/state/batch_change.h"
#include "schema/muster.h"
#include "server/world/journal/journal_format.h"

namespace muster {

using namespace journal_format;

namespace {

template <class Record>
Record read(std::span<const std::byte> bytes) noexcept {
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

/// Returns the offset of the first nonzero byte in [from, to), or `to` if there is none.
std::size_t nonzero(std::span<const std::byte> bytes, std::size_t from, std::size_t to) noexcept {
  while (from < to && bytes[from] == std::byte{0}) ++from;
  return from;
}

}  // namespace

std::unexpected<JournalFault> RecordReader::fault(std::size_t in_record, const std::string& what,
                                                  const InputKind* of) const {
  const std::size_t offset = begin_ + in_record;
  return std::unexpected(
      JournalFault{offset, "byte " + std::to_string(offset) + ": " + what, of != nullptr, of ? *of : InputKind::push});
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::next(const TypeTable& types, SavedTypes* then) {
  require(reinterpret_cast<std::uintptr_t>(records_.data()) % alignment == 0,
          "RecordReader: bytes that are not aligned");
  if (unkept_left_ > 0) return next_unkept();
  begin_ = at_;
  const std::size_t left = records_.size() - at_;
  if (left == 0) return std::nullopt;
  if (left < sizeof(InputRecord))
    return fault(0, "the group ends inside a record's header, after " + std::to_string(left) + " bytes of it");
  const auto header = read<InputRecord>(records_.subspan(at_));
  if (header.bytes < sizeof header || header.bytes % alignment != 0 || header.bytes > left)
    return fault(0,
                 "a record of " + std::to_string(header.bytes) + " bytes, where " + std::to_string(left) + " are left");
  const auto record = records_.subspan(at_, header.bytes);
  at_ += header.bytes;
  switch (header.kind) {
    case kind_tick: return read_tick(record);
    case kind_schema: return read_schema(record);
    case kind_unkept: return read_unkept(record);
    case kind_counters: return read_counters(record);
    case kind_cut: return read_cut(record);
    default: {
      auto input = read_input(record, types, then);
      if (input && *input) (**input).cuts = cuts_ahead();
      return input;
    }
  }
}

std::vector<CascadeCut> RecordReader::cuts_ahead() const {
  std::vector<CascadeCut> cuts;
  for (std::size_t at = at_; records_.size() - at >= sizeof(CutRecord); at += sizeof(CutRecord)) {
    const auto cut = read<CutRecord>(records_.subspan(at));
    if (cut.kind != kind_cut || cut.bytes != sizeof cut) break;
    cuts.push_back({cut.sequence, cut.resumed, cut.run, cut.messages});
  }
  return cuts;
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_cut(
    std::span<const std::byte> record) const {
  if (record.size() != sizeof(CutRecord)) return fault(0, "a cut of " + std::to_string(record.size()) + " bytes");
  const auto cut = read<CutRecord>(record);
  for (const auto& [from, to] : {std::pair{offsetof(CutRecord, zero), offsetof(CutRecord, resumed)},
                                 std::pair{offsetof(CutRecord, more_zero), sizeof cut}})
    if (const std::size_t at = nonzero(record, from, to); at != to) return fault(at, "a byte that must be zero");
  if (cut.sequence != next_ - 1) return fault(offsetof(CutRecord, sequence), "a cut at another input than the last");
  return JournalRecord{.kind = JournalRecord::Kind::cut,
                       .offset = begin_,
                       .envelope = {.sequence = cut.sequence},
                       .cut = {cut.sequence, cut.resumed, cut.run, cut.messages}};
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_input(std::span<const std::byte> record,
                                                                                   const TypeTable& types,
                                                                                   SavedTypes* then) {
  const auto header = read<InputRecord>(record);
  if (header.kind == 0 || header.kind >= input_kinds)
    return fault(offsetof(InputRecord, kind), "unknown kind of record " + std::to_string(header.kind));
  const auto kind = static_cast<InputKind>(header.kind);
  if (header.format > format_newest)
    return fault(offsetof(InputRecord, format), "an input of format " + std::to_string(header.format) +
                                                    ", which only a newer Muster reads; this one reads up to " +
                                                    std::to_string(format_newest));
  const std::size_t user_end = offsetof(InputRecord, session);
  for (const auto& [from, to] :
       {std::pair{offsetof(InputRecord, zero), offsetof(InputRecord, resumed)},
        std::pair{header.format < format_with_users ? offsetof(InputRecord, user) : user_end, user_end},
        std::pair{offsetof(InputRecord, more_zero), sizeof header}})
    if (const std::size_t at = nonzero(record, from, to); at != to) return fault(at, "a byte that must be zero");
  if (header.sequence != next_)
    return fault(offsetof(InputRecord, sequence),
                 "sequence " + std::to_string(header.sequence) + ", where " + std::to_string(next_) + " comes next");
  if (header.next_timer != 0 && kind != InputKind::post)
    return fault(offsetof(InputRecord, next_timer), "a number of a timer, where none was posted");
  ++next_;
  JournalRecord read{.offset = begin_,
                     .envelope = {.sequence = header.sequence,
                                  .session = header.session,
                                  .user = header.user,
                                  .request = header.request,
                                  .kind = kind,
                                  .resumed = header.resumed,
                                  .drawn = header.drawn,
                                  .next_timer = header.next_timer},
                     .batch = record.subspan(sizeof header)};
  if ((kind == InputKind::flush) != read.batch.empty())
    return fault(offsetof(InputRecord, bytes),
                 read.batch.empty() ? "an input without its batch" : "a flush with a batch", &kind);
  if (kind == InputKind::flush) {
    if (header.drawn != 0) return fault(offsetof(InputRecord, drawn), "ids that a flush drew", &kind);
    return read;
  }
  if (then) {
    Mended mended{.listed_max = 0};
    auto converted = convert_batch(read.batch, *then, mended);
    if (!converted) return fault(sizeof header, converted.error().text(), &kind);
    if (*converted) read.batch = converted_ = std::move(**converted);
  }
  if (auto good = verify_batch(read.batch, types, own_limits); !good) {
    BatchFault first = std::move(good.error());
    mended_.assign(read.batch.begin(), read.batch.end());
    Mended mended{.listed_max = 0};
    if (!mend_batch(mended_, types, own_limits, mended)) return fault(sizeof header + first.offset, first.text, &kind);
  }
  const BatchView batch(read.batch);
  if (header.drawn > batch.count())
    return fault(offsetof(InputRecord, drawn), "more ids drawn than the batch names", &kind);
  if (kind == InputKind::advance &&
      (batch.type() != TypeTraits<Advance>::id || batch.kind() != BatchKind::world || batch.count() != 1))
    return fault(sizeof header + offsetof(BatchHeader, type), "the clock is moved by another message than Advance",
                 &kind);
  return read;
}

JournalRecord RecordReader::next_unkept() noexcept {
  const JournalRecord read = unkept_;
  --unkept_left_;
  unkept_.envelope.sequence = ++next_;
  unkept_.envelope.resumed = 0;
  if (unkept_left_ > 0) return read;
  JournalRecord last = read;
  last.cuts = cuts_ahead();
  return last;
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_unkept(std::span<const std::byte> record) {
  if (record.size() != sizeof(UnkeptRecord))
    return fault(0, "inputs that were not kept, of " + std::to_string(record.size()) + " bytes");
  const auto run = read<UnkeptRecord>(record);
  const auto kind = static_cast<InputKind>(run.input);
  if (kind != InputKind::push && kind != InputKind::post && kind != InputKind::inbox)
    return fault(offsetof(UnkeptRecord, input), "inputs of kind " + std::to_string(run.input) + " that were not kept");
  for (const auto& [from, to] : {std::pair{offsetof(UnkeptRecord, zero), offsetof(UnkeptRecord, input)},
                                 std::pair{offsetof(UnkeptRecord, more_zero), offsetof(UnkeptRecord, resumed)},
                                 std::pair{offsetof(UnkeptRecord, still_more_zero), offsetof(UnkeptRecord, sequence)},
                                 std::pair{offsetof(UnkeptRecord, zeros), offsetof(UnkeptRecord, next_timer)},
                                 std::pair{offsetof(UnkeptRecord, last_zero), sizeof run}})
    if (const std::size_t at = nonzero(record, from, to); at != to) return fault(at, "a byte that must be zero");
  if (run.sequence != next_)
    return fault(offsetof(UnkeptRecord, sequence),
                 "sequence " + std::to_string(run.sequence) + ", where " + std::to_string(next_) + " comes next");
  if (run.count == 0 || run.count > unkept_max)
    return fault(offsetof(UnkeptRecord, count), std::to_string(run.count) + " inputs that were not kept, where 1 to " +
                                                    std::to_string(unkept_max) + " are in a record");
  if (run.next_timer != 0 && kind != InputKind::post)
    return fault(offsetof(UnkeptRecord, next_timer), "a number of a timer, where none was posted");
  unkept_ = {.offset = begin_,
             .envelope = {.sequence = next_, .kind = kind, .resumed = run.resumed, .next_timer = run.next_timer},
             .kept = false};
  unkept_left_ = run.count;
  return next_unkept();
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_counters(
    std::span<const std::byte> record) const {
  if (record.size() != sizeof(CountersRecord))
    return fault(0, "counters of " + std::to_string(record.size()) + " bytes");
  const auto counted = read<CountersRecord>(record);
  const std::size_t zero_end = offsetof(CountersRecord, sequence);
  if (const std::size_t at = nonzero(record, offsetof(CountersRecord, zero), zero_end); at != zero_end)
    return fault(at, "a byte that must be zero");
  if (counted.sequence != next_ - 1)
    return fault(offsetof(CountersRecord, sequence), "counters behind another input than the last");
  return JournalRecord{.kind = JournalRecord::Kind::counters,
                       .offset = begin_,
                       .envelope = {.sequence = counted.sequence},
                       .counters = {.messages = counted.messages,
                                    .unhandled = counted.unhandled,
                                    .dead = counted.dead,
                                    .refused = counted.refused,
                                    .carried = counted.carried,
                                    .overtaken = counted.overtaken,
                                    .dropped = counted.dropped}};
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_tick(
    std::span<const std::byte> record) const {
  if (record.size() != sizeof(TickRecord)) return fault(0, "a tick of " + std::to_string(record.size()) + " bytes");
  const auto tick = read<TickRecord>(record);
  for (const auto& [from, to] : {std::pair{offsetof(TickRecord, zero), offsetof(TickRecord, sequence)},
                                 std::pair{offsetof(TickRecord, more_zero), sizeof tick}})
    if (const std::size_t at = nonzero(record, from, to); at != to) return fault(at, "a byte that must be zero");
  if (tick.sequence != next_ - 1) return fault(offsetof(TickRecord, sequence), "a tick at another input than the last");
  return JournalRecord{
      .kind = JournalRecord::Kind::tick, .offset = begin_, .envelope = {.sequence = tick.sequence}, .tick = tick.tick};
}

std::expected<std::optional<JournalRecord>, JournalFault> RecordReader::read_schema(
    std::span<const std::byte> record) const {
  const auto schema = read<SchemaRecord>(record);
  for (const auto& [from, to] : {std::pair{offsetof(SchemaRecord, zero), offsetof(SchemaRecord, sequence)},
                                 std::pair{offsetof(SchemaRecord, more_zero), offsetof(SchemaRecord, length)},
                                 std::pair{offsetof(SchemaRecord, still_more_zero), sizeof schema}})
    if (const std::size_t at = nonzero(record, from, to); at != to) return fault(at, "a byte that must be zero");
  if (schema.sequence != next_ - 1)
    return fault(offsetof(SchemaRecord, sequence), "a schema at another input than the last");
  const std::size_t body = record.size() - sizeof schema;
  if (schema.length > body || body - schema.length >= alignment)
    return fault(offsetof(SchemaRecord, length),
                 "a schema of " + std::to_string(schema.length) + " bytes in " + std::to_string(body));
  const std::size_t end = sizeof schema + static_cast<std::size_t>(schema.length);
  if (const std::size_t at = nonzero(record, end, record.size()); at != record.size())
    return fault(at, "a byte that must be zero");
  return JournalRecord{.kind = JournalRecord::Kind::schema,
                       .offset = begin_,
                       .envelope = {.sequence = schema.sequence},
                       .schema = record.subspan(sizeof schema, static_cast<std::size_t>(schema.length))};
}

std::expected<void, std::string> read_group(const JournalGroup& group, TypeTable& types,
                                            const std::function<void(const JournalRecord&)>& take) {
  const std::string place = "journal group " + std::to_string(group.id);
  RecordReader reader(group.records, group.first);
  for (;;) {
    const auto record = reader.next(types);
    if (!record) return std::unexpected(place + ", " + record.error().text);
    if (!*record) break;
    if ((*record)->kind == JournalRecord::Kind::schema)
      if (auto added = types.add_schema((*record)->schema); !added)
        return std::unexpected(place + ": the schema does not fit: " + added.error().text());
    take(**record);
  }
  if (reader.next_sequence() == group.last + 1) return {};
  return std::unexpected(place + ": ends with input " + std::to_string(reader.next_sequence() - 1) + ", not " +
                         std::to_string(group.last));
}

}  // namespace muster
