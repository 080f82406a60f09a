// `muster watch`: prints changes in a world as they happen.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "messages/step_batches.h"
#include "messages/text/edit_text.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

/// Types of messages that are shown only if the user names the type: inputs that occur on every
/// tick, and bookkeeping messages.
const std::vector<TypeId> background = {TypeTraits<Update>::id, TypeTraits<Advance>::id,     TypeTraits<InternText>::id,
                                        TypeTraits<Grant>::id,  TypeTraits<ReturnGrant>::id, TypeTraits<DropTexts>::id};

/// Tracks the names and parents of the entities that the watch reports, so that lines can show
/// paths.
class Places {
 public:
  explicit Places(RemoteWorld& world) : world_(world) {}

  void put(Entity e, Entity parent, Text name) { known_[e] = {parent, world_.text(name)}; }
  void put(Entity e, Entity parent) { known_[e].parent = parent; }
  void put(Entity e, Text name) { known_[e].name = world_.text(name); }
  void forget(Entity e) { known_.erase(e); }
  std::string path(Entity e) {
    std::string path;
    for (int depth = 0; e && depth < 1000; ++depth) {
      auto at = known_.find(e);
      if (at == known_.end()) at = known_.emplace(e, ask(e)).first;
      std::string name = at->second.name.empty() ? id_text(e) : at->second.name;
      path.insert(0, "/" + name);
      e = at->second.parent;
    }
    return path;
  }

 private:
  struct Place {
    Entity parent;
    std::string name;
  };
  /// The watch does not report the parents of the watched entities, so ask the server for them.
  Place ask(Entity e) {
    const auto shown = world_.client().show(e);
    return shown ? Place{shown->about.parent, shown->about.name} : Place{};
  }

  RemoteWorld& world_;
  std::unordered_map<Entity, Place> known_;
};

struct Line {
  std::uint64_t sequence = 0;
  Entity entity;
  const char* what =
      /// The kind of line, as reported to programs: value, removed, created, destroyed, moved,
      /// renamed, left, event, pushed, gap, run_began, run_ended, restored, lost, resumed.
      "";
  std::string text;          ///< the line for display
  std::string members = {};  ///< additional JSON members, each beginning with ", "
};

class Watcher {
 public:
  Watcher(const Common& common, const WatchFor& asked)
      : common_(common), asked_(asked), world_(connect(resuming(common.where))), places_(world_) {}

  void run() {
    const bool all = !asked_.values && !asked_.structure && !asked_.events;
    session::Follow follow;
    for (const std::string& name : asked_.entities) follow.entities.push_back(world_.find(name).entity);
    follow.world = follow.entities.empty();
    follow.subtree = asked_.below;
    const bool names_messages = !asked_.messages.empty() || !asked_.pushed.empty();
    values_ = all ? !names_messages || !asked_.components.empty() : asked_.values;
    structure_ = all ? !names_messages && asked_.components.empty() : asked_.structure;
    follow.inputs =
        all ? !asked_.messages.empty() || (asked_.components.empty() && asked_.pushed.empty()) : asked_.events;
    for (const std::string& name : asked_.components)
      follow.components.push_back(must(find_component(world_.types(), name))->id);
    for (const std::string& name : asked_.messages)
      follow.input_types.push_back(must(find_message(world_.types(), name))->id);
    for (const std::string& name : asked_.except)
      follow.inputs_except.push_back(must(find_message(world_.types(), name))->id);
    for (const std::string& name : asked_.pushed) follow.pushed.push_back(must(find_message(world_.types(), name))->id);
    if (follow.inputs && asked_.messages.empty())
      follow.inputs_except.insert(follow.inputs_except.end(), background.begin(), background.end());
    follow.values = values_;
    follow.structure = true;  // Needed to show paths.
    // Limit the rate by default, because a ticking world changes faster than anyone can read.
    follow.rate_max = static_cast<float>(asked_.rate_max.value_or(world_.client().welcome().hz > 0 ? 10 : 0));
    end_on_interrupt();
    must(world_.client().follow(follow));
    const auto started = std::chrono::steady_clock::now();
    const auto over = [&] {
      return interrupted() || (asked_.lines > 0 && printed_ >= asked_.lines) ||
             (asked_.seconds > 0 &&
              std::chrono::steady_clock::now() - started >= std::chrono::duration<double>(asked_.seconds));
    };
    while (!over()) {
      const auto frame = must(world_.client().next(0, 100ms));
      tell_of_loss();
      tell_of_epoch();
      if (frame) take(*frame);
    }
  }

