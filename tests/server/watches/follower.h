// Who watches without a socket: the frames that a watch queues are read at once, or late, and
// applied; and what it should know is read from the registry, by a rule as simple as can be.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "tests/support/catch_or_abort.h"

#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/watches/watches.h"
#include "tests/server/made_session.h"
#include "tests/server/queued_frames.h"

namespace muster::testing {

struct Follower {
  struct Row {
    Entity parent, after;
    std::string name;
    std::uint32_t child_count = 0;
    std::vector<TypeId> components;
    bool operator==(const Row&) const = default;
  };
  using Rows = std::map<Entity, Row>;
  using ValuesOf = std::map<Entity, std::map<TypeId, std::vector<std::uint8_t>>>;
  struct Known {
    Rows rows;
    ValuesOf values;
    std::map<Entity, std::pair<Entity, std::string>> structure;
    bool operator==(const Known&) const = default;
  };
  struct Event {
    TypeId type = 0;
    bool pushed = false;
    FrameEnvelope envelope;
    std::vector<std::byte> bytes;
  };

  Follower(EntityRegistry& of, Watches& to, OutgoingLimits limits = {}, bool resumable = false)
      : registry(of),
        watches(to),
        outgoing_limits(limits),
        session(testing::made_session(limits, {.resumable = resumable}, {session::Role::view})) {
    REQUIRE(types.add<session::Ack>());
    for (const auto& schema : registry.types().schemas()) REQUIRE(types.add_schema(schema));
  }
  ~Follower() { watches.close_all(*session); }

  void open(session::Follow what) {
    asked = std::move(what);
    watch = ++last_request;
    if (const auto fault = watches.follow(session, watch, asked, 64)) FAIL(fault->text);
  }
  /// The watch becomes this. What it does not tell any more is forgotten where Following comes.
  void change(session::Follow what) {
    what.watch = watch;
    const session::Follow before = std::exchange(asked, what);
    whole_sequence = 0;
    changes[++last_request] = [this, before, what] {
      for (const Entity node : before.open)
        if (std::ranges::find(what.open, node) == what.open.end()) forget_node(node);
      for (auto& [e, values] : known.values)
        std::erase_if(values, [&](const auto& value) { return !wants_value(what, value.first); });
      std::erase_if(known.values, [](const auto& entry) { return entry.second.empty(); });
      if (!what.structure) known.structure.clear();
    };
    if (const auto fault = watches.follow(session, last_request, what, 64)) FAIL(fault->text);
  }
  void change_more(session::FollowMore what) {
    what.watch = watch;
    whole_sequence = 0;
    const auto take = [](std::vector<Entity>& list, const std::vector<Entity>& less, const std::vector<Entity>& add) {
      std::erase_if(list, [&](Entity e) { return std::ranges::find(less, e) != less.end(); });
      list.insert(list.end(), add.begin(), add.end());
    };
    take(asked.open, what.close, what.open);
    take(asked.entities, what.drop, what.add);
    changes[++last_request] = [this, what] {
      for (const Entity node : what.close) forget_node(node);
    };
    if (const auto fault = watches.follow_more(*session, last_request, what)) FAIL(fault->text);
  }
  void forget_node(Entity node) {
    std::erase_if(known.rows, [&](const auto& row) { return row.second.parent == node; });
  }

  /// Reads what was queued and applies it. True: there was something.
  bool read() {
    return testing::take_frames(*session->outgoing(), decoder, [&](const WireFrame& frame) {
      REQUIRE(verify_batch(frame.batch, types).has_value());
      ++frames;
      bytes += frame.header.bytes;
      apply(frame.header, frame.envelope, BatchView(frame.batch));
    });
  }
  /// The connection is lost, with everything in its queue.
  void lose() { session->outgoing()->close(); }
  /// Continues on a new connection. Returns false if the watch is told anew.
  bool resume() {
    session->connect(std::make_shared<Connection>(outgoing_limits));
    decoder = FrameDecoder(64u << 20, true);
    texts.clear();
    changes.clear();
    changing.clear();
    told_anew.reset();
    const auto resumed =
        watches.resume(session, {.watches = {watch}, .sequences = {whole_sequence}, .follows = {asked}}, 64,
                       [] { return std::nullopt; });
    REQUIRE(resumed.refused.empty());
    while (!told_anew && read()) {
    }
    REQUIRE(told_anew);
    return !*told_anew;
  }
  /// Until nothing more comes.
  void read_all(std::uint64_t now_ns = 0) {
    do watches.after_flush(now_ns);
    while (read());
    REQUIRE(whole);
    REQUIRE(changes.empty());
    REQUIRE(changing.empty());
  }

