#include "server/file_program/journal_text.h"

#include <algorithm>
#include <unordered_map>

#include "messages/batch.h"
#include "messages/json_writer.h"
#include "messages/step_batches.h"
#include "messages/text/edit_text.h"
#include "messages/value_text.h"
#include "registry/entity_registry.h"
#include "schema/hash.h"
#include "schema/muster.h"
#include "server/file_program/read_world.h"

namespace muster {
namespace {

constexpr std::uint32_t shown_max = 3;  // number of messages shown per batch; the others are only
                                        // counted

const char* name(InputKind kind) noexcept {
  switch (kind) {
    case InputKind::push: return "push";
    case InputKind::post: return "post";
    case InputKind::flush: return "flush";
    case InputKind::advance: return "advance";
    case InputKind::inbox: return "inbox";
  }
  return "?";
}

/// Resolves the hashes of interned texts. Entities are shown only as ids.
class Texts final : public ValueReferences {
 public:
  explicit Texts(const EntityRegistry& registry) : registry_(registry) {}
  ValueResult<Entity> find_entity(std::string_view) override {
    return std::unexpected(ValueError{ValueError::Kind::unknown_reference, "a journal has no names of entities"});
  }
  ValueResult<Text> intern(std::string_view) override {
    return std::unexpected(ValueError{ValueError::Kind::unknown_reference, "a journal is only read"});
  }
  std::string text(Text text) override {
    if (const auto at = told_.find(text.hash); at != told_.end()) return at->second;
    const std::string_view known = text ? registry_.text(text) : std::string_view{};
    return !known.empty() || !text ? std::string(known) : "#" + std::to_string(text.hash);
  }
  void tell(std::string_view text) { told_.emplace(hash64(text), text); }

 private:
  const EntityRegistry& registry_;
  std::unordered_map<std::uint64_t, std::string> told_;
};

class Lister {
 public:
  Lister(const EntityRegistry& registry, const JournalChoice& choice,
         const std::function<void(const std::string&)>& print)
      : types_(registry.types()), texts_(registry), choice_(choice), print_(print) {}

  bool is_done() const noexcept { return printed_ >= choice_.lines; }
  void group(const JournalGroup& group) {
    if (choice_.json || group.last < choice_.from) return;
    std::string line = "group " + std::to_string(group.id) + ": ";
    line += group.last < group.first ? "no inputs"
                                     : "inputs " + std::to_string(group.first) + " to " + std::to_string(group.last);
    line += ", ticks " + std::to_string(group.first_tick) + " to " + std::to_string(group.last_tick) + ", epoch " +
            std::to_string(group.epoch) + ", written by " + printable(group.code);
    print_(line);
  }
  void record(const JournalGroup& group, const JournalRecord& record) {
    if (record.kind == JournalRecord::Kind::input) learn(record);
    if (record.envelope.sequence < choice_.from || is_done()) return;
    ++printed_;
    choice_.json ? as_json(group, record) : as_text(record);
  }