 private:
  /// Prints a line if the connection was lost. That it is there again is told by take(), in the
  /// order of what the watch sends.
  void tell_of_loss() {
    if (interruptions_.next(world_.client()) != Interruptions::Change::lost) return;
    Line line{world_.client().so_far().sequence, {}, "lost", interruptions_.text(), {}};
    line.members = member("why", interruptions_.text());
    print(line);
  }
  /// Prints a line if a run has begun or ended, or if a past state was restored.
  void tell_of_epoch() {
    const std::uint64_t epoch = world_.client().epoch();
    const std::uint64_t times = world_.client().times_resumed();
    const bool same = std::exchange(epoch_, epoch) == epoch;
    // After the server was started again, the epoch is another one, too.
    if (std::exchange(times_resumed_, times) != times)
      playing_ = world_.client().welcome().playing;
    else if (!same)
      tell_of_run();
  }
  void tell_of_run() {
    const bool playing = world_.client().welcome().playing, was_playing = std::exchange(playing_, playing);
    Line line{world_.client().so_far().sequence, {}, "", {}, {}};
    line.what = playing == was_playing ? "restored" : playing ? "run_began" : "run_ended";
    line.text = playing == was_playing ? "a past state was restored"
                : playing              ? "a run began"
                                       : "the run ended; the world is the level again";
    print(line);
  }

  void take(const Received& frame) {
    const BatchView batch = frame.batch();
    if (frame.is_event()) return take_event(frame, batch);
    if (frame.is<session::Resuming>()) {
      const auto resuming = session::read<session::Resuming>(batch);
      const bool anew = resuming.anew != 0;
      Line line{resuming.sequence, {}, "resumed", {}, std::string(", \"anew\": ") + (anew ? "true" : "false")};
      line.text = std::string("the connection was lost and is there again; ") +
                  (anew ? "what happened in the meantime is not shown" : "messages in the meantime are not shown");
      print(line);
      if (anew) settled_ = frame.is_last();
      return;
    }
    if (frame.is<session::Watching>()) {
      if (settled_) return;
      settled_ = frame.is_last();
      return announce();
    }
    // Frames describe the initial state, rather than changes, up to and including the first frame
    // without the flag `more`.
    const bool print = settled_;
    if (frame.is<session::Values>())
      take_values(frame, session::read<session::Values>(batch), print);
    else
      take_state(frame, batch, print);
    if (!settled_ && frame.is_last()) {
      settled_ = true;
      announce();
    }
  }

  void announce() {
    if (settled_ && !common_.json) {
      std::fputs("watching; end with Ctrl-C\n", stderr);
      std::fflush(stderr);
    }
  }

  template <class M>
  static M message(BatchView batch, std::uint32_t i) {
    M read;
    std::memcpy(&read, batch.payload(i), sizeof read);
    return read;
  }

