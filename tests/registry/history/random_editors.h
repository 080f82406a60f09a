// Users who send edits at random.
#pragma once

#include <map>
#include <random>

#include "tests/registry/history/editors.h"

namespace history_test {

struct RandomEditors : Editors {
  explicit RandomEditors(std::uint64_t seed, std::uint64_t bytes_max = 256u << 20)
      : Editors(bytes_max), random_(seed) {
    for (const char* name : {"a", "b", "c", "squad"}) registry.intern(name);
    for (int i = 0; i < 12; ++i) {
      const Entity parent = all_.empty() || one_of(3) == 0 ? Entity{} : any();
      all_.push_back(take());
      registry.push(all_.back(), Create{.parent = parent});
      registry.set(all_.back(), Health{static_cast<float>(i)});
    }
    define(9, squad());
  }

  std::uint32_t one_of(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }

  /// Sends an edit, a Step, or the next input of a gesture.
  void edit_once() {
    const std::uint64_t user = 1 + one_of(users);
    BatchBuilder batch;
    const std::uint32_t messages = 1 + one_of(5);
    // Messages to dead entities refuse a Step. Within one batch, each message is delivered alone.
    for (std::uint32_t i = 0; i < messages; ++i) message(batch);
    const std::uint32_t kind = one_of(4);
    if (kind == 0)
      step(user, batch, 0, "step");
    else if (kind == 1 && users > 1)
      step(user, batch, 1 + one_of(2), "gesture");
    else
      push(user, one_batch(batch));
  }
  /// Sends an edit, or undoes or redoes something.
  void anything_once() {
    const std::uint64_t user = 1 + one_of(users);
    const Conflicts conflicts = one_of(4) == 0 ? Conflicts::overwrite : Conflicts::skip;
    switch (one_of(5)) {
      case 0: undo(user, conflicts); return;
      case 1: one_of(2) == 0 ? redo(user, conflicts) : undo(user, conflicts); return;
      default: return edit_once();
    }
  }

  std::uint32_t users = 3;

 private:
  Entity any() { return all_[one_of(static_cast<std::uint32_t>(all_.size()))]; }
  Entity fresh() {
    all_.push_back(take());
    return all_.back();
  }
  TemplateTree squad() {
    TemplateTree tree("squad");
    tree.set("", Health{static_cast<float>(one_of(3))}).set("a", Health{8}).set("a/b", Armor{3});
    tree.refer<Member>("a", &Member::squad, "");
    return tree;
  }
  Text name() {
    const char* const names[] = {"a", "b", "c"};
    return text_of(names[one_of(3)]);
  }
  /// A push of several batches is several inputs, so only the first one is sent.
  BatchBuilder& one_batch(BatchBuilder& batch) {
    single_.clear();
    single_.append_batch(batch.front());
    return single_;
  }
  Entity sibling_of_child(Entity parent) {
    const std::vector<Entity> there = parent ? children(parent) : std::vector<Entity>{};
    return there.empty() || one_of(2) == 0 ? Entity{} : there[one_of(static_cast<std::uint32_t>(there.size()))];
  }
  void message(BatchBuilder& to) {
    const auto value = static_cast<float>(one_of(4));
    const Entity parent = one_of(3) != 0 ? any() : Entity{};
    const NameClash clash = one_of(2) != 0 ? NameClash::suffix : NameClash::refuse;
    switch (one_of(19)) {
      case 0: return to.append_rows(fresh(), Create{.parent = parent, .before = sibling_of_child(parent)}, Health{value});
      case 1:
        return to.append_rows(fresh(), Create{.parent = parent, .name = name(), .clash = clash}, Armor{value},
                              Member{.squad = any()});
      case 2: {
        const Entity top = fresh();
        to.append(top, Create{.parent = parent});
        return to.append(fresh(), Create{.parent = top, .name = name()});
      }
      case 3: return to.append(any(), Destroy{});
      case 4: {
        const std::vector<Entity> some{any(), any(), any()};
        return to.append_shared(std::span<const Entity>(some), Destroy{});
      }
      case 5: return to.append_rows(any(), Set{}, Armor{value}, Frozen{}, ward::Stunned{});
      case 6: {
        const std::vector<Entity> some{any(), any()};
        return to.append_rows_shared(std::span<const Entity>(some), Set{}, Health{value},
                                     Slots{{1, static_cast<std::uint16_t>(one_of(3)), 2, 3}});
      }
      case 7: return to.append_rows(any(), Set{}, Member{.squad = any()}, ward::Shield{.strength = 2, .by = any()});
      case 8: return to.append(any(), Remove{.component = TypeTraits<Armor>::id});
      case 9: return to.append(any(), Remove{.component = TypeTraits<ward::Shield>::id});
      case 10: return to.append(any(), Remove{.component = TypeTraits<Name>::id});
      case 11:
      case 12: {
        SetField field{.component = TypeTraits<Health>::id, .field = hash32("value"), .bytes = 4};
        std::memcpy(field.value.data(), &value, 4);
        return to.append(any(), field);
      }
      case 13:
      case 14: return to.append(any(), Reparent{.parent = parent, .before = sibling_of_child(parent)});
      case 15: return to.append(any(), Rename{.name = one_of(3) != 0 ? name() : Text{}, .clash = clash});
      case 16:
        return append_spawn(to, fresh_many(6), muster::Spawn{.what = text_of("squad"), .parent = parent, .name = name(),
                                                             .clash = NameClash::suffix});
      case 17: {
        const Entity top = any();
        std::vector<Entity> ids{top};
        for (const char* step : {"a", "b"}) {
          const Entity there = registry.find_child(ids.back(), step);
          ids.push_back(there ? there : fresh());
        }
        return to.append_shared(std::span<const Entity>(ids), MergeTemplate{.what = text_of("squad")});
      }
      default:
        return to.append_table(TypeTraits<DefineTemplate>::id, {}, encode(*squad().compile()));
    }
  }
  std::vector<Entity> fresh_many(std::size_t count) {
    std::vector<Entity> made;
    while (made.size() < count) made.push_back(fresh());
    return made;
  }

  std::mt19937_64 random_;
  std::vector<Entity> all_;
  BatchBuilder single_;
};

}  // namespace history_test
