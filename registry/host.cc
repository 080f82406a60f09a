#include "registry/host.h"

#include "registry/registry_impl.h"

namespace muster {

// --- reading ---

bool RegistryReader::is_new() const noexcept {
  const RegistryState& state = read_.core_.state;
  return state.storage.rows() == 0 && state.sequence == 0 && state.input.empty();
}

std::size_t RegistryReader::memory_waiting() const noexcept {
  const RegistryCore& core = read_.core_;
  return core.state.input.capacity() + core.state.cascade.capacity() + core.pushing.capacity();
}

std::optional<AtWork> RegistryReader::at_work() const {
  const Inside inside = read_.core_.inside.look();
  if (inside == Inside::nobody) return std::nullopt;
  const Handler* const straight = handler_in(inside);
  AtWork work = straight ? read_.impl_->delivery.at_work(straight, read_.core_.pushed_to.look())
                         : read_.impl_->delivery.at_work(read_.core_.workers);
  work.sequence = read_.core_.state.sequence.look();
  return work;
}

std::span<const TypeId> RegistryReader::components(Entity e) const noexcept {
  read_.check_reading();
  const Row row = storage().find(e);
  if (!row) return {};
  // Limit on the number of remembered component sets, which grows as callers keep changing and
  // reading components.
  constexpr std::size_t kept_max = 256;
  std::vector<TypeId> types;
  const std::span<const TypeId> here = types_of(row, types);
  if (here.data() != types.data() || here.empty()) return here;
  Archetype& archetype = *row.chunk->archetype;
  if (archetype.present.size() >= kept_max && archetype.present_sequence != read_.core_.state.sequence)
    archetype.present.clear();
  archetype.present_sequence = read_.core_.state.sequence;
  return *archetype.present.insert(std::move(types)).first;
}

bool RegistryReader::is_host_text(Text text) const noexcept { return read_.impl_->host_texts.contains(text.hash); }

const GameLog& RegistryReader::log() const noexcept { return read_.impl_->game_log; }

const ManagerStates& RegistryReader::waiting_managers() const noexcept { return read_.impl_->managers.waiting(); }
void RegistryReader::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const {
  read_.check_reading();
  if (read_.alive(e)) read_.impl_->managers.describe(e, take);
}

bool RegistryReader::has_managers() const noexcept { return !read_.impl_->managers.empty(); }

void RegistryReader::save_held(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const {
  if (read_.alive(e)) read_.impl_->managers.save_entity(e, to, lost);
}

std::vector<std::pair<Entity, std::uint32_t>> RegistryReader::left_grants() const {
  read_.check_outside();
  std::vector<Entity> named;
  for (const auto& [key, timer] : read_.impl_->timers.waiting()) add_made(BatchView(timer.batch), named);
  for (const Arena* arena : {&read_.core_.state.input, &read_.core_.state.cascade})
    arena->for_each([&](const BatchView& batch) { add_made(batch, named); });
  std::vector<bool> kept(storage().ids().indices());
  for (const Entity e : named)
    if (storage().in_state(e, IdState::granted)) kept[e.index] = true;
  std::vector<std::pair<Entity, std::uint32_t>> left;
  const auto goes = [&](std::uint32_t i) { return !kept[i] && storage().in_state({i, 1}, IdState::granted); };
  for (std::uint32_t i = 1; i < kept.size(); ++i) {
    if (!goes(i)) continue;
    const std::uint32_t first = i;
    // The end of the range. A used id in the middle of the range does not end it.
    std::uint32_t end = i + 1;
    for (; i < kept.size() && !kept[i]; ++i)
      if (goes(i)) end = i + 1;
    left.emplace_back(Entity{first, 1}, end - first);
  }
  return left;
}

std::shared_ptr<const Template> RegistryReader::find_template(std::string_view name) const {
  const TemplateTable::Entry* entry = read_.impl_->structure.templates().find(text_of(name));
  return entry ? entry->what : nullptr;
}

std::optional<DefineTemplateView> RegistryReader::template_definition(std::string_view name) const {
  const TemplateTable::Entry* entry = read_.impl_->structure.templates().find(text_of(name));
  if (!entry) return {};
  const BatchView batch(entry->batch);
  return DefineTemplateView::from(table_item(batch, batch.body()).table);
}

std::span<const std::byte> RegistryReader::template_batch(std::string_view name) const {
  const TemplateTable::Entry* entry = read_.impl_->structure.templates().find(text_of(name));
  if (!entry) return {};
  return entry->batch;
}

std::size_t RegistryReader::template_count() const noexcept {
  return read_.impl_->structure.templates().entries().size();
}

std::vector<std::string_view> RegistryReader::template_names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : read_.impl_->structure.templates().entries()) names.push_back(entry.what->name());
  return names;
}

// --- inputs ---

Receipt RegistryHost::push_batch(std::span<const std::byte> batches, const Sender& by) {
  registry_.check_outside();
  return registry_.impl_->inputs.push_batches(batches, by);
}

void RegistryHost::post_batch(std::span<const std::byte> batches) {
  registry_.check_outside();
  for_each_batch(batches, [&](const BatchView& batch) {
    registry_.impl_->inputs.claim_timer(batch);
    registry_.input().append_batch(batch);
  });
}