  void take_state(const Received& frame, BatchView batch, bool print) {
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      if (over_lines()) return;
      const Entity e = batch.target(i);
      Line line{frame.envelope.sequence, e, "", {}, {}};
      switch (batch.type()) {
        case TypeTraits<Create>::id: {
          const auto create = message<Create>(batch, i);
          places_.put(e, create.parent, Text{create.name});
          line.what = "created";
          if (print && structure_) this->print(line);
          break;
        }
        case TypeTraits<Reparent>::id: {
          places_.put(e, message<Reparent>(batch, i).parent);
          line.what = "moved";
          if (print && structure_) this->print(line);
          break;
        }
        case TypeTraits<Rename>::id:
          places_.put(e, Text{message<Rename>(batch, i).name});
          line.what = "renamed";
          if (print && structure_) this->print(line);
          break;
        case TypeTraits<Destroy>::id:
          line.what = "destroyed";
          if (print && structure_) this->print(line);
          places_.forget(e);
          break;
        case TypeTraits<session::Left>::id:
          line.what = "left";
          if (print && structure_) this->print(line);
          break;
        case TypeTraits<Remove>::id: {
          const TypeId component = message<Remove>(batch, i).component;
          const TypeDescriptor* type = world_.types().find(component);
          line.what = "removed";
          line.text = type ? type->name : "#" + std::to_string(component);
          line.members = member("component", line.text);
          if (print && values_) this->print(line);
          break;
        }
        default: break;
      }
    }
  }

  void take_values(const Received& frame, const session::Values& rows, bool print) {
    if (!print || !values_ || is_kept_by_registry(rows.component)) return;
    const TypeDescriptor& type = *world_.types().find(rows.component);
    for (std::size_t i = 0; i < rows.entities.size() && !over_lines(); ++i) {
      const std::byte* const value = std::as_bytes(std::span(rows.values)).data() + i * rows.value_bytes;
      this->print({.sequence = frame.envelope.sequence,
                   .entity = rows.entities[i],
                   .what = "value",
                   .text = type.name + "  " + value_line(world_.types(), type, value, world_),
                   .members = member("component", type.name) + ", \"value\": " + json(type, value)});
    }
  }

  void take_event(const Received& frame, BatchView batch) {
    if (frame.is<session::Gap>()) {
      const auto gap = session::read<session::Gap>(batch);
      Line line{
          gap.through, {}, "gap", std::to_string(gap.lost) + " messages were not sent: this line was too slow", {}};
      line.members = ", \"lost\": " + std::to_string(gap.lost);
      return print(line);
    }
    const bool timed = batch.kind() == BatchKind::timed;
    const BatchView inner = timed ? batch.inner() : batch;
    const TypeDescriptor& type = *world_.types().find(inner.type());
    const std::byte* table = inner.kind() == BatchKind::table ? inner.body() : nullptr;
    // The messages of a Step are printed as if they had been sent by themselves.
    if (table && type.id == TypeTraits<Step>::id)
      return StepBatches(table_item(inner, table).table).for_each([&](const BatchView& each) {
        take_event(frame, each);
      });
    for (std::uint32_t i = 0; i < inner.count() && !over_lines(); ++i) {
      Line line{frame.envelope.sequence, {}, "event", type.name, member("message", type.name)};
      if (frame.is_pushed()) {
        line.what = "pushed";
        line.text += " (pushed)";
      }
      if (timed) line.text += " (timed)";
      if (table) {
        const TableItem item = table_item(inner, table);
        table = item.next;
        line.entity = item.target;
        JsonWriter out;
        write_json(out, world_.types(), type, TableReader::root(item.table), world_);
        line.text += "  " + out.text();
        line.members += ", \"value\": " + out.text();
      } else {
        if (inner.kind() != BatchKind::world) line.entity = inner.target(i);
        const std::byte* value = inner.payload(i);
        const auto edit = edit_text(world_.types(), type.id, value, world_);
        line.text += "  " + (edit ? *edit : value_line(world_.types(), type, value, world_));
        line.members += ", \"value\": " + json(type, value);
        if (edit) line.members += member("text", *edit);
        for (const RowSetEntry& entry : inner.row_set()) {
          const TypeDescriptor* const component = world_.types().find(entry.type);
          if (!component || is_kept_by_registry(entry.type)) continue;
          line.text += "  " + component->name + " {" +
                       value_line(world_.types(), *component, value + entry.offset, world_) + "}";
        }
      }
      line.members += ", \"session_number\": " + std::to_string(frame.envelope.session);
      print(line);
    }
  }

  static std::string member(const char* key, const std::string& value) {
    JsonWriter out;
    return ", \"" + std::string(key) + "\": " + out.value(value).text();
  }
  std::string json(const TypeDescriptor& type, const std::byte* value) {
    JsonWriter out;
    write_json(out, world_.types(), type, value, world_);
    return out.text();
  }
  bool over_lines() const { return asked_.lines > 0 && printed_ >= asked_.lines; }

  void print(const Line& line) {
    if (over_lines()) return;
    ++printed_;
    const std::string path = line.entity ? places_.path(line.entity) : "";
    if (common_.json) {
      JsonWriter out;
      out.open_object().member("sequence", line.sequence).member("what", line.what);
      if (line.entity) out.member("id", id_text(line.entity)).member("path", path);
      print_line(out.text() + line.members + "}");
    } else {
      const std::string who = line.entity ? NamedEntity{line.entity, path}.text() : "@world";
      const bool named = line.text.empty() || line.what == std::string_view("removed");
      print_line(std::to_string(line.sequence) + "  " + who + "  " + (named ? line.what : "") +
                 (named && !line.text.empty() ? " " : "") + line.text);
    }
    std::fflush(stdout);
  }

  const Common& common_;
  const WatchFor& asked_;
  RemoteWorld world_;
  Places places_;
  bool values_ = false, structure_ = false;
  bool settled_ = false;
  std::uint64_t printed_ = 0;
  std::uint64_t epoch_ = world_.client().epoch();
  bool playing_ = world_.client().welcome().playing;
  std::uint64_t times_resumed_ = 0;
  Interruptions interruptions_;
};

}  // namespace

void watch(const Common& common, const WatchFor& asked) { Watcher(common, asked).run(); }

}  // namespace muster::cli