  static bool wants_value(const session::Follow& of, TypeId component) {
    return of.values && (of.components.empty() || std::ranges::find(of.components, component) != of.components.end());
  }
  bool is_member(Entity e) const {
    const auto named = [&](Entity each) { return std::ranges::find(asked.entities, each) != asked.entities.end(); };
    bool inside = asked.world || named(e);
    if (!inside && asked.subtree)
      for (Entity up = registry.parent(e); up && !inside; up = registry.parent(up)) inside = named(up);
    const auto has = [&](TypeId component) { return registry.find(e, component) != nullptr; };
    return inside && std::ranges::all_of(asked.with, has) && std::ranges::none_of(asked.without, has);
  }
  /// What the registry says that this watch should know.
  Known expected() const {
    Known all;
    const auto list = [&](Entity node) {
      Entity after;
      const auto put = [&](Entity child) {
        const auto components = registry.host().components(child);
        all.rows[child] = {node,
                           after,
                           std::string(registry.name(child)),
                           registry.child_count(child),
                           {components.begin(), components.end()}};
      };
      if (!node) registry.each<>([&](Entity e) { registry.parent(e) ? void() : put(e); });
      for (Entity child = registry.first_child(node); child; child = registry.next_sibling(child)) {
        put(child);
        after = child;
      }
    };
    for (const Entity node : asked.open)
      if (!node || registry.alive(node)) list(node);
    registry.each<>([&](Entity e) {
      if (!is_member(e)) return;
      if (asked.structure) all.structure[e] = {registry.parent(e), std::string(registry.name(e))};
      for (const TypeId component : registry.host().components(e)) {
        if (!wants_value(asked, component)) continue;
        const auto* value = reinterpret_cast<const std::uint8_t*>(registry.find(e, component));
        const auto* stored = registry.host().storage().component(component);
        all.values[e][component] = {value, value + (stored ? stored->saved_size() : 0)};
      }
    });
    return all;
  }
  void check() {
    const Known should = expected();
    CHECK(known.rows.size() == should.rows.size());
    for (const auto& [e, row] : should.rows) {
      INFO(e.index << ":" << e.generation << " " << row.name);
      REQUIRE(known.rows.contains(e));
      REQUIRE(known.rows[e].parent == row.parent);
      REQUIRE(known.rows[e].after == row.after);
      REQUIRE(known.rows[e].name == row.name);
      REQUIRE(known.rows[e].child_count == row.child_count);
      REQUIRE(known.rows[e].components == row.components);
    }
    REQUIRE(known.rows == should.rows);
    for (const auto& [e, values] : should.values) {
      INFO(e.index << ":" << e.generation);
      REQUIRE(known.values[e] == values);
    }
    REQUIRE(known.values == should.values);
    REQUIRE(known.structure == should.structure);
  }

  EntityRegistry& registry;
  Watches& watches;
  const OutgoingLimits outgoing_limits;
  std::shared_ptr<Session> session;
  TypeTable types;
  FrameDecoder decoder{64u << 20, true};
  session::Follow asked;
  std::uint64_t watch = 0, last_request = 0;
  Known known;
  std::map<std::uint64_t, std::string> texts;
  std::vector<Event> events;
  // That were asked for, and what is forgotten with each
  std::map<std::uint64_t, std::function<void()>> changes;
  std::set<std::uint64_t> changing;  // that began to be told
  std::uint64_t lost = 0, frames = 0, messages = 0;
  std::uint64_t sequence = 0;
  // The sequence of the last complete state, or 0 while a change is under way
  std::uint64_t whole_sequence = 0;
  std::uint64_t bytes = 0;        // of the frames that were read
  std::optional<bool> told_anew;  // Resuming.anew, once it was read
  bool whole = false;
  // Called once, with the next frame after which nothing is owed
  std::function<void()> on_whole;
  std::function<void()> on_followed;  // likewise, with the next change that was told

 private:
  void forget(Entity e, bool died) {
    known.values.erase(e);
    known.structure.erase(e);
    if (died) known.rows.erase(e);
  }

  void apply(const FrameHeader& header, const FrameEnvelope& envelope, BatchView batch) {
    take(header, envelope, batch);
    if (whole && header.request == watch && !(header.flags & frame_event) && changes.empty() && changing.empty()) {
      if (header.flags & frame_envelope)
        whole_sequence = envelope.sequence;
      else if (batch.type() == TypeTraits<session::Watching>::id)
        whole_sequence = session::read<session::Watching>(batch).sequence;
      else if (batch.type() == TypeTraits<session::Resuming>::id)
        whole_sequence = session::read<session::Resuming>(batch).sequence;
    }
    if (whole && on_whole && header.request == watch && !(header.flags & frame_event))
      std::exchange(on_whole, nullptr)();
  }