 private:
  /// Adds the interned texts in a record, to which later inputs refer.
  void learn(const JournalRecord& record) {
    if (!record.batch.empty()) learn(BatchView(record.batch));
  }
  void learn(const BatchView& batch) {
    if (batch.kind() == BatchKind::table && batch.type() == TypeTraits<Step>::id)
      return StepBatches(table_item(batch, batch.body()).table).for_each([&](const BatchView& inside) {
        learn(inside);
      });
    if (batch.type() != TypeTraits<InternText>::id || batch.kind() != BatchKind::table) return;
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      texts_.tell(InternTextView::from(item.table).text());
    }
  }
  struct Message {
    Entity target;
    const std::byte* value = nullptr;  // the value of a struct
    TableReader table = {};
    StepView step = {};
  };
  /// Calls f for each of the first few messages of a batch.
  template <class F>
  static void each(const BatchView& batch, F f) {
    const std::byte* table = batch.kind() == BatchKind::table ? batch.body() : nullptr;
    for (std::uint32_t i = 0; i < std::min(batch.count(), shown_max); ++i) {
      if (table) {
        const TableItem item = table_item(batch, table);
        table = item.next;
        f(Message{.target = item.target,
                  .table = TableReader::root(item.table),
                  .step = batch.type() == TypeTraits<Step>::id ? StepView::from(item.table) : StepView()});
      } else {
        f(Message{batch.kind() == BatchKind::world ? Entity{} : batch.target(i), batch.payload(i)});
      }
    }
  }
  std::string text_of(const BatchView& batch, const Message& message) {
    const TypeDescriptor& type = *types_.find(batch.type());
    if (!message.value) {
      JsonWriter json;
      write_json(json, types_, type, message.table, texts_);
      return json.text();
    }
    if (auto text = edit_text(types_, type.id, message.value, texts_)) return std::move(*text);
    std::string text = value_line(types_, type, message.value, texts_);
    for (const RowSetEntry& entry : batch.row_set()) {
      const TypeDescriptor& component = *types_.find(entry.type);
      text += (text.empty() ? "" : "  ") + component.name + " {" +
              value_line(types_, component, message.value + entry.offset, texts_) + "}";
    }
    return text;
  }
  void as_text(const JournalRecord& record) {
    const std::string sequence = std::to_string(record.envelope.sequence);
    std::string line = std::string(sequence.size() < 8 ? 8 - sequence.size() : 0, ' ') + sequence + "  ";
    if (record.kind == JournalRecord::Kind::tick) return print_(line + "tick " + std::to_string(record.tick));
    if (record.kind == JournalRecord::Kind::schema)
      return print_(line + "schema of " + std::to_string(record.schema.size()) + " bytes");
    if (record.kind == JournalRecord::Kind::counters)
      return print_(line + "counters: " + std::to_string(record.counters.messages) + " messages");
    if (record.kind == JournalRecord::Kind::cut)
      return print_(line + "cut: time ended a cascade after " + std::to_string(record.cut.messages) + " messages");
    line += name(record.envelope.kind);
    if (!record.kept) return print_(line + "  not kept");
    const auto& [session, user] = std::pair(record.envelope.session, record.envelope.user);
    if (user != 0) line += "  user " + std::to_string(user);
    if (session != 0)
      line += std::string(user != 0 ? ", " : "  ") + "session " + std::to_string(session) + ", request " +
              std::to_string(record.envelope.request);
    if (record.batch.empty()) return print_(line);
    print_(line + "  " + batch_text(BatchView(record.batch)));
  }
  std::string batch_text(const BatchView& outer) {
    const bool timed = outer.kind() == BatchKind::timed;
    const BatchView batch = timed ? outer.inner() : outer;
    std::string line = types_.find(batch.type())->name;
    if (timed) line += " at " + std::to_string(outer.header().argument) + " ns, timer " + std::to_string(outer.timer());
    if (batch.count() != 1) line += "  (" + std::to_string(batch.count()) + ")";
    each(batch, [&](const Message& message) {
      if (message.target) line += "  to " + id_text(message.target);
      const std::string text = message.step ? step_text(message.step) : text_of(batch, message);
      if (!text.empty()) line += "  " + text;
    });
    if (batch.count() > shown_max) line += "  ...";
    return line;
  }
  std::string step_text(const StepView& step) {
    std::string text(name_of(step.act()));
    if (!step.label().empty()) text += "  \"" + printable(step.label()) + "\"";
    std::uint32_t number = 0;
    StepBatches(step).for_each([&](const BatchView& batch) {
      if (++number <= shown_max) text += "  {" + batch_text(batch) + "}";
    });
    if (number > shown_max) text += "  ... (" + std::to_string(number) + " batches)";
    return text;
  }
  void as_json(const JournalGroup& group, const JournalRecord& record) {
    JsonWriter out;
    out.open_object()
        .member("sequence", record.envelope.sequence)
        .member("group", group.id)
        .member("epoch", group.epoch);
    if (record.kind == JournalRecord::Kind::tick) {
      out.member("kind", "tick").member("tick", record.tick);
    } else if (record.kind == JournalRecord::Kind::schema) {
      out.member("kind", "schema").member("bytes", record.schema.size());
    } else if (record.kind == JournalRecord::Kind::counters) {
      out.member("kind", "counters").member("messages", record.counters.messages);
    } else if (record.kind == JournalRecord::Kind::cut) {
      out.member("kind", "cut").member("messages", record.cut.messages).member("resumed", record.cut.resumed);
    } else if (!record.kept) {
      out.member("kind", name(record.envelope.kind)).member("kept", false);
    } else {
      out.member("kind", name(record.envelope.kind))
          .member("user", record.envelope.user)
          .member("session", record.envelope.session)
          .member("request", record.envelope.request);
      if (!record.batch.empty()) messages(out, BatchView(record.batch));
    }
    out.close_object();
    print_(out.text());
  }
  void messages(JsonWriter& out, const BatchView& outer) {
    const bool timed = outer.kind() == BatchKind::timed;
    const BatchView batch = timed ? outer.inner() : outer;
    out.member("message", types_.find(batch.type())->name).member("count", batch.count());
    if (timed) out.member("due_ns", outer.header().argument).member("timer", outer.timer());
    const TypeDescriptor& type = *types_.find(batch.type());
    out.key("first").open_array();
    each(batch, [&](const Message& message) {
      out.open_object().key("to");
      message.target ? out.value(id_text(message.target)) : out.null();
      out.key("value");
      if (message.value)
        write_json(out, types_, type, message.value, texts_);
      else if (message.step)
        this->step(out, message.step);
      else
        write_json(out, types_, type, message.table, texts_);
      if (message.value)
        if (const auto text = edit_text(types_, type.id, message.value, texts_)) out.member("text", *text);
      if (batch.has_rows()) out.key("components").open_object();
      for (const RowSetEntry& entry : batch.row_set()) {
        const TypeDescriptor& component = *types_.find(entry.type);
        write_json(out.key(component.name), types_, component, message.value + entry.offset, texts_);
      }
      if (batch.has_rows()) out.close_object();
      out.close_object();
    });
    out.close_array();
  }

