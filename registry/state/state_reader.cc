#include "registry/state/state_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "messages/judge/verifier.h"
#include "registry/apply/managers.h"
#include "registry/apply/structure.h"
#include "registry/state/batch_change.h"
#include "registry/state/chunks_to_come.h"
#include "registry/state/id_states.h"
#include "registry/state/presence.h"
#include "registry/state/saved_types.h"
#include "registry/state/state_format.h"
#include "registry/state/state_links.h"

namespace muster {

namespace {

/// Reads rows section by section. Checks every number before using it. Stops at the first error.
class StateReader {
 public:
  StateReader(StateSource& source, RegistryState& into, const ReadParts& parts)
      : s_(into), types_(parts.types), structure_(into, parts.types), parts_(parts), source_(source) {}

  std::expected<LoadReport, StateError> read() {
    using Step = void (StateReader::*)(const StateKey&, std::span<const std::byte>);
    const std::pair<StateSection, Step> steps[] = {
        {StateSection::registry, &StateReader::registry},    {StateSection::schema, &StateReader::schema},
        {StateSection::directory, &StateReader::directory},  {StateSection::free_queue, &StateReader::free_queue},
        {StateSection::archetypes, &StateReader::archetype}, {StateSection::texts, &StateReader::texts},
        {StateSection::templates, &StateReader::define},     {StateSection::chunks, &StateReader::chunk},
        {StateSection::columns, &StateReader::column},       {StateSection::hierarchy, &StateReader::hierarchy},
        {StateSection::pending, &StateReader::pending},      {StateSection::timers, &StateReader::timer},
        {StateSection::managers, &StateReader::manager},     {StateSection::manager_parts, &StateReader::manager_part},
        {StateSection::disabled, &StateReader::disabled}};
    for (const auto& [section, step] : steps) {
      section_ = section;
      source_.rows(section, [&, run = step](const StateKey& key, std::span<const std::byte> bytes) {
        if (fault_) return;
        at_ = key;
        const bool single = key.section == StateSection::registry || key.section == StateSection::free_queue ||
                            key.section == StateSection::disabled;
        if (expect((!single || key.key == 0) && (key.column == 0 || key.section == StateSection::columns ||
                                                 key.section == StateSection::manager_parts),
                   "there is no such row"))
          (this->*run)(key, bytes);
      });
      if (!fault_) finish(section);
      if (fault_) return std::unexpected(std::move(*fault_));
    }
    if (auto fault = check_links(s_.storage, s_.hierarchy)) return std::unexpected(std::move(*fault));
    restore_names();
    if (fault_) return std::unexpected(std::move(*fault_));
    s_.storage.restore_counters(row_.next_chunk_uid, static_cast<std::uint32_t>(row_.next_archetype));
    lacked_.take(structure_);
    s_.sequence = row_.sequence;
    s_.now_ns = row_.now_ns;
    s_.next_timer = row_.next_timer;
    s_.resumed = static_cast<std::uint32_t>(row_.resumed);
    s_.counters = {row_.messages, row_.unhandled, row_.dead, row_.refused, row_.carried, row_.overtaken, row_.dropped};
    report_.converted = saved_.changes();
    return std::move(report_);
  }

 private:
  /// A chunk for which some columns have not been read yet.
  struct Pending {
    ChunkRow row = {};
    std::vector<std::uint8_t> found = {};  // by slot: true if the column has been read
    Chunk* placed = nullptr;
  };
  /// A column as it was saved.
  struct SavedColumn {
    TypeId then, now;
    std::uint32_t bytes;         // size of one value
    const LayoutChange* change;  // null if the bytes are unchanged
    TypeId lacked = 0;           // component whose presence column this is, if any
  };
  [[gnu::cold, gnu::noinline]] void fail(std::string what) {
    if (!fault_) fault_ = StateError{at_, std::move(what)};
  }
  [[gnu::cold, gnu::noinline]] void fail(const char* what) { fail(std::string(what)); }
  bool expect(bool condition, const char* what) {
    if (!condition) [[unlikely]]
      fail(what);
    return condition;
  }
  template <class T>
  static T get(std::span<const std::byte> bytes, std::size_t at) noexcept {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }

  void registry(const StateKey&, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() >= sizeof row_.format, "the registry's row has the wrong length")) return;
    const auto format = get<std::uint64_t>(bytes, 0);
    if (format != 1 && format != 2)
      return fail("the saved registry has format " + std::to_string(format) + "; this version reads 1 and 2");
    if (!expect(bytes.size() == sizeof(RegistryRow) || bytes.size() == registry_row_bounded ||
                    (format == 1 && (bytes.size() == registry_row_counted || bytes.size() == registry_row_first)),
                "the registry's row has the wrong length"))
      return;
    std::memcpy(&row_, bytes.data(), bytes.size());
    found_ = true;
    counted_ = bytes.size() >= registry_row_counted;
    if (bytes.size() >= registry_row_bounded) bounds();
    expect(format == 1 || row_.zero == 0, "the registry's row has a nonzero reserved number");
    expect(row_.indices >= 1 && row_.indices < 0xffffffffull, "the number of ids is out of range");
    expect(row_.next_archetype < 0xffffffffull, "the number of archetypes is out of range");
  }
  /// Restores the limits with which the state was saved, because they affect later states.
  void bounds() {
    CascadeBounds& own = s_.bounds;
    const CascadeBounds saved{row_.cascade_messages_max, row_.cascade_bytes_max, row_.carried_messages_max,
                              row_.carried_bytes_max};
    if (saved.carried_messages_max == 0 || saved.carried_bytes_max == 0 || row_.resumed > ~0u)
      return fail("the limits on what is carried over are out of range");
    if (parts_.insist_on_bounds && own != saved) return fail(other_bounds(saved, own));
    own = saved;
  }
  void schema(const StateKey&, std::span<const std::byte> bytes) {
    if (const auto added = saved_.add(bytes); !added) fail(added.error().text());
    ++schemas_;
  }
  void directory(const StateKey& key, std::span<const std::byte> bytes) {
    constexpr std::uint64_t per_page = 1u << id_page_bits;
    if (!expect(bytes.size() >= 8, "the page is truncated")) return;
    const auto count = get<std::uint64_t>(bytes, 0);
    const std::uint64_t first = key.key * per_page;
    if (!expect(key.key == slots_.size() / per_page && first == slots_.size(), "pages of ids are missing")) return;
    if (!expect(count == std::min(per_page, row_.indices - first) && bytes.size() == 8 + count * 5,
                "the page holds the wrong number of ids"))
      return;
    DirectoryEntry* const entries = slots_.extend(count);
    const std::byte* const generations = bytes.data() + 8;
    const std::byte* const states = generations + count * 4;
    std::uint32_t stray = 0, retired = 0;
    for (std::size_t i = 0; i < count; ++i) {  // has no branches, so that it is vectorized
      std::uint32_t generation;
      std::memcpy(&generation, generations + i * 4, 4);
      const auto state = static_cast<std::uint32_t>(states[i]);
      entries[i] = {Locator(static_cast<IdState>(state)), generation};
      stray |= static_cast<std::uint32_t>(generation == 0) & static_cast<std::uint32_t>(state != 0);
      retired += static_cast<std::uint32_t>(generation == 0);
    }
    const auto [unused, alive, large] = count_id_states({states, count});
    alive_ += alive;
    free_ids_ += unused - retired;  // all retired ids are unused, unless there are stray indices
    retired_ += retired;
    if (stray != 0 || large != alive)
      for (const DirectoryEntry& entry : std::span(entries, count)) {
        const auto state = static_cast<std::uint32_t>(entry.locator.state());
        if (!expect(state <= 4 || state == state_alive, "an id has an unknown state") ||
            !expect(entry.generation == 1 || state != 4, "an id that was used is marked as returned by a grant") ||
            !expect(entry.generation != 0 || state == 0, "an id without a generation is in use"))
          return;
      }
    expect(first != 0 || entries[0].generation == 0, "index 0 has a generation");
  }
  void free_queue(const StateKey&, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() % 4 == 0, "the queue of free indices is truncated")) return;
    std::vector<bool> seen(slots_.size());
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      const auto index = get<std::uint32_t>(bytes, at);
      if (!expect(index > 0 && index < slots_.size() && slots_[index].locator == Locator(IdState::free) &&
                      slots_[index].generation != 0 && !seen[index],
                  "an index in the free queue is not free"))
        return;
      seen[index] = true;
      free_.push_back(index);
    }
  }
  void archetype(const StateKey& key, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() >= 8, "the archetype is truncated")) return;
    const auto count = get<std::uint64_t>(bytes, 0);
    if (!expect(count < 4096 && bytes.size() == 8 + count * 16, "the archetype is truncated")) return;
    if (!expect(key.key < row_.next_archetype && key.key >= s_.storage.next_archetype(),
                "the archetype's number is wrong"))
      return;
    std::vector<TypeId> types;
    std::vector<SavedColumn> columns;
    TypeId previous = 0;
    bool changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = get<TypeId>(bytes, 8 + i * 16);
      const auto saved_bytes = get<std::uint32_t>(bytes, 8 + i * 16 + 4);
      const auto reading = saved_.reading(id);
      if (!reading) return fail("component " + reading.error().text());
      const StoredType* type = types_.component(reading->now->id);
      if (!expect(type, "a component type is not in any schema")) return;
      if (get<std::uint64_t>(bytes, 8 + i * 16 + 8) != reading->then->fingerprint ||
          (reading->change ? saved_bytes != 0 && saved_bytes != reading->then->size
                           : saved_bytes != type->saved_size()))
        return fail("component " + reading->then->name + " was saved with a layout that differs from its schema");
      if (!expect(i == 0 || previous < id, "component types are out of order")) return;
      previous = id;
      types.push_back(reading->now->id);
      changed |= reading->change != nullptr || reading->now->id != id;
      if (saved_bytes != 0) columns.push_back({id, reading->now->id, saved_bytes, reading->change});
      if (reading->then->enableable)
        columns.push_back({presence_id(*reading->then), presence_id(*reading->now), sizeof(PresenceWord), nullptr,
                           reading->now->enableable ? 0 : reading->now->id});
    }
    std::ranges::sort(types);
    if (!expect(std::ranges::adjacent_find(types) == types.end(), "two components have become one type") ||
        !expect(archetypes_.insert(types).second, "two archetypes are identical"))
      return;
    s_.storage.restore_archetype(static_cast<std::uint32_t>(key.key), types);
    if (changed) changed_.emplace(static_cast<std::uint32_t>(key.key), std::move(columns));
  }
  void chunk(const StateKey& key, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() >= sizeof(ChunkRow), "the chunk is truncated")) return;
    Pending chunk{.row = get<ChunkRow>(bytes, 0)};
    const Archetype* const archetype = s_.storage.archetype_numbered(chunk.row.archetype);
    if (!expect(archetype != nullptr, "the chunk's archetype is unknown") ||
        !expect(chunk.row.rows > 0 && chunk.row.rows <= chunk_rows_max, "the chunk's number of rows is out of range") ||
        !expect(chunk.row.depth < 1u << 20, "the chunk's depth is out of range") ||
        !expect(key.key < row_.next_chunk_uid, "the chunk's number is out of range"))
      return;
    const std::size_t versions = row_.format == 2   ? 0
                                 : changed_.empty() ? archetype->pod_slots
                                                    : saved_slots(*archetype);
    if (!expect(bytes.size() == sizeof(ChunkRow) + versions * 8, "the chunk's row has the wrong length")) return;
    chunk.found.resize(archetype->pod_slots);
    to_come_.add(chunk.row.archetype, chunk.row.depth);
    waiting_.emplace(key.key, std::move(chunk));
  }
  void column(const StateKey& key, std::span<const std::byte> bytes) {
    const auto found = waiting_.find(key.key);
    if (!expect(found != waiting_.end(), "the column's chunk is missing")) return;
    Pending& chunk = found->second;
    const Archetype& archetype = *s_.storage.archetype_numbered(chunk.row.archetype);
    if (!changed_.empty()) [[unlikely]]
      if (const SavedColumn* saved = saved_column(chunk.row.archetype, key.column))
        return converted_column(key, bytes, chunk, *saved);
    const std::uint16_t slot =
        key.column < column_first ? static_cast<std::uint16_t>(key.column) : archetype.slot_of(key.column);
    if (!expect(slot < archetype.pod_slots, "the column's component is not in its archetype")) return;
    const std::size_t size = slot < column_first ? 8 : archetype.slot_types[slot]->size;
    if (!expect(bytes.size() == size * chunk.row.rows, "the column's length does not match its rows") ||
        !expect(!chunk.found[slot], "the column appears twice") ||
        !expect(slot != column_parents || chunk.row.depth > 0, "a chunk of roots has a column of parents"))
      return;
    if (!chunk.placed && !place(key.key, chunk)) return;
    chunk.found[slot] = 1;
    std::memcpy(chunk.placed->slots()[slot].data, bytes.data(), bytes.size());
    if (slot >= column_first) return mend_column(chunk, slot);
    if (slot != column_ids) return;
    if (expect(s_.storage.place_ids(*chunk.placed, static_cast<IdState>(state_alive)),
               "a row's entity is not alive, or has two rows"))
      alive_ -= chunk.row.rows;
  }
  /// Returns the saved columns of an archetype if any component has changed its layout or name.
  const std::vector<SavedColumn>* changed_columns(std::uint64_t archetype) const {
    const auto at = changed_.find(static_cast<std::uint32_t>(archetype));
    return at == changed_.end() ? nullptr : &at->second;
  }
  [[gnu::cold, gnu::noinline]] std::size_t saved_slots(const Archetype& archetype) const {
    const auto* const changed = changed_columns(archetype.number);
    return changed ? column_first + changed->size() : archetype.pod_slots;
  }
  [[gnu::cold, gnu::noinline]] const SavedColumn* saved_column(std::uint64_t archetype, TypeId then) const {
    const auto* const columns = changed_columns(archetype);
    if (!columns) return nullptr;
    const auto at = std::ranges::find(*columns, then, &SavedColumn::then);
    return at == columns->end() ? nullptr : &*at;
  }
  /// Like column(), for a component whose layout or name has changed.
  [[gnu::cold, gnu::noinline]] void converted_column(const StateKey& key, std::span<const std::byte> bytes,
                                                     Pending& chunk, const SavedColumn& saved) {
    if (!expect(bytes.size() == std::size_t{saved.bytes} * chunk.row.rows,
                "the column's length does not match its rows"))
      return;
    if (saved.lacked && (chunk.placed || place(key.key, chunk))) return lacked_.add(*chunk.placed, bytes, saved.lacked);
    const Archetype& archetype = *s_.storage.archetype_numbered(chunk.row.archetype);
    const std::uint16_t slot = archetype.slot_of(saved.now);
    if (slot >= archetype.pod_slots) return;  // the component is now a tag or a runtime component
    const StoredType& type = *archetype.slot_types[slot];
    if (!expect(!chunk.found[slot], "the column appears twice")) return;
    if (!chunk.placed && !place(key.key, chunk)) return;
    chunk.found[slot] = 1;
    std::byte* to = chunk.placed->slots()[slot].data;
    for (std::size_t at = 0; at < bytes.size(); at += saved.bytes, to += type.size)
      if (saved.change)
        saved.change->apply(bytes.subspan(at, saved.bytes), {to, type.size});
      else
        std::memcpy(to, bytes.data() + at, saved.bytes);
    mend_column(chunk, slot);
  }
  /// Fills the columns that were not saved because their component was a tag.
  [[gnu::cold, gnu::noinline]] void fill_new_columns(Pending& chunk) {
    const auto* const changed = changed_columns(chunk.row.archetype);
    if (!changed) return;
    const Archetype& archetype = *chunk.placed->archetype;
    for (std::uint32_t slot = column_first; slot < archetype.pod_slots; ++slot) {
      const StoredType& type = *archetype.slot_types[slot];
      if (std::ranges::find(*changed, type.id, &SavedColumn::now) != changed->end()) continue;
      for (std::uint32_t row = 0; row < chunk.row.rows; ++row)
        std::memcpy(chunk.placed->slots()[slot].data + std::size_t{row} * type.size,
                    type.descriptor->default_bytes.data(), type.size);
      chunk.found[slot] = 1;
    }
  }
  /// Corrects invalid bool and enum values, which handlers and C++ code can write. Handles
  /// optional components only if `all_are_read`, because absent values need no correction.
  void mend_column(const Pending& chunk, std::uint16_t slot, bool all_are_read = false) {
    const StoredType& stored = *chunk.placed->archetype->slot_types[slot];
    const std::uint16_t presence = chunk.placed->archetype->presence(stored.id);
    if (stored.is_presence || (presence != no_column || was_enableable(chunk, stored.id)) != all_are_read) return;
    const TypeDescriptor& type = *stored.descriptor;
    if (types_.table().rules(type).empty()) return;  // every value is valid
    std::byte* const values = chunk.placed->slots()[slot].data;
    for (std::uint32_t row = 0; row < chunk.row.rows; ++row) {
      if (presence != no_column && Row{chunk.placed, row}.presence(presence) == 0) continue;
      Mended mended{.listed_max = LoadReport::listed_max};
      mend_value({values + std::size_t{row} * stored.size, stored.size}, type, types_.table(), mended);
      if (mended.count != 0) [[unlikely]]
        report(mended, chunk.found[column_ids] ? chunk.placed->ids()[row] : Entity{});
    }
  }
  bool was_enableable(const Pending& chunk, TypeId type) const {
    const auto* const changed = changed_.empty() ? nullptr : changed_columns(chunk.row.archetype);
    return changed && std::ranges::find(*changed, type, &SavedColumn::lacked) != changed->end();
  }
  void report(const Mended& mended, Entity entity) {
    report_.mended += mended.count;
    for (const MendedValue& value : mended.listed)
      if (report_.listed.size() < LoadReport::listed_max)
        report_.listed.push_back({at_, entity, value.type, value.field, value.found, value.put});
  }
  /// Creates a chunk only when its first column arrives. Damaged states may announce many chunks.
  bool place(std::uint64_t uid, Pending& chunk) {
    Archetype& archetype = *s_.storage.archetype_numbered(chunk.row.archetype);
    const std::size_t place =
        chunk.row.depth < archetype.groups.size() ? archetype.groups[chunk.row.depth].chunks.size() : 0;
    // Limit the depth, because each depth needs a group. In a valid state, it also has a chunk.
    if (!expect(chunk.row.place == place, "a chunk before this one is missing") ||
        !expect(chunk.row.depth < waiting_.size(), "the chunk's depth exceeds the number of chunks"))
      return false;
    to_come_.place(s_.storage, archetype, chunk.row.depth, place);
    chunk.placed = &s_.storage.restore_chunk(archetype, chunk.row.depth, uid, chunk.row.rows);
    if (!changed_.empty()) [[unlikely]]
      fill_new_columns(chunk);
    return true;
  }
  void check_chunks() {
    to_come_.end();
    lacked_.fill();
    for (const auto& [uid, chunk] : waiting_) {
      at_ = {StateSection::chunks, uid, 0};
      for (std::size_t slot = 0; slot < chunk.found.size(); ++slot)
        if (!expect(chunk.found[slot] || (slot == column_parents && chunk.row.depth == 0), "a column is missing"))
          return;
      if (!expect(settle_presence(*chunk.placed), "a row does not say whether it has a component")) return;
      for (std::uint16_t slot = column_first; slot < chunk.found.size(); ++slot) {
        at_ = {StateSection::columns, uid, chunk.placed->archetype->slot_types[slot]->id};
        mend_column(chunk, slot, true);
      }
    }
    at_ = {StateSection::directory, 0, 0};
    expect(alive_ == 0, "a living entity has no row");
  }
  void hierarchy(const StateKey& key, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() == sizeof(Hierarchy::Page::links), "the page is truncated") ||
        !expect(key.key <= row_.indices >> Hierarchy::page_bits, "the page's number is out of range"))
      return;
    Hierarchy::Page& page = s_.hierarchy.restore_page(static_cast<std::uint32_t>(key.key));
    std::memcpy(page.links, bytes.data(), bytes.size());
    page.version = s_.storage.version();
    for (std::uint32_t i = 0; i < std::size(page.links); ++i) {
      const Links& links = page.links[i];
      const std::uint32_t largest = std::max({links.first_child, links.last_child, links.next, links.previous});
      if (!expect(largest < row_.indices, "a link is out of range")) return;
    }
  }
  /// Every name must be a known text and must be unique among siblings.
  void restore_names() {
    for (std::uint32_t number = 0; number < s_.storage.chunk_numbers(); ++number) {
      const Chunk* chunk = s_.storage.chunk(number);
      const std::uint16_t slot = chunk ? chunk->archetype->column(TypeTraits<Name>::id) : no_column;
      if (slot == no_column) continue;
      at_ = {StateSection::columns, chunk->uid, TypeTraits<Name>::id};
      for (const Name& name : std::span(reinterpret_cast<const Name*>(chunk->slots()[slot].data), chunk->count))
        if (!expect(name.text && s_.texts.knows(name.text), "a name's text is unknown")) return;
    }
    if (const Entity second = structure_.restore_names()) {
      at_ = {StateSection::columns, s_.storage.find(second).chunk->uid, TypeTraits<Name>::id};
      fail("two siblings have the same name");
    }
  }
  void texts(const StateKey& key, std::span<const std::byte> bytes) {
    if (!expect(key.key * texts_per_page == s_.texts.size(), "a page of texts is missing")) return;
    while (!bytes.empty()) {
      if (!expect(bytes.size() >= 4, "the page of texts is truncated")) return;
      const auto length = get<std::uint32_t>(bytes, 0);
      if (!expect(length > 0 && bytes.size() - 4 >= length, "the page of texts is truncated")) return;
      bool collision = false;
      s_.texts.intern({reinterpret_cast<const char*>(bytes.data()) + 4, length}, &collision);
      if (!expect(!collision, "two texts have the same hash")) return;
      bytes = bytes.subspan(4 + length);
    }
  }
  void define(const StateKey& key, std::span<const std::byte> bytes) {
    const std::optional<BatchView> defined = batch(bytes);
    if (!defined) return;
    if (!expect(defined->type() == TypeTraits<DefineTemplate>::id && defined->kind() == BatchKind::table &&
                    defined->count() == 1 && !defined->has_causes(),
                "a template's row does not hold a template"))
      return;
    const std::span<const std::byte> table = table_item(*defined, defined->body()).table;
    const Text text = text_of(DefineTemplateView::from(table).name());
    if (!expect(text.hash == key.key, "a template is stored under the wrong name")) return;
    const Refusal refusal = structure_.define(table);
    if (refusal.code != RefusalCode::none) fail(std::string("a template was refused: ") + name(refusal.code));
  }
  /// Returns an aligned copy of a batch in the current types. The copy has been verified, except
  /// for values that are corrected. Returns null if the batch is invalid or cannot be converted.
  std::optional<BatchView> batch(std::span<const std::byte> bytes) {
    Mended mended{.listed_max = LoadReport::listed_max};
    const auto converted = convert_batch(bytes, saved_, mended);
    if (!converted) return fail(converted.error().text()), std::nullopt;
    if (*converted) bytes = **converted;
    aligned_.assign((bytes.size() + 15) / 16, {});
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    const auto good =
        mend_batch({reinterpret_cast<std::byte*>(aligned_.data()), bytes.size()}, types_.table(), own_limits, mended);
    if (!good) {
      fail(good.error().text);
      return {};
    }
    if (mended.count != 0) report(mended, {});
    return *good;
  }
  /// Posts the messages of a batch again, one by one, so that the next post extends it as before.
  void reopen(const BatchView& batch) {
    const BatchHeader& header = batch.header();
    const TypeDescriptor& type = *types_.table().find(header.type);
    if (!expect(header.kind == BatchKind::each || header.kind == BatchKind::world ||
                    header.kind == BatchKind::subtree || header.kind == BatchKind::table,
                "a batch of this kind cannot be open") ||
        !expect(!batch.has_causes(), "an open batch has causes"))
      return;
    if (header.kind == BatchKind::table) {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < header.count; ++i) {
        const TableItem item = table_item(batch, at);
        s_.input.append_table(header.type, item.target, item.table, header.argument);
        at = item.next;
      }
      return;
    }
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& entry : batch.row_set()) components.push_back(types_.table().find(entry.type));
    const RowSet rows = batch.has_rows() ? RowSet(type, components) : RowSet();
    const PayloadShape shape = PayloadShape::of(type);
    for (std::uint32_t i = 0; i < header.count; ++i) {
      std::byte* payload = batch.has_rows()                  ? s_.input.append_rows(rows, batch.target(i))
                           : header.kind == BatchKind::world ? s_.input.append_world(shape)
                           : header.kind == BatchKind::subtree
                               ? s_.input.append_subtree(shape, batch.target(i), header.argument)
                               : s_.input.append(shape, batch.target(i));
      std::memcpy(payload, batch.payload(i), header.payload_bytes);
    }
  }
  void pending(const StateKey& key, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() > sizeof(PendingRow), "the waiting batch is truncated") ||
        !expect(key.key == s_.cascade.batches() + s_.input.batches(), "a waiting batch is missing"))
      return;
    const auto row = get<PendingRow>(bytes, 0);
    if (!expect(row.queue == PendingQueue::input || (row.queue == PendingQueue::cascade && s_.input.empty()),
                "the waiting batch is not in any queue") ||
        !expect(row.open <= 1 && row.zero == 0 && (row.open == 0 || row.queue == PendingQueue::input) &&
                    (row.queue == PendingQueue::cascade || (row.message == 0 && row.offset == 0)),
                "the waiting batch has an invalid state") ||
        !expect(!last_open_, "a waiting batch comes after an open one"))
      return;
    last_open_ = row.open != 0;
    const std::optional<BatchView> waiting = batch(bytes.subspan(sizeof(PendingRow)));
    if (!waiting) return;
    if (!expect(waiting->kind() != BatchKind::timed || waiting->timer() < row_.next_timer,
                "a waiting timer has a number that was never issued"))
      return;
    if (waiting->type() == TypeTraits<HandlerRequest>::id && waiting->kind() == BatchKind::world)
      report_.lost_requests += waiting->count() - std::min(row.message, waiting->count());
    if (row.queue == PendingQueue::input) {
      if (row.open)
        reopen(*waiting);
      else
        s_.input.append_batch(*waiting);
      return;
    }
    const bool first = s_.cascade.empty();
    if (!expect(row.message < waiting->count() && (first || row.message == 0), "a waiting batch begins past its end"))
      return;
    if (first) {
      BatchCursor cursor{.message = row.message};
      const std::byte* at = waiting->body();
      if (waiting->kind() == BatchKind::table)
        for (std::uint32_t i = 0; i < row.message; ++i) at = table_item(*waiting, at).next;
      cursor.offset = static_cast<std::size_t>(at - waiting->body());
      s_.cursor = cursor;
    }
    s_.cascade.append_batch(*waiting);
  }
  void timer(const StateKey& key, std::span<const std::byte> bytes) {
    const std::optional<BatchView> timed = batch(bytes);
    if (!timed) return;
    if (!expect(timed->kind() == BatchKind::timed && key.key != 0 && key.key < row_.next_timer &&
                    (timed->timer() == 0 || timed->timer() == key.key),
                "a timer's row does not hold a timer, or has the wrong number"))
      return;
    expect(s_.timers.add(key.key, *timed, s_.storage.version()), "a timer appears twice");
  }
  void manager(const StateKey& key, std::span<const std::byte> bytes) {
    if (std::string wrong = keep_manager(s_.managers, key.key, bytes); !wrong.empty()) fail(std::move(wrong));
  }
  void manager_part(const StateKey& key, std::span<const std::byte> bytes) {
    if (std::string wrong = keep_manager_part(s_.managers, key.key, key.column, bytes); !wrong.empty())
      fail(std::move(wrong));
  }
  void disabled(const StateKey&, std::span<const std::byte> bytes) {
    if (!expect(bytes.size() % 8 == 0, "the list of disabled handlers is truncated")) return;
    std::set<Text> names;
    for (std::size_t at = 0; at < bytes.size(); at += 8) names.insert(Text{get<std::uint64_t>(bytes, at)});
    s_.handlers.disabled.assign(names.begin(), names.end());
  }
  void finish(StateSection section) {
    at_ = {section, 0, 0};
    if (section == StateSection::registry) expect(found_, "the registry's row is missing");
    if (section == StateSection::schema)
      if (const auto settled = saved_.settle(); !settled) fail(settled.error().text());
    if (section == StateSection::directory) {
      expect(slots_.size() == row_.indices, "pages of ids are missing");
      expect(retired_ == row_.retired + 1,
             "the number of retired ids does not match the registry's row");  // plus index 0
    }
    if (section == StateSection::free_queue) expect(free_.size() == free_ids_, "free indices are not in the queue");
    if (counted_) {
      if (section == StateSection::schema) expect(schemas_ == row_.schemas, "schemas are missing");
      if (section == StateSection::archetypes) expect(archetypes_.size() == row_.archetypes, "archetypes are missing");
      if (section == StateSection::templates)
        expect(s_.templates.entries().size() == row_.templates, "templates are missing");
      if (section == StateSection::disabled)
        expect(s_.handlers.disabled.size() == row_.disabled, "names of disabled handlers are missing");
    }
    if (section == StateSection::manager_parts) {
      at_ = {StateSection::managers, 0, 0};
      if (std::string wrong = check_managers(s_.managers, at_.key); !wrong.empty()) fail(std::move(wrong));
    }
    if (section == StateSection::chunks) s_.storage.restore_ids(std::move(slots_), std::move(free_), row_.retired);
    if (section == StateSection::columns) check_chunks();
    if (section == StateSection::texts) expect(s_.texts.size() == row_.texts, "texts are missing");
    if (section == StateSection::pending)
      expect(s_.cascade.batches() + s_.input.batches() == row_.pending, "waiting batches are missing");
    if (section == StateSection::timers) expect(s_.timers.size() == row_.timers, "timers are missing");
  }

  struct alignas(16) Block {
    std::byte bytes[16];
  };

  RegistryState& s_;
  TypesKnown& types_;
  Structure structure_;
  const ReadParts parts_;
  StateSource& source_;
  StateSection section_ = StateSection::registry;
  StateKey at_;
  std::optional<StateError> fault_;
  RegistryRow row_;
  LoadReport report_;
  bool found_ = false;
  bool counted_ = false;  // true if the registry's row has the counts at its end
  bool last_open_ = false;
  GrowingArray<DirectoryEntry> slots_;
  RingQueue<std::uint32_t> free_;
  std::uint64_t alive_ = 0, free_ids_ = 0, retired_ = 0, schemas_ = 0;
  std::set<std::vector<TypeId>> archetypes_;  // types of the archetypes read so far
  SavedTypes saved_{types_.table(), parts_.conversions};
  std::map<std::uint32_t, std::vector<SavedColumn>> changed_;  // keyed by archetype
  LackedComponents lacked_;
  std::map<std::uint64_t, Pending> waiting_;
  ChunksToCome to_come_;
  std::vector<Block> aligned_;
};

}  // namespace

std::expected<LoadReport, StateError> read_state(StateSource& source, RegistryState& into, const ReadParts& parts) {
  return StateReader(source, into, parts).read();
}

}  // namespace muster