  void take(const FrameHeader& header, const FrameEnvelope& envelope, BatchView batch) {
    if (batch.type() == TypeTraits<InternText>::id) {
      const std::string text = session::read<InternText>(batch).text;
      texts[text_of(text).hash] = text;
      return;
    }
    if (batch.type() == TypeTraits<session::Followed>::id) {
      REQUIRE(session::read<session::Followed>(batch).watch == watch);
      REQUIRE(changing.erase(header.request) == 1);
      REQUIRE(whole);
      if (on_followed) std::exchange(on_followed, nullptr)();
      return;
    }
    REQUIRE(header.request == watch);
    if (header.flags & frame_event) {
      if (batch.type() == TypeTraits<session::Gap>::id) {
        lost += session::read<session::Gap>(batch).lost;
        return;
      }
      REQUIRE(envelope.sequence >= sequence_of_events);
      sequence_of_events = envelope.sequence;
      events.push_back({batch.kind() == BatchKind::timed ? batch.inner().type() : batch.type(),
                        (header.flags & frame_pushed) != 0,
                        envelope,
                        {batch.bytes().begin(), batch.bytes().end()}});
      return;
    }
    whole = (header.flags & frame_more) == 0;
    if (header.flags & frame_envelope) {
      REQUIRE(envelope.sequence >= sequence);
      sequence = envelope.sequence;
    }
    ++messages;
    switch (batch.type()) {
      case TypeTraits<session::Watching>::id: return;
      case TypeTraits<session::Resuming>::id:
        told_anew = session::read<session::Resuming>(batch).anew != 0;
        if (*told_anew) {
          known = {};
          if (!whole) whole_sequence = 0;
        }
        return;
      case TypeTraits<session::Following>::id: {
        const std::uint64_t change = session::read<session::Following>(batch).change;
        REQUIRE(changes.contains(change));
        changes.extract(change).mapped()();
        changing.insert(change);
        return;
      }
      case TypeTraits<session::ChildRows>::id: {
        const auto rows = session::read<session::ChildRows>(batch);
        std::size_t at = 0;
        for (std::size_t i = 0; i < rows.entities.size(); ++i) {
          Row row{rows.parents[i], rows.after[i], rows.names[i], rows.child_counts[i], {}};
          row.components.assign(rows.components.begin() + static_cast<std::ptrdiff_t>(at),
                                rows.components.begin() + static_cast<std::ptrdiff_t>(at + rows.component_counts[i]));
          at += rows.component_counts[i];
          known.rows[rows.entities[i]] = row;
        }
        REQUIRE(at == rows.components.size());
        return;
      }
      case TypeTraits<session::Values>::id: {
        const auto rows = session::read<session::Values>(batch);
        REQUIRE(rows.values.size() == rows.entities.size() * rows.value_bytes);
        for (std::size_t i = 0; i < rows.entities.size(); ++i) {
          const auto* value = rows.values.data() + i * rows.value_bytes;
          known.values[rows.entities[i]][rows.component] = {value, value + rows.value_bytes};
        }
        return;
      }
      default: break;
    }
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const Entity e = batch.target(i);
      const auto message = [&]<class M>(M made) {
        std::memcpy(&made, batch.payload(i), sizeof made);
        return made;
      };
      switch (batch.type()) {
        case TypeTraits<Create>::id: {
          const auto create = message(Create{});
          known.structure[e] = {create.parent, texts[create.name.hash]};
          break;
        }
        case TypeTraits<Reparent>::id: known.structure.at(e).first = message(Reparent{}).parent; break;
        case TypeTraits<Rename>::id: known.structure.at(e).second = texts[message(Rename{}).name.hash]; break;
        case TypeTraits<Remove>::id: {
          const TypeId component = message(Remove{}).component;
          if (const auto at = known.values.find(e); at != known.values.end()) {
            at->second.erase(component);
            if (at->second.empty()) known.values.erase(at);
          }
          break;
        }
        case TypeTraits<session::Unlisted>::id: known.rows.erase(e); break;
        case TypeTraits<session::Left>::id: forget(e, false); break;
        case TypeTraits<Destroy>::id: forget(e, true); break;
        default: FAIL("an unexpected message of type " << batch.type());
      }
    }
  }
  std::uint64_t sequence_of_events = 0;
};

}  // namespace muster::testing
