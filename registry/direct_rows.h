// Creates and destroys single entities, and adds and removes their components, for calls of the
// host that are made while no messages are pending and no handler has to be called. The batch is
// sealed and shown to the sinks. Then, a HostCall (registry/delivery/host_call.h) that knows the
// component types writes the row. The bytes, ids, rows, versions, counters, and receipts are
// identical to those from Delivery and Structure, which process all other calls and the first call
// with each list of components (registry/apply/row_sites.h). The functions are members of
// EntityRegistry.
#pragma once

#include "registry/apply/fill_rows.h"
#include "registry/delivery/host_call.h"
#include "registry/entity_registry.h"

namespace muster {

namespace detail {

/// True if a component list may take the direct path: it must be short and must not contain runtime
/// components.
template <ComponentType... Cs>
constexpr bool direct_list =  // NOLINTNEXTLINE(misc-redundant-expression)
    sizeof...(Cs) <= site_components_max && (std::is_void_v<typename RuntimeOf<Cs>::type> && ...);

/// Writes values into a row. The columns must have been touched.
template <ComponentType... Cs>
[[gnu::always_inline]] inline void put_values([[maybe_unused]] const OpenChunk& open, [[maybe_unused]] std::size_t row,
                                              const Cs&... values) noexcept {
  [[maybe_unused]] std::size_t at = 0;
  [[maybe_unused]] const auto put = [&]<class C>(const C& value) {
    if constexpr (EnableableType<C>) open.presences[at][row] = 1;
    [[maybe_unused]] std::byte* const column = open.columns[at++];
    if constexpr (!TypeTraits<C>::tag) std::memcpy(column + row * sizeof(C), &value, sizeof(C));
  };
  (put(values), ...);
}

/// Returns the stored batch with a new target and new values.
template <MessageType M, ComponentType... Cs>
[[gnu::always_inline]] inline std::span<const std::byte> sealed_rows(const SealedBytes& kept, Entity target,
                                                                     const Cs&... values) noexcept {
  auto& sealed = SingleRows<M, Cs...>::at(kept.data());
  sealed.set(target, values...);
  return sealed.bytes();
}

[[gnu::always_inline]] inline std::span<const std::byte> sealed_remove(const SealedBytes& kept, Entity target,
                                                                       const Remove& message) noexcept {
  auto& sealed = SingleBatch<Remove>::at(kept.data());
  sealed.set(target, message);
  return sealed.bytes();
}

template <ComponentType... Cs>
inline constexpr std::array<TypeId, sizeof...(Cs)> list_types{TypeTraits<Cs>::id...};

constexpr std::uint64_t create_list = 1, set_list = 2, remove_list = 3;  // kinds of site keys

}  // namespace detail

template <ComponentType... Cs>
[[gnu::always_inline]] inline Entity EntityRegistry::create(const Cs&... components) {
  if constexpr (detail::direct_list<Cs...>) {
    static constexpr std::uint64_t key = site_key<Cs...>(detail::create_list);
    RegistryCore& core = core_;
    if (core.is_quiet() && !core.types.handlers().told().create) [[likely]] {
      CreateSite* const site = core.sites.create(key);
      if (!site) [[unlikely]]
        return create_first(components...);
      const Entity made = HostCall::take_id(core);
      const HostCall call(
          core, core.created, [&] { return detail::sealed_rows<Create>(site->sealed, made, components...); },
          [&] { HostCall::undraw(core, made); });
      if (!site->open.fits(core.state.storage)) [[unlikely]]
        call.reopen(*site, detail::list_types<Cs...>);
      detail::put_values(site->open, call.create(made, site->open), components...);
      call.done();
      return made;
    }
  }
  return Created(create_named<Cs...>(Entity{}, std::string_view{}, components...));
}

template <ComponentType... Cs>
[[gnu::noinline]] Entity EntityRegistry::create_first(const Cs&... components) {
  const Entity made = create_under(Entity{}, std::string_view{}, components...);
  if (const Row row = core_.state.storage.find(made))
    core_.sites.learn_create(site_key<Cs...>(detail::create_list), *row.chunk->archetype,
                             SingleRows<Create, Cs...>(made, Create{}, components...).bytes());
  return made;
}

template <ComponentType... Cs>
std::vector<Entity> EntityRegistry::create_many(std::uint32_t count, const Cs&... components) {
  if constexpr (detail::direct_list<Cs...>) {
    static constexpr std::uint64_t key = site_key<Cs...>(detail::create_list);
    RegistryCore& core = core_;
    if (core.is_quiet() && !core.types.handlers().told().create && count != 0) [[likely]] {
      const CreateSite* const site = core.sites.create(key);
      if (!site) [[unlikely]] {
        std::vector<Entity> made = create_many_queued(count, components...);
        if (const Row row = core.state.storage.find(made.front()))
          core.sites.learn_create(key, *row.chunk->archetype,
                                  SingleRows<Create, Cs...>(made.front(), Create{}, components...).bytes());
        return made;
      }
      const bool far = core.state.storage.rows() + count >= rows_far_away;
      const Storage::ExpectedRows expected = core.state.storage.expect_rows(*site->archetype, 0, count);
      RunsTogether runs;
      const auto fill = [&] {
        [[maybe_unused]] const auto put = [&]<class C>(const C& value) {
          if constexpr (!TypeTraits<C>::tag) {
            const std::uint16_t slot = site->archetype->column(TypeTraits<C>::id);
            for (const Storage::Run& run : runs.all()) {
              std::byte* const to = run.chunk->slots()[slot].data + run.begin * sizeof(C);
              if (far)
                fill_rows<true>(to, value, run.count);
              else
                fill_rows<false>(to, value, run.count);
            }
          }
        };
        (put(components), ...);
      };
      HostEnvelope created(count);
      std::vector<Entity> made;
      made.reserve(count);
      if (!core.told) {
        const HostCall call(core, created, [] { return std::span<const std::byte>(); }, [] {});
        while (made.size() != count) {
          runs.create(
              count - made.size(),
              [&](std::size_t left) {
                const Storage::Run run = call.create_run(left, *site->archetype, far);
                // Copy the ids now, while they are still in the core's L1 cache.
                append_ids(made, run.chunk->ids() + run.begin, run.count);
                return run;
              },
              fill);
        }
        call.done(count);
        return made;
      }
      const std::span<Entity> ids = core.pushing.append_rows_shared(count, Create{}, components...);
      const Storage::Drawn before = core.state.storage.drawn();
      HostCall::take_ids(core, ids);
      made.assign(ids.begin(), ids.end());
      const HostCall call(
          core, created, [&] { return core.pushing.front().bytes(); },
          [&] {
            core.state.storage.undraw(before);
            core.pushing.clear();
          });
      core.pushing.clear();
      for (std::span<const Entity> left = made; !left.empty();)
        left = left.subspan(runs.create(
            left.size(), [&](std::size_t size) { return call.create_run(left.last(size), *site->archetype); }, fill));
      call.done(count);
      return made;
    }
  }
  return create_many_queued(count, components...);
}

template <ComponentType... Cs>
[[gnu::noinline]] std::vector<Entity> EntityRegistry::create_many_queued(std::uint32_t count, const Cs&... components) {
  (known_types().need<Cs>(), ...);
  std::vector<Entity> made(count);
  if (count == 0) return made;
  open<Create>().append_rows_shared(made.size(), Create{}, components...);
  deliver_new(made);
  return made;
}

template <ComponentType... Cs>
[[gnu::always_inline]] inline Receipt EntityRegistry::set(Entity e, const Cs&... components) {
  if constexpr (detail::direct_list<Cs...>) {
    static constexpr std::uint64_t key = site_key<Cs...>(detail::set_list);
    RegistryCore& core = core_;
    if (core.is_quiet() && !core.types.handlers().told().set) [[likely]]
      if (const std::uint64_t place = core.state.storage.locate(e); place < Locator::no_row) [[likely]] {
        // Adding or removing an enableable component usually does not move a row.
        if constexpr (!(EnableableType<Cs> && ...))
          if (MoveSite& recent = core.sites.recent(key); recent.key == key && recent.knows(core.state.storage, place)) {
            const HostCall call(core, [&] { return detail::sealed_rows<Set>(recent.sealed, e, components...); });
            const std::uint32_t at = call.move_recent(recent, e, place);
            detail::put_values(recent.open, at, components...);
            return call.done();
          }
        const Row row = core.state.storage.row_at(place);
        MoveSite* const site = core.sites.move(key, *row.chunk);
        if (!site) [[unlikely]]
          return set_first(row, components...);
        const HostCall call(core, [&] { return detail::sealed_rows<Set>(site->sealed, e, components...); });
        Row to = row;
        if (site->from != site->to) {
          if (row.chunk->depth == 0) [[likely]] {
            const std::uint32_t at = call.move(*site, e, *row.chunk, place);
            detail::put_values(site->open, at, components...);
            return call.done();
          }
          to = call.move_below(*site, e, row);
        }
        [[maybe_unused]] std::size_t at = 0;
        const auto put = [&]<class C>(const C& value) {
          if constexpr (EnableableType<C>) call.enable(to, site->presences[at]);
          [[maybe_unused]] const std::uint16_t slot = site->slots[at++];
          if constexpr (!TypeTraits<C>::tag) {
            call.touch(*to.chunk, slot);
            std::memcpy(to.at(slot, sizeof(C)), &value, sizeof(C));
          }
        };
        (put(components), ...);
        return call.done();
      }
  }
  (known_types().need<Cs>(), ...);
  return push_rows(e, Set{}, components...);
}

template <ComponentType... Cs>
[[gnu::noinline]] Receipt EntityRegistry::set_first(Row row, const Cs&... components) {
  const Entity e = row.chunk->ids()[row.row];
  Archetype& from = *row.chunk->archetype;
  (known_types().need<Cs>(), ...);
  const std::uint64_t drops = core_.state.storage.archetype_drops();
  const Receipt receipt = push_rows(e, Set{}, components...);
  if (receipt.handled && drops == core_.state.storage.archetype_drops())
    core_.sites.learn_move(site_key<Cs...>(detail::set_list), from, *core_.state.storage.find(e).chunk->archetype,
                           detail::list_types<Cs...>, SingleRows<Set, Cs...>(e, Set{}, components...).bytes());
  return receipt;
}

template <ComponentType C>
[[gnu::always_inline]] inline Receipt EntityRegistry::remove(Entity e) {
  static constexpr Remove message{.component = TypeTraits<C>::id};
  // Names are excluded, because they are also stored in an index.
  if constexpr (detail::direct_list<C> && TypeTraits<C>::id != TypeTraits<Name>::id) {
    static constexpr std::uint64_t key = site_key<C>(detail::remove_list);
    RegistryCore& core = core_;
    if (core.is_quiet() && !core.types.handlers().told().remove) [[likely]]
      if (const std::uint64_t place = core.state.storage.locate(e); place < Locator::no_row) [[likely]] {
        if constexpr (!EnableableType<C>)
          if (MoveSite& recent = core.sites.recent(key); recent.key == key && recent.knows(core.state.storage, place)) {
            const HostCall call(core, [&] { return detail::sealed_remove(recent.sealed, e, message); });
            call.move_recent(recent, e, place);
            return call.done();
          }
        const Row row = core.state.storage.row_at(place);
        MoveSite* const site = core.sites.move(key, *row.chunk);
        if (!site) [[unlikely]]
          return remove_first<C>(row);
        if constexpr (EnableableType<C>)
          if (row.presence(site->presences[0]) == 0) [[unlikely]]
            return push(e, message);  // this will be refused
        const HostCall call(core, [&] { return detail::sealed_remove(site->sealed, e, message); });
        if constexpr (EnableableType<C>)
          call.disable(row, site->presences[0], TypeTraits<C>::tag ? no_column : site->slots[0], sizeof(C));
        else if (row.chunk->depth == 0) [[likely]]
          call.move(*site, e, *row.chunk, place);
        else
          call.move_below(*site, e, row);
        return call.done();
      }
  }
  known_types().need<C>();
  return push(e, message);
}

template <ComponentType C>
[[gnu::noinline]] Receipt EntityRegistry::remove_first(Row row) {
  const Entity e = row.chunk->ids()[row.row];
  Archetype& from = *row.chunk->archetype;
  known_types().need<C>();
  const std::uint64_t drops = core_.state.storage.archetype_drops();
  const Receipt receipt = push(e, Remove{.component = TypeTraits<C>::id});
  if (receipt.handled && drops == core_.state.storage.archetype_drops())
    core_.sites.learn_move(site_key<C>(detail::remove_list), from, *core_.state.storage.find(e).chunk->archetype,
                           detail::list_types<C>, SingleBatch<Remove>(e, {.component = TypeTraits<C>::id}).bytes());
  return receipt;
}

[[gnu::always_inline]] inline Receipt EntityRegistry::destroy(Entity e, const Destroy& message) {
  RegistryCore& core = core_;
  if (core.is_quiet() && !core.types.handlers().told().destroy && !core.state.storage.logs_destroyed()) [[likely]]
    if (const Row row = core.state.storage.find(e); row && stands_alone(row, e, core.state.hierarchy)) [[likely]] {
      const HostCall call(core, [&] {
        core.destroyed.set(e, message);
        return core.destroyed.bytes();
      });
      call.destroy(row, e);
      return call.done();
    }
  return push_queued<Destroy>(e, message);
}

}  // namespace muster