void RegistryHost::expect_cut(const CascadeCut& cut) {
  registry_.check_outside();
  registry_.impl_->inputs.expect_cut(cut);
}
void RegistryHost::begin_turn() noexcept {
  registry_.check_outside();
  registry_.impl_->inputs.begin_turn();
}
void RegistryHost::set_bounds(const CascadeBounds& bounds) noexcept {
  registry_.check_outside();
  registry_.core_.state.bounds = bounds;
  registry_.impl_->note_bounds();
}

Receipt RegistryHost::replay(const Envelope& recorded, std::span<const std::byte> batch, bool timed) {
  registry_.check_outside();
  require(recorded.sequence == registry_.core_.state.sequence + 1,
          "RegistryHost::replay: not the input that comes next");
  if (!registry_.core_.state.input.empty()) {
    // The state contained a posted batch, and the replay must deliver that batch first.
    require(recorded.kind == InputKind::post, "RegistryHost::replay: something else was posted");
    registry_.core_.state.input.seal();
    registry_.core_.state.input.pop_front();
  }
  const GameLog::Muted muted(registry_.impl_->game_log);
  return registry_.impl_->inputs.replay(recorded, batch, timed);
}

Inbox& RegistryHost::inbox() noexcept { return registry_.impl_->inputs.inbox(); }
void RegistryHost::add_sink(InputSink& sink) {
  registry_.check_outside();
  RegistryCore& core = registry_.core_;
  auto& [all, of_receipts] = core.quiet ? core.quiet_sinks : core.sinks;
  all.add(sink);
  for (const InputKind kind :
       {InputKind::push, InputKind::post, InputKind::flush, InputKind::advance, InputKind::inbox})
    if (sink.wants_receipts(kind)) of_receipts[static_cast<std::size_t>(kind)].add(sink);
  core.note_sinks();
}
void RegistryHost::remove_sink(InputSink& sink) noexcept {
  check_no_handler();
  RegistryCore& core = registry_.core_;
  for (RegistryCore::Sinks* sinks : {&core.sinks, &core.quiet_sinks}) {
    sinks->all.remove(sink);
    for (SinkList& of_kind : sinks->of_receipts) of_kind.remove(sink);
  }
  core.note_sinks();
}
void RegistryHost::set_pushed_sink(PushedSink* sink) noexcept {
  check_no_handler();
  registry_.impl_->pushed_sink = sink;
  if (!registry_.core_.quiet) registry_.impl_->inputs.set_pushed_sink(sink);
}
void RegistryHost::set_edit_log(EditLog* log) noexcept {
  registry_.check_outside();
  registry_.impl_->structure.set_edit_log(log);
}
void RegistryHost::check_no_handler() const noexcept {
  if (registry_.core_.running_straight() || registry_.impl_->delivery.running()) registry_.used_inside_handler();
}
void RegistryHost::set_counters(const RegistryCounters& recorded) noexcept {
  registry_.check_outside();
  registry_.core_.state.counters = recorded;
}

// --- ids and texts ---

Entity RegistryHost::grant(std::uint32_t count, std::uint64_t session) {
  registry_.check_outside();
  registry_.known_types().need<Grant>();
  Entity first;
  // Pending messages may take ids, so they must be delivered first.
  registry_.impl_->inputs.push([&](Arena& pushing) {
    first = {registry_.core_.state.storage.next_grant(count), 1};
    pushing.append_world(Grant{.first = first.index, .count = count, .author = session});
  });
  return first;
}

void RegistryHost::return_grant(Entity first, std::uint32_t count) {
  registry_.push(ReturnGrant{.first = first.index, .count = count});
}

Receipt RegistryHost::drop_texts(std::span<const Text> texts) {
  registry_.check_outside();
  registry_.known_types().need<DropTexts>();
  DropTexts message;
  message.texts.reserve(texts.size());
  for (const Text text : texts) message.texts.push_back(text.hash);
  registry_.core_.pushing.append_table(TypeTraits<DropTexts>::id, Entity{}, encode(message));
  return registry_.deliver_pushed();
}

// --- plugins and workers ---

void RegistryHost::set_executor(Executor* executor) {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  r.delivery.set_parallel(nullptr);
  r.parallel.reset();
  if (!executor || executor->workers() < 2) return;
  r.parallel =
      std::make_unique<ParallelPass>(PassParts{r.storage, r.types, r.texts, r.structure.templates(), r.next_timer,
                                               r.now_ns, r.self, r.cascade, r.game_log, r.core.workers},
                                     *executor, r.options.pass_serial_below_ns);
  r.delivery.set_parallel(r.parallel.get());
  r.note_observed();
}

void RegistryHost::begin_part(std::uint32_t part) {
  registry_.check_outside();
  registry_.known_types().handlers().begin_part(part);
}

TypeId RegistryHost::change_message(ChangeKind kind, TypeId component) {
  registry_.check_outside();
  if (!registry_.known_types().component(component))
    throw SetupError("there is no component with type id " + std::to_string(component));
  return registry_.known_types().change(kind, component).type->id;
}

void RegistryHost::forget_runtime_type(TypeId type) {
  registry_.check_outside();
  registry_.known_types().forget_runtime(type);
  registry_.impl_->restorers.erase(type);
}

void RegistryHost::remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose) {
  registry_.check_outside();
  for (const TypeId type : registry_.known_types().forget_runtime_of(whose)) registry_.impl_->restorers.erase(type);
}

void RegistryHost::set_waiting_managers(ManagerStates states) {
  registry_.check_outside();
  registry_.impl_->managers.set_waiting(std::move(states));
}

}  // namespace muster
