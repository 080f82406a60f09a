#include "server/questions/questions.h"

#include <cstring>

#include "messages/row_set.h"
#include "registry/entity_registry.h"
#include "server/questions/answers.h"
#include "server/questions/child_list.h"
#include "server/questions/entity_search.h"
#include "server/questions/handler_list.h"
#include "server/questions/template_questions.h"
#include "server/questions/timer_list.h"
#include "server/watches/watches.h"

namespace muster {
namespace {

/// The texts that its values mention go first, as there is room for them; then all of it at once.
class Showing final : public Inquiry {
 public:
  Showing(Asked asked, Entity e) : asked_(std::move(asked)), entity_(e) {}

  Progress go_on(Steps& steps) override {
    const EntityRegistry& registry = asked_.registry;
    if (!registry.alive(entity_)) {
      asked_.fault(dead_fault(entity_, "entity"));
      return Progress::done;
    }
    for (const TypeId component : registry.components(entity_)) {
      const auto* stored = registry.storage().component(component);
      if (!stored || stored->saved_size() == 0) continue;  // a tag, or a runtime component
      const std::byte* value = registry.find(entity_, component);
      for (const std::uint32_t offset : stored->descriptor->text_offsets) {
        Text text;
        std::memcpy(&text, value + offset, sizeof text);
        if (!must_be_sent(asked_.to(), registry, text)) continue;
        if (!steps.left()) return Progress::again;
        if (!asked_.has_room(registry.text(text).size())) return Progress::room;
        steps.spend_bytes(registry.text(text).size());
        send_text(asked_.to(), registry, text);
      }
    }
    return tell(steps);
  }

 private:
  Progress tell(Steps& steps) {
    const EntityRegistry& registry = asked_.registry;
    const std::size_t name_max = asked_.limits.path_bytes_max;
    session::Shown shown;
    shown.sequence = registry.sequence();
    shown.clock_ns = registry.now_ns();
    shown.entity = entity_;
    shown.parent = registry.parent(entity_);
    shown.name = shown_name(registry.name(entity_), name_max);
    shown.path = shown_path(registry, entity_, name_max, steps);
    shown.depth = registry.depth(entity_);
    shown.child_count = registry.child_count(entity_);
    const auto components = registry.components(entity_);
    shown.components.assign(components.begin(), components.end());

    std::vector<PayloadShape> shapes;
    for (const TypeId component : components) {
      const TypeDescriptor* type = registry.types().find(component);
      if (!type || shapes.size() == row_set_components_max) continue;
      shapes.push_back(PayloadShape::of(*type));
    }
    BatchBuilder builder;
    if (!shapes.empty()) {
      const RowSet rows(PayloadShape::of<Set>(), shapes);
      std::byte* payload = builder.append_rows(rows, entity_);
      const Set set{};
      std::memcpy(payload, &set, sizeof set);
      for (const PayloadShape& shape : shapes) {
        const auto* stored = registry.storage().component(shape.type);
        if (!stored || stored->saved_size() == 0) continue;
        std::memcpy(payload + rows.offset(shape.type), registry.find(entity_, shape.type), stored->size);
      }
    }
    const std::size_t bytes = shown.path.size() + shown.name.size() + 4 * components.size() + builder.bytes().size();
    if (!asked_.has_room(bytes)) return Progress::room;
    steps.spend_bytes(bytes);
    answer(asked_.to(), asked_.request, shown, shapes.empty() ? 0 : std::uint32_t{frame_more});
    if (!shapes.empty()) asked_.to().outgoing->control(builder.bytes(), asked_.request);
    return Progress::done;
  }

  const Asked asked_;
  const Entity entity_;
};

std::unique_ptr<Inquiry> begin_text(const Asked& asked, Text text) {
  const std::size_t bytes = asked.registry.text(text).size();
  if (bytes == 0)
    return refuse(asked, fault_of(session::FaultCode::not_found, "unknown_text",
                                  "the world knows no text of hash " + std::to_string(text.hash)));
  return std::make_unique<Once>(
      asked,
      [asked, text](Steps&) {
        asked.to().texts_sent.tell(text.hash, true, [&] {
          answer(asked.to(), asked.request, InternText{.text = std::string(asked.registry.text(text))});
        });
      },
      bytes);
}

}  // namespace

std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question) {
  switch (question.type()) {
    case TypeTraits<session::ListChildren>::id:
      return begin_child_list(asked, session::read<session::ListChildren>(question));
    case TypeTraits<session::Resolve>::id: return begin_resolve(asked, session::read<session::Resolve>(question));
    case TypeTraits<session::Find>::id: return begin_find(asked, session::read<session::Find>(question));
    case TypeTraits<session::Show>::id:
      return std::make_unique<Showing>(asked, session::read<session::Show>(question).entity);
    case TypeTraits<session::GetText>::id:
      return begin_text(asked, Text{session::read<session::GetText>(question).hash});
    case TypeTraits<session::ListTimers>::id:
      return begin_timer_list(asked, session::read<session::ListTimers>(question));
    case TypeTraits<session::ListHandlers>::id:
      return begin_handler_list(asked, session::read<session::ListHandlers>(question));
    default: return begin_template_question(asked, question);
  }
}

std::unique_ptr<Inquiry> begin_watch_question(const Asked& asked, BatchView question, Watches& watches,
                                              const Opening& opening) {
  const auto may_open = [asked, &watches] {
    const std::uint64_t watched = watches.entities();
    if (watched <= asked.limits.watched_entities_max) return true;
    asked.fault(fault_of(session::FaultCode::bad_question, "watched_entities_max",
                         "all watches together are of " + std::to_string(watched) + " entities; " +
                             std::to_string(asked.limits.watched_entities_max) + " are allowed"));
    return false;
  };
  const auto once = [&](std::function<void(Steps&)> f) { return std::make_unique<Once>(asked, std::move(f)); };
  switch (question.type()) {
    case TypeTraits<session::Watch>::id:
      return opening([asked, &watches, may_open, what = session::read<session::Watch>(question)] {
        if (!may_open()) return;
        if (auto fault = watches.open(asked.from, asked.request, what, asked.limits.watches_max)) asked.fault(*fault);
      });
    case TypeTraits<session::Follow>::id:
      return opening([asked, &watches, may_open, what = session::read<session::Follow>(question)] {
        if (what.watch == 0 && !may_open()) return;
        if (auto fault = watches.follow(asked.from, asked.request, what, asked.limits.watches_max)) asked.fault(*fault);
      });
    case TypeTraits<session::FollowMore>::id:
      return once([asked, &watches, what = session::read<session::FollowMore>(question)](Steps& steps) {
        // Beside what it names, each chunk is asked whether it changed.
        steps.spend(100 + what.add.size() + what.drop.size() + what.open.size() + what.close.size() +
                    asked.registry.storage().chunk_numbers() / 2);
        if (auto fault = watches.follow_more(asked.to(), asked.request, what)) asked.fault(*fault);
      });
    case TypeTraits<session::Unwatch>::id:
      return once([asked, &watches, watch = session::read<session::Unwatch>(question).watch](Steps&) {
        if (!watches.close(asked.to(), watch, asked.request)) asked.fault(unknown_watch(watch));
      });
    default: return nullptr;
  }
}

}  // namespace muster
