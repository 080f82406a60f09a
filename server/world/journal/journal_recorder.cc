// - A record contains the envelope and the bytes that a sink receives. Tick numbers and the schemas
//   that the registry has learned are not inputs, but they affect later inputs, so they are
//   recorded separately.
// - Messages that are never journaled are also inputs, because they have sequence numbers. A record
//   states how many such messages there were, and a replay does everything except deliver them. The
//   result is still exact, because the handlers of such messages must not change any saved state
//   (registry/handlers/unkept.h). `latest` is applied before a message becomes an input
//   (server/session/requests.h). It could not be applied later, because a handler might already
//   have accumulated the message that is to be dropped.
// - The envelope contains both the session and the user. Grants and requests belong to a session.
//   History and undo belong to a user, because an editor page and a command line may share a token.
#include "server/world/journal/journal_recorder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "messages/batch.h"
#include "messages/type_table.h"
#include "registry/entity_registry.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/unkept.h"
#include "registry/host.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/journal_format.h"
#include "server/world/journal/spare_records.h"
#include "server/world/journal/work_mark.h"

namespace muster {

using namespace journal_format;

JournalRecorder::JournalRecorder(const EntityRegistry& registry, Start start)
    : registry_(registry),
      types_(registry.types()),
      host_code_(std::move(start.code)),
      code_(code_identity(host_code_, registry)),
      epoch_(start.epoch),
      group_bytes_(start.group_bytes),
      mark_(start.mark),
      spare_(start.spare),
      tick_(start.tick),
      last_(registry.sequence()),
      handler_steps_(registry.host().handlers().steps()),
      types_known_(types_.fingerprint()),
      types_before_(types_known_),
      schemas_(types_.schemas().size()),
      schemas_before_(schemas_) {
  find_unkept();
}

void JournalRecorder::find_unkept() {
  unkept_.clear();
  for (const TypeDescriptor* const type : types_.types())
    if (is_unkept(*type)) unkept_.push_back(type->id);
  std::ranges::sort(unkept_);
}

bool JournalRecorder::keeps(std::span<const std::byte> batch) const noexcept {
  if (unkept_.empty() || batch.empty()) [[likely]]
    return true;
  const BatchView view(batch);
  return view.kind() == BatchKind::timed || !std::ranges::binary_search(unkept_, view.type());
}

void JournalRecorder::reserve(std::size_t bytes) {
  std::vector<std::byte>& records = open_.records;
  const std::size_t more = std::max(bytes, 2 * records.capacity());
  std::vector<std::byte> larger = spare_ ? spare_->take(more) : std::vector<std::byte>();
  if (larger.capacity() < more) return records.reserve(more);
  larger.assign(records.begin(), records.end());
  records = std::move(larger);
}

template <class Record>
void JournalRecorder::append(const Record& record, std::span<const std::byte> body, std::size_t zeros) {
  std::vector<std::byte>& records = open_.records;
  const std::size_t whole = records.size() + sizeof record + body.size() + zeros;
  // Reserve all the memory up front, because a partially written record would be invalid.
  if (whole > records.capacity()) reserve(whole);
  last_record_ = records.size();
  const auto* const header = reinterpret_cast<const std::byte*>(&record);
  records.insert(records.end(), header, header + sizeof record);
  records.insert(records.end(), body.begin(), body.end());
  records.insert(records.end(), zeros, std::byte{0});
}

void JournalRecorder::on_input(const Envelope& envelope, std::span<const std::byte> batch) {
  if (mark_) mark_->begin(envelope.sequence, envelope.session, batch.empty() ? 0 : BatchView(batch).type());
  if (paused_) [[unlikely]] {
    last_ = envelope.sequence;
    return;
  }
  if (open_.records.size() >= group_bytes_) [[unlikely]]
    close_group();
  if (open_.records.empty()) [[unlikely]]
    begin_group();
  if (types_.schemas().size() != schemas_) [[unlikely]]
    learn_schemas();
  if (!cuts_.empty()) [[unlikely]] {
    std::erase_if(cuts_, [&](const CascadeCut& cut) { return cut.sequence + 1 != envelope.sequence; });
    // Keep them, because the input may be withdrawn.
    for (const CascadeCut& cut : cuts_) append_cut(cut);
  }
  if (!keeps(batch)) [[unlikely]]
    return append_unkept(envelope);
  append(InputRecord{.bytes = static_cast<std::uint32_t>(sizeof(InputRecord) + batch.size()),
                     .kind = static_cast<std::uint8_t>(envelope.kind),
                     .resumed = envelope.resumed,
                     .drawn = envelope.drawn,
                     .sequence = envelope.sequence,
                     .user = envelope.user,
                     .session = envelope.session,
                     .request = envelope.request,
                     .next_timer = envelope.next_timer},
         batch);
  open_.last = last_ = envelope.sequence;
}

void JournalRecorder::on_cut(const CascadeCut& cut) noexcept {
  if (paused_) return;
  if (cut.resumed != 0)
    cuts_.push_back(cut);
  else if (!open_.records.empty())
    append_cut(cut);
}

void JournalRecorder::append_cut(const CascadeCut& cut) {
  append(CutRecord{.resumed = cut.resumed, .run = cut.run, .sequence = cut.sequence, .messages = cut.messages}, {});
}

void JournalRecorder::append_unkept(const Envelope& envelope) {
  uncounted_ = true;
  UnkeptRecord* const run = last_unkept();
  if (run && run->input == static_cast<std::uint8_t>(envelope.kind) && run->next_timer == envelope.next_timer &&
      envelope.resumed == 0 && run->count < unkept_max)
    ++run->count;
  else
    append(UnkeptRecord{.input = static_cast<std::uint8_t>(envelope.kind),
                        .resumed = envelope.resumed,
                        .sequence = envelope.sequence,
                        .next_timer = envelope.next_timer},
           {});
  open_.last = last_ = envelope.sequence;
}

UnkeptRecord* JournalRecorder::last_unkept() noexcept {
  if (open_.records.size() != last_record_ + sizeof(UnkeptRecord)) return nullptr;
  // Records begin on 16-byte boundaries of memory that was allocated by operator new.
  auto* const last = reinterpret_cast<UnkeptRecord*>(open_.records.data() + last_record_);
  return last->kind == kind_unkept ? last : nullptr;
}

void JournalRecorder::note_counters() {
  if (!uncounted_ || open_.records.empty() || open_.last < open_.first) return;
  const RegistryCounters& counted = registry_.host().counters();
  append(CountersRecord{.sequence = last_,
                        .messages = counted.messages,
                        .unhandled = counted.unhandled,
                        .dead = counted.dead,
                        .refused = counted.refused,
                        .carried = counted.carried,
                        .overtaken = counted.overtaken,
                        .dropped = counted.dropped},
         {});
  uncounted_ = false;
}

void JournalRecorder::on_withdrawn(const Envelope& envelope) noexcept {
  last_ = envelope.sequence - 1;
  if (paused_) return;
  if (UnkeptRecord* const run = last_unkept(); run && run->count > 1)
    --run->count;
  else
    open_.records.resize(last_record_);
  open_.last = last_;
}

void JournalRecorder::made_tick(std::uint64_t tick) {
  tick_ = tick;
  if (paused_) return;
  if (open_.records.empty()) begin_group();
  append(TickRecord{.sequence = last_, .tick = tick}, {});
}

void JournalRecorder::learn_schemas() {
  const auto all = types_.schemas();
  for (; schemas_ < all.size(); ++schemas_) {
    const std::span<const std::byte> schema = all[schemas_];
    const std::size_t zeros = round_up(static_cast<std::uint32_t>(schema.size()), alignment) - schema.size();
    append(SchemaRecord{.bytes = static_cast<std::uint32_t>(sizeof(SchemaRecord) + schema.size() + zeros),
                        .sequence = last_,
                        .length = schema.size()},
           schema, zeros);
  }
  types_known_ = types_.fingerprint();
  find_unkept();
}

void JournalRecorder::begin_group() {
  look_at_code();
  last_record_ = 0;
  schemas_before_ = schemas_;
  types_before_ = types_known_;
  open_.first = last_ + 1;
  open_.last = last_;
  open_.first_tick = tick_;
  open_.epoch = epoch_;
  open_.types = types_known_;
  open_.code = code_;
  reserve(usual_bytes_);
}

void JournalRecorder::look_at_code() {
  const std::uint64_t steps = registry_.host().handlers().steps();
  if (steps == handler_steps_) return;
  handler_steps_ = steps;
  code_ = code_identity(host_code_, registry_);
}

void JournalRecorder::set_epoch(std::uint64_t epoch) {
  end_group();
  epoch_ = epoch;
}

void JournalRecorder::set_code(std::string code) {
  end_group();
  host_code_ = std::move(code);
  code_ = code_identity(host_code_, registry_);
}

void JournalRecorder::end_group() {
  note_counters();
  close_group();
}

void JournalRecorder::close_group() {
  if (open_.records.empty()) return;
  // The group contains only schemas from an input that was withdrawn. Those schemas will be
  // recorded again.
  if (open_.last < open_.first) {
    open_ = {};
    schemas_ = schemas_before_;
    types_known_ = types_before_;
    return;
  }
  look_at_code();
  // It is not known which handlers processed which of the group's inputs, so the group cannot be
  // replayed exactly with any code.
  if (open_.code != code_) open_.code += ", then " + code_;
  open_.last_tick = tick_;
  usual_bytes_ = std::clamp(open_.records.size() + open_.records.size() / 4, std::size_t{4096}, 2 * group_bytes_);
  closed_bytes_ += open_.records.size();
  closed_.push_back(std::exchange(open_, {}));
}

std::vector<JournalGroup> JournalRecorder::take() {
  end_group();
  closed_bytes_ = 0;
  return std::exchange(closed_, {});
}

void JournalRecorder::pause() noexcept {
  paused_ = true;
  uncounted_ = false;
  cuts_.clear();
  open_ = {};
  closed_.clear();
  closed_bytes_ = 0;
}

void JournalRecorder::resume(std::uint64_t tick) {
  paused_ = false;
  tick_ = tick;
  last_ = registry_.sequence();
  schemas_ = types_.schemas().size();
  types_known_ = types_.fingerprint();
  find_unkept();
}

}  // namespace muster
