// The live inputs come first, so that everything outside the registry sees only them. After a
// difference, the registry is given the first result again: the inputs are repeated once more, and
// the columns that the live inputs changed are overwritten with copies.
#include "registry/moments/synctest.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

#include "registry/moments/manager_hashes.h"
#include "registry/moments/synctest_impl.h"
#include "registry/moments/synctest_log.h"
#include "registry/state/state_format.h"

namespace muster {

Synctest::Impl::Impl(EntityRegistry& registry, Options options)
    : registry_(registry), options_(std::move(options)), ring_(registry, options_.bytes_max) {}
Synctest::Impl::~Impl() { stop(); }

void Synctest::Impl::stop() {
  if (!std::exchange(begun_, false)) return;
  handlers().set_probe(nullptr);
  registry_.host().remove_sink(*this);
  Structure& structure = registry_.impl_->structure;
  if (log_ && structure.edit_log() == this) structure.set_edit_log(log_);
}

std::string Synctest::Impl::why_not() const {
  if (!registry_.core_.state.input.empty()) return "posted messages wait; deliver them first, for example by flush()";
  return {};
}

std::expected<void, std::string> Synctest::Impl::begin() {
  registry_.check_outside();
  stop();
  repetition_.reset();
  if (std::string why = why_not(); !why.empty()) return std::unexpected(std::move(why));
  texts_before_ = registry_.core_.state.texts.size();
  auto moment = ring_.keep();
  if (!moment) return std::unexpected(std::move(moment.error()));
  moment_ = *moment;
  ring_.forget_before(moment_);
  version_ = registry_.host().begin_version();
  next_ordinal_ = handlers().next_ordinal();
  handlers_ = handlers().handlers().size();
  inputs_.clear();
  bytes_.clear();
  cuts_.clear();
  too_much_ = edited_ = false;
  registry_.host().add_sink(*this);
  Structure& structure = registry_.impl_->structure;
  log_ = structure.edit_log();
  if (log_) structure.set_edit_log(this);
  live_ = std::make_unique<Log>(registry_, 0, Log::Depth::brief);
  live_->fresh.prepare();
  handlers().set_probe(live_.get());
  begun_ = true;
  return {};
}

std::expected<std::optional<SyncDifference>, std::string> Synctest::Impl::end() {
  registry_.check_outside();
  if (!begun_) return std::nullopt;
  if (std::string why = why_not(); !why.empty()) return std::unexpected(std::move(why));
  // Another log may have recorded edits.
  if (registry_.impl_->structure.edit_log() != (log_ ? this : nullptr)) edited_ = true;
  stop();
  if (handlers().next_ordinal() != next_ordinal_ || handlers().handlers().size() != handlers_)
    return std::unexpected("handlers were added or removed");
  if (edited_) return std::unexpected("sessions made edits, which a log has recorded");
  if (too_much_) return std::unexpected("the inputs take more memory than Synctest::Options::bytes_max");
  if (registry_.core_.state.resumed != 0) return std::unexpected("a cascade was resumed without an input");
  if (inputs_.empty()) return std::nullopt;
  SyncDifference found;
  found.first_sequence = inputs_.front().envelope.sequence;
  found.last_sequence = inputs_.back().envelope.sequence;
  const Result first = result_since(version_);
  if (std::string why = go_back(); !why.empty()) return std::unexpected(std::move(why));
  repeated_ += inputs_.size();
  repetition_ = std::make_unique<Log>(registry_, 1, Log::Depth::brief);
  const Result second = again(false, repetition_.get());
  if (!left_mode_) left_mode_ = left_mode(*live_, found.first_sequence, found.last_sequence);
  if (!left_mode_) left_mode_ = left_mode(*repetition_, found.first_sequence, found.last_sequence);
  if (second.hash == first.hash) return std::exchange(left_mode_, std::nullopt);
  if (std::string why = go_back(); !why.empty()) return std::unexpected(std::move(why));
  const std::vector<Value> values = compare(first, second, *this, found);
  if (std::string why = find_handler(values, found); !why.empty()) return std::unexpected(std::move(why));
  found.goes_on_with_first = put_first(first);
  return found;
}

std::string Synctest::Impl::go_back() {
  const auto returned = ring_.return_to(moment_);
  return returned ? std::string() : returned.error();
}

Synctest::Impl::Result Synctest::Impl::again(bool workers, Log* log) {
  EntityRegistry::Impl& r = *registry_.impl_;
  RegistryHost host = registry_.host();
  const std::uint64_t version = host.begin_version();
  {
    if (options_.repeats) options_.repeats(true);
    const QuietInputs quiet(registry_);
    if (!workers) r.delivery.set_parallel(nullptr);
    if (log) log->fresh.prepare();
    r.types.handlers().set_probe(log);
    for (const Input& input : inputs_) {
      const Envelope& envelope = input.envelope;
      for (const CascadeCut& cut : cuts_)
        if ((cut.resumed == 0 && cut.sequence == envelope.sequence) ||
            (cut.resumed != 0 && cut.sequence + 1 == envelope.sequence))
          host.expect_cut(cut);
      host.replay(envelope, std::span(bytes_).subspan(input.offset, input.bytes));
    }
    r.types.handlers().set_probe(nullptr);
    r.delivery.set_parallel(r.parallel.get());
  }
  if (options_.repeats) options_.repeats(false);
  return result_since(version);
}

Synctest::Impl::Result Synctest::Impl::result_since(std::uint64_t version) {
  Result result{.hash = registry_.hash(), .columns = {}, .parts = {}};
  for (const auto& archetype : storage().archetypes()) {
    if (!archetype) continue;
    for (std::uint32_t depth = 0; depth < archetype->groups.size(); ++depth)
      for (const Chunk* chunk : archetype->groups[depth].chunks) {
        bool any = false;
        for (std::uint32_t slot = column_parents; slot < archetype->pod_slots; ++slot) {
          if (chunk->slots()[slot].version <= version || !chunk->slots()[slot].data) continue;
          any = true;
          const TypeId type = slot == column_parents ? TypeTraits<ChildOf>::id : archetype->slot_types[slot]->id;
          const Place place(depth, archetype->number, chunk->place, type);
          result.columns.emplace(place, column_at(place));
        }
        const Place ids(depth, archetype->number, chunk->place, ids_type);
        if (any || chunk->slots()[column_ids].version > version) result.columns.emplace(ids, column_at(ids));
      }
  }
  const RegistryState& state = registry_.core_.state;
  const auto part = [&](const std::string& name, std::uint64_t number) {
    std::uint64_t& sum = result.parts[name];
    sum = (sum ^ number) * 0x9e3779b97f4a7c15u;
  };
  part("the ids", storage().ids().indices());
  for (std::size_t i = 0; i < storage().ids().free_queue().size(); ++i)
    part("the ids", storage().ids().free_queue()[i]);
  for (std::size_t i = 0; i < state.texts.size(); ++i) part("the texts", state.texts.at(i).hash);
  for (std::size_t i = texts_before_; i < state.texts.size(); ++i)
    result.texts.emplace(state.texts.at(i).hash, registry_.text(state.texts.at(i)));
  part("the clock and the numbers of timers", state.now_ns);
  part("the clock and the numbers of timers", state.next_timer);
  for (const auto& [key, timer] : state.timers.waiting())
    part("the timers", XXH3_64bits(timer.batch.data(), timer.batch.size()));
  for (const auto& [name, number] : ManagerHashes(registry_.impl_->managers).by_name)
    part("the saved bytes of manager \"" + name + '"', number);
  CarriedOver(state.cascade, state.cursor.message, registry_.types()).for_each([&](std::span<const std::byte> batch) {
    part("the messages that wait", XXH3_64bits(batch.data(), batch.size()));
  });
  return result;
}

// --- columns ---

const Chunk* Synctest::Impl::chunk_at(std::uint32_t depth, std::uint32_t archetype, std::uint32_t place) {
  for (const auto& each : storage().archetypes())
    if (each && each->number == archetype)
      return depth < each->groups.size() && place < each->groups[depth].chunks.size()
                 ? each->groups[depth].chunks[place]
                 : nullptr;
  return nullptr;
}

Synctest::Impl::Column Synctest::Impl::column_at(const Place& place) {
  const auto& [depth, archetype, number, type] = place;
  const Chunk* const chunk = chunk_at(depth, archetype, number);
  if (!chunk) return {};
  const std::uint32_t slot = type == ids_type                  ? column_ids
                             : type == TypeTraits<ChildOf>::id ? column_parents
                                                               : chunk->archetype->slot_of(type);
  if (slot == no_column || !chunk->slots()[slot].data) return {};
  const std::uint32_t size = slot < column_first ? 8 : chunk->archetype->slot_types[slot]->size;
  const std::byte* const data = chunk->slots()[slot].data;
  return {.count = chunk->count, .size = size, .bytes = {data, data + std::size_t{size} * chunk->count}};
}

bool Synctest::Impl::put_first(const Result& first) {
  std::map<Place, Column> before;  // columns that the live inputs did not change
  const Result probe = again(false);
  if (!go_back().empty()) return false;
  for (const auto& [place, column] : probe.columns)
    if (!first.columns.contains(place)) before.emplace(place, column_at(place));
  const Result last = again(false);
  const auto put = [&](const Place& place, const Column& column) {
    const auto& [depth, archetype, number, type] = place;
    Chunk* const chunk = const_cast<Chunk*>(chunk_at(depth, archetype, number));
    if (!chunk || type == ids_type || type == TypeTraits<ChildOf>::id || type == TypeTraits<Name>::id ||
        chunk->count != column.count || column.bytes.empty())
      return;
    const std::uint32_t slot = chunk->archetype->slot_of(type);
    if (slot == no_column || !chunk->slots()[slot].data ||
        std::memcmp(chunk->slots()[slot].data, column.bytes.data(), column.bytes.size()) == 0)
      return;
    storage().touch(*chunk, slot);
    std::memcpy(chunk->slots()[slot].data, column.bytes.data(), column.bytes.size());
  };
  if (last.hash != first.hash) {
    for (const auto& [place, column] : before) put(place, column);
    for (const auto& [place, column] : first.columns) put(place, column);
  }
  return registry_.hash() == first.hash;
}

// --- Synctest ---

Synctest::Synctest(EntityRegistry& registry) : Synctest(registry, Options{}) {}
Synctest::Synctest(EntityRegistry& registry, Options options)
    : impl_(std::make_unique<Impl>(registry, std::move(options))) {}
Synctest::~Synctest() = default;
std::expected<void, std::string> Synctest::begin() { return impl_->begin(); }
std::expected<std::optional<SyncDifference>, std::string> Synctest::end() { return impl_->end(); }
bool Synctest::has_begun() const noexcept { return impl_->has_begun(); }
std::uint64_t Synctest::repeated() const noexcept { return impl_->repeated(); }

}  // namespace muster