  void step(JsonWriter& out, const StepView& step) {
    out.open_object()
        .member("act", name_of(step.act()))
        .member("label", step.label())
        .member("gesture", step.gesture());
    out.key("batches").open_array();
    StepBatches(step).for_each([&](const BatchView& batch) {
      out.open_object();
      messages(out, batch);
      out.close_object();
    });
    out.close_array().close_object();
  }

  const TypeTable& types_;
  Texts texts_;
  const JournalChoice& choice_;
  const std::function<void(const std::string&)>& print_;
  std::uint64_t printed_ = 0;
};

}  // namespace

std::expected<JournalShown, WorldError> show_journal(const std::string& path, const JournalChoice& choice,
                                                     const std::function<void(const std::string&)>& print) {
  auto world = ReadWorld::open(path);
  if (!world) return std::unexpected(world.error());
  EntityRegistry registry;
  if (const auto loaded = world->load(registry); !loaded) return std::unexpected(loaded.error());
  Lister lister(registry, choice, print);
  const auto journal = world->journal(
      registry,
      [&](const JournalGroup& group) {
        if (lister.is_done()) return false;
        lister.group(group);
        return true;
      },
      [&](const JournalGroup& group, const JournalRecord& record) { lister.record(group, record); });
  if (!journal) return std::unexpected(journal.error());
  return JournalShown{.groups = journal->groups, .sequence = world->file().meta().sequence};
}

}  // namespace muster
