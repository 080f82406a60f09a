// Limits that keep what Muster promises: the work of rows elsewhere, by hand over plain arrays, with all that is promised of inputs and rows
// (bench/promises.h). Where a goal is beside them, it says what Muster's generality may cost.
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "bench/handlers.h"
#include "bench/promises.h"
#include "messages/single_batch.h"
#include "registry/storage/hierarchy.h"

namespace promised_bench {

using namespace muster;
using namespace bench;

namespace {

// --- one message at once ---

/// What a message to a row of a chunk calls: another handler, or none, where the entities have other components.
struct PlainChunk {
  void (*call)(const Hit&, Mass&);
  Mass* masses;
  std::uint64_t version;
};

template <bool random>
void push(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, random>>();
  Promises promises;
  std::vector<PlainChunk> chunks(Promises::chunks(10'000));
  for (std::size_t i = 0; i < chunks.size(); ++i)
    chunks[i] = {&on_hit, plain.masses.data() + (i << Promises::chunk_shift), 0};
  benchmark::DoNotOptimize(chunks.data());
  SingleBatch<Hit> sealed({}, {});
  measure.run(plain.entities.size(), [&] {
    promises.checkpoint();
    for (const Entity e : plain.entities) {
      const Promises::Call call(promises);
      sealed.set(e, Hit{1});
      promises.tell(sealed.bytes());
      const PlainSlot* const slot = plain.slots.data() + e.index;
      if (slot >= plain.slots.data() + plain.slots.size() || slot->generation != e.generation) {
        promises.dead();
        continue;
      }
      PlainChunk& chunk = chunks[slot->row >> Promises::chunk_shift];
      if (!chunk.call) std::abort();
      promises.touch(chunk.version, 0);
      promises.calls(e, std::bit_cast<std::uint64_t>(chunk.call));
      chunk.call(*static_cast<const Hit*>(sealed.payload()),
                 chunk.masses[slot->row & ((1u << Promises::chunk_shift) - 1)]);
      promises.end();
      promises.handled();
    }
  });
}
const Entry push_in_order_row("push_in_order/as_promised", no_goal, push<false>);
const Entry push_random_row("push_random/as_promised", no_goal, push<true>);

// --- posted ---

/// Batches as sinks and sockets see them, one behind the other: a run of one type is one batch.
class SealedStream {
 public:
  explicit SealedStream(std::size_t room) : bytes_(room) {}
  void clear() noexcept {
    write_ = bytes_.data();
    open_ = nullptr;
  }
  template <class M>
  void append(Entity target, const M& message) {
    if (!open_ || type_ != TypeTraits<M>::id) [[unlikely]]
      begin<M>();
    if (write_ + sizeof(Item<M>) > bytes_.data() + bytes_.size()) std::abort();
    new (write_) Item<M>{target, message, 0};
    write_ += sizeof(Item<M>);
    benchmark::ClobberMemory();
  }
  void seal() noexcept {
    if (!open_) return;
    open_->bytes = static_cast<std::uint32_t>(write_ - reinterpret_cast<std::byte*>(open_));
    open_->count = (open_->bytes - static_cast<std::uint32_t>(sizeof(BatchHeader))) / 16;
  }
  template <class F>
  void each(F f) {
    for (const std::byte* at = bytes_.data(); at != write_;) {
      const BatchHeader& header = *reinterpret_cast<const BatchHeader*>(at);
      f(header, at);
      at += header.bytes;
    }
  }
  template <class M>
  struct Item {
    Entity target;
    M message;
    std::uint32_t pad;
  };

 private:
  template <class M>
  void begin() {
    static_assert(sizeof(Item<M>) == 16);
    seal();
    open_ = new (write_)
        BatchHeader{.type = TypeTraits<M>::id, .payload_offset = 8, .payload_bytes = sizeof(M), .item_bytes = 16};
    type_ = TypeTraits<M>::id;
    write_ += sizeof(BatchHeader);
  }
  std::vector<std::byte> bytes_;
  std::byte* write_ = nullptr;
  BatchHeader* open_ = nullptr;
  TypeId type_ = 0;
};

using MassVersions = std::array<std::vector<std::uint64_t>, 1>;

template <class M, auto handler, std::uint32_t count, bool random>
void deliver(Promises& promises, const BatchHeader& header, const std::byte* at, PlainTargets<count, random>& plain,
             MassVersions& versions) {
  const auto* item = reinterpret_cast<const SealedStream::Item<M>*>(at + sizeof header);
  std::uint64_t handled = 0;
  for (const auto* const end = item + header.count; item != end; ++item) {
    if (item->target.index >= plain.slots.size()) continue;
    const PlainSlot slot = plain.slots[item->target.index];
    if (slot.generation != item->target.generation) continue;
    promises.touch(versions, 0, slot.row);
    handler(item->message, plain.masses[slot.row]);
    ++handled;
  }
  promises.handled(handled);
}

template <std::uint32_t count, bool random>
void posted(Measure& measure) {
  auto& plain = kept<PlainTargets<count, random>>();
  Promises promises;
  MassVersions versions{std::vector<std::uint64_t>(Promises::chunks(count))};
  SealedStream stream(std::size_t{count} * 16 + 64);
  measure.run(count, [&] {
    promises.checkpoint();
    stream.clear();
    for (const Entity e : plain.entities) stream.append(e, Hit{1});
    stream.seal();
    const Promises::Call call(promises);
    stream.each([&](const BatchHeader& header, const std::byte* at) {
      promises.tell({at, header.bytes});
      deliver<Hit, &on_hit>(promises, header, at, plain, versions);
    });
  });
}
const Entry posted_10k_row("posted_10k/as_promised", no_goal, posted<10'000, false>);
const Entry posted_1m_row("posted_1m/as_promised", no_goal, posted<1'000'000, false>);
const Entry posted_1m_random_row("posted_1m_random/as_promised", no_goal, posted<1'000'000, true>);

void on_push1(const Push1& push, Mass& mass) { mass.value += push.amount; }
void on_push2(const Push2& push, Mass& mass) { mass.value -= push.amount; }
void on_push3(const Push3& push, Mass& mass) { mass.value *= push.amount; }

/// Four types at random, each posted from its own place in the code.
void mixed(Measure& measure) {
  constexpr std::uint32_t count = 100'000;
  using Plain = PlainTargets<10'000, true>;
  auto& plain = kept<Plain>();
  Promises promises;
  MassVersions versions{std::vector<std::uint64_t>(Promises::chunks(10'000))};
  using Deliver = void (*)(Promises&, const BatchHeader&, const std::byte*, Plain&, MassVersions&);
  struct Route {
    TypeId type;
    Deliver deliver;
  };
  // Found by the type's number: a table of sixteen in which the four types have places of their own.
  std::array<Route, 16> routes{};
  const auto place_of = [](TypeId type) { return type * 0x9e3779b1u >> 28; };
  for (const Route route : {Route{TypeTraits<Hit>::id, &deliver<Hit, &on_hit, 10'000, true>},
                            Route{TypeTraits<Push1>::id, &deliver<Push1, &on_push1, 10'000, true>},
                            Route{TypeTraits<Push2>::id, &deliver<Push2, &on_push2, 10'000, true>},
                            Route{TypeTraits<Push3>::id, &deliver<Push3, &on_push3, 10'000, true>}}) {
    std::uint32_t place = place_of(route.type);
    while (routes[place].type != 0) place = (place + 1) % routes.size();
    routes[place] = route;
  }
  const auto order = shuffled(count);
  SealedStream stream(std::size_t{count} * 48);
  measure.run(count, [&] {
    promises.checkpoint();
    stream.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      const Entity e = plain.entities[i % 10'000];
      switch (order[i] & 3) {
        case 0: stream.append(e, Hit{1}); break;
        case 1: stream.append(e, Push1{1}); break;
        case 2: stream.append(e, Push2{1}); break;
        default: stream.append(e, Push3{1}); break;
      }
    }
    stream.seal();
    const Promises::Call call(promises);
    stream.each([&](const BatchHeader& header, const std::byte* at) {
      promises.tell({at, header.bytes});
      std::uint32_t place = place_of(header.type);
      while (routes[place].type != header.type) place = (place + 1) % routes.size();
      routes[place].deliver(promises, header, at, plain, versions);
    });
  });
}
const Entry mixed_row("posted_mixed/as_promised", no_goal, mixed);

// --- rows that go ---

void destroy_one(Measure& measure) {
  PromisedRows rows;
  Promises promises;
  std::vector<const Links*> links(many / 64 + 1);  // pages; null: nobody of it has children
  benchmark::DoNotOptimize(links.data());
  SingleBatch<Destroy> sealed({}, {});
  measure.run(
      many,
      [&] {
        rows.fill();
        promises.checkpoint();
      },
      [&] {
        for (const Entity e : rows.made) {
          const Promises::Call call(promises);
          if (promises.anybody_hears()) std::abort();
          sealed.set(e, Destroy{});
          promises.tell(sealed.bytes());
          const PlainSlot* const slot = rows.alive(e);
          if (!slot) {
            promises.dead();
            continue;
          }
          if (links[e.index / 64]) std::abort();
          rows.fill_hole(promises, slot->row);
          rows.free(promises, e);
          promises.end();
          promises.handled();
          benchmark::ClobberMemory();  // one by one, as they are asked for
        }
      });
}
void destroy_bulk(Measure& measure) {
  PromisedRows rows;
  Promises promises;
  std::vector<const Links*> links(many / 64 + 1);
  benchmark::DoNotOptimize(links.data());
  std::vector<std::byte> sealed(sizeof(BatchHeader) + 16 + many * sizeof(Entity));
  measure.run(
      many,
      [&] {
        rows.fill();
        promises.checkpoint();
      },
      [&] {
        std::memcpy(sealed.data() + sizeof(BatchHeader) + 16, rows.made.data(), many * sizeof(Entity));
        const Promises::Call call(promises);
        if (promises.anybody_hears()) std::abort();
        promises.tell(sealed);
        for (const Entity e : rows.made) {
          const PlainSlot* const slot = rows.alive(e);
          if (!slot || links[e.index / 64]) continue;
          rows.fill_hole(promises, slot->row);
          rows.free(promises, e);
          promises.handled();
        }
        promises.end();
        benchmark::ClobberMemory();
      });
}
const Entry destroy_one_row("destroy3/as_promised", no_goal, destroy_one);
const Entry destroy_bulk_row("destroy3/bulk_as_promised", no_goal, destroy_bulk);

// --- rows that move ---

void add4(Measure& measure) {
  PromisedRows rows, wider;
  Promises promises;
  SingleRows<Set, Extra> sealed({}, {}, {});
  measure.run(
      many,
      [&] {
        rows.fill();
        wider.count = 0;
        promises.checkpoint();
      },
      [&] {
        for (const Entity e : rows.made) {
          const Promises::Call call(promises);
          if (promises.anybody_hears()) std::abort();
          sealed.set(e, Extra{7});
          promises.tell(sealed.bytes());
          PlainSlot* const slot = rows.alive(e);
          if (!slot) {
            promises.dead();
            continue;
          }
          const std::uint32_t from = slot->row, to = wider.count++;
          wider.touch(promises, to, wider.versions.size());
          wider.ids[to] = e;
          wider.positions[to] = rows.positions[from];
          wider.velocities[to] = rows.velocities[from];
          wider.masses[to] = rows.masses[from];
          wider.extras[to] = Extra{7};
          rows.fill_hole(promises, from);
          slot->row = to;
          promises.end();
          promises.handled();
          benchmark::ClobberMemory();
        }
      });
}
const Entry add4_row("add_a_4th/as_promised", no_goal, add4);

// --- templates ---

/// Trees of ten: a root, and nine below it with names. Each is an input that names all its ids.
void trees(Measure& measure) {
  constexpr std::uint32_t nodes = 10;
  struct Tree {
    BatchHeader header{.count = nodes, .payload_bytes = sizeof(Spawn), .item_bytes = 8};
    Spawn message{};
    std::array<Entity, nodes> ids;
  } sealed;
  PromisedRows roots(many / nodes), below(many);
  std::array<Name, nodes> names{};
  for (std::uint32_t i = 1; i < nodes; ++i) names[i] = {text_of("n" + std::to_string(i))};
  std::vector<Name> names_below(many);
  std::vector<PlainSlot> slots(many, PlainSlot{1, 0});
  // In pages, which are where somebody has children or siblings; a save writes those that changed.
  struct Page {
    std::array<Links, 1024> links;
    std::uint64_t version;
  };
  std::vector<std::unique_ptr<Page>> pages;
  for (std::uint32_t i = 0; i <= many / 1024; ++i) pages.push_back(std::make_unique<Page>());
  PromisedRows ids;
  for (std::uint32_t i = 0; i < many; ++i) ids.give_back(i);
  std::array<std::vector<std::uint64_t>, 1> name_versions{std::vector<std::uint64_t>(Promises::chunks(many))};
  std::vector<std::uint64_t> link_versions(Promises::chunks(many));
  Promises promises;
  measure.run(
      many,
      [&] {
        roots.count = below.count = 0;
        for (std::uint32_t i = 0; ids.tail - ids.head < many; ++i) {
          ++slots[i].generation;
          ids.give_back(i);
        }
        promises.checkpoint();
      },
      [&] {
        for (std::uint32_t tree = 0; tree < many / nodes; ++tree) {
          const Promises::Call call(promises);
          if (promises.anybody_hears() || ids.tail - ids.head < nodes) std::abort();
          for (Entity& id : sealed.ids) {
            const std::uint32_t index = ids.draw();
            id = {index, slots[index].generation};
          }
          promises.tell(std::as_bytes(std::span(&sealed, 1)));
          // Ids that came back together are given together: the page of most is that of the one before.
          std::uint32_t number = ~0u;
          Page* page = nullptr;
          const auto links_of = [&](std::uint32_t index) -> Links& {
            if (index / 1024 != number) {
              number = index / 1024;
              page = pages[number].get();
              page->version = ids.id_versions[index >> 12] = promises.version();
            }
            return page->links[index % 1024];
          };
          const std::uint32_t root = roots.count++, first = below.count;
          below.count += nodes - 1;
          roots.touch(promises, root);
          below.touch(promises, first);
          below.touch(promises, first + nodes - 2);
          promises.touch(name_versions, 0, first);
          const Entity parent = sealed.ids[0];
          roots.ids[root] = parent;
          roots.positions[root] = some_position;
          roots.velocities[root] = some_velocity;
          roots.masses[root] = some_mass;
          slots[parent.index].row = root;
          links_of(parent.index) = {
              .first_child = sealed.ids[1].index, .last_child = sealed.ids[nodes - 1].index, .children = nodes - 1};
          for (std::uint32_t i = 1; i < nodes; ++i) {
            const std::uint32_t row = first + i - 1;
            const Entity id = sealed.ids[i];
            below.ids[row] = id;
            below.parents[row] = parent;
            below.positions[row] = some_position;
            below.velocities[row] = some_velocity;
            below.masses[row] = some_mass;
            names_below[row] = names[i];
            slots[id.index].row = row;
            links_of(id.index) = {.next = i + 1 < nodes ? sealed.ids[i + 1].index : 0,
                                  .previous = i > 1 ? sealed.ids[i - 1].index : 0};
          }
          promises.end();
          promises.handled();
          benchmark::ClobberMemory();
        }
      });
}
const Entry trees_row("template/as_promised", no_goal, trees);

// --- a subtree that goes to another depth ---

/// As reparent_100k: rows lie by depth, and each node of the subtree goes one level down or up. The order is that of the tree; the last row
/// of a level fills the hole.
void reparent(Measure& measure) {
  constexpr std::uint32_t twigs = 100, leaves = 1000, moved = 1 + twigs + twigs * leaves, levels = 4;
  struct Level : PromisedRows {
    Level() : PromisedRows(moved) {}
  };
  std::vector<Level> level(levels);
  std::vector<PlainSlot> slots(moved + 1, PlainSlot{1, 0});
  std::vector<Links> links(moved + 1);  // by number; 0 is nobody
  std::uint32_t made = 0;
  const auto make = [&](std::uint32_t parent, std::uint32_t depth) {
    const std::uint32_t id = ++made;
    Level& at = level[depth];
    slots[id].row = at.count;
    at.ids[at.count] = {id, 1};
    at.parents[at.count++] = {parent, 1};
    if (!parent) return id;
    Links& of = links[parent];
    links[id].previous = of.last_child;
    (of.last_child ? links[of.last_child].next : of.first_child) = id;
    of.last_child = id;
    ++of.children;
    return id;
  };
  const std::uint32_t top = make(0, 0);
  for (std::uint32_t i = 0; i < twigs; ++i) {
    const std::uint32_t twig = make(top, 1);
    for (std::uint32_t j = 0; j < leaves; ++j) make(twig, 2);
  }
  Promises promises;
  SingleBatch<Reparent> sealed({}, {});
  bool is_low = false;
  const auto move = [&](std::uint32_t id, Level& from, Level& to) {
    const std::uint32_t row = slots[id].row, last = --from.count, next = to.count++;
    from.touch(promises, row);
    from.touch(promises, last);
    to.touch(promises, next);
    to.ids[next] = from.ids[row];
    to.parents[next] = from.parents[row];
    to.positions[next] = from.positions[row];
    to.velocities[next] = from.velocities[row];
    to.masses[next] = from.masses[row];
    from.ids[row] = from.ids[last];
    from.parents[row] = from.parents[last];
    from.positions[row] = from.positions[last];
    from.velocities[row] = from.velocities[last];
    from.masses[row] = from.masses[last];
    slots[from.ids[last].index].row = row;
    slots[id].row = next;
  };
  measure.run(
      moved, [&] { promises.checkpoint(); },
      [&] {
        const Promises::Call call(promises);
        if (promises.anybody_hears()) std::abort();
        sealed.set({top, 1}, Reparent{});
        promises.tell(sealed.bytes());
        const std::uint32_t depth = is_low ? 1 : 0;
        const auto to = [&](std::uint32_t at) -> Level& { return level[is_low ? depth + at - 1 : depth + at + 1]; };
        move(top, level[depth], to(0));
        for (std::uint32_t twig = links[top].first_child; twig; twig = links[twig].next) {
          move(twig, level[depth + 1], to(1));
          for (std::uint32_t leaf = links[twig].first_child; leaf; leaf = links[leaf].next)
            move(leaf, level[depth + 2], to(2));
        }
        promises.end();
        promises.handled();
        is_low = !is_low;
        benchmark::ClobberMemory();
      });
}
const Entry reparent_row("reparent_100k/as_promised", no_goal, reparent);

}  // namespace
}  // namespace promised_bench
