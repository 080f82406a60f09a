// Answers ListHandlers with pages of the world's handlers, including the components that each of
// them reads and writes. Also answers WhyApart.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/explain.h"
#include "registry/handlers/handler_table.h"
#include "registry/host.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

/// Returns the components whose values the handler accesses, without duplicates and in order of
/// type id. Excludes components that only select entities by their presence, because the handler
/// neither reads nor writes their values.
std::vector<TypeId> components(const Handler& handler, Access access) {
  std::vector<TypeId> found;
  for (const Term& term : handler.terms)
    if (term.value && term.access == access) found.push_back(term.type);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

constexpr std::size_t rows_at_once = 64;

/// Handlers may be added or removed between two slices, so each slice searches again for the
/// handlers that follow the last row.
class HandlerListing final : public Inquiry {
 public:
  HandlerListing(Asked asked, const session::ListHandlers& what)
      : asked_(std::move(asked)), rows_max_(rows_allowed(what.limit, asked_.limits)), last_(what.after) {}

  Progress go_on(Steps& steps) override {
    const auto& all = asked_.registry.host().handlers().handlers();
    std::vector<const Handler*> behind;
    for (const auto& handler : all)
      if (handler->ordinal > last_) behind.push_back(handler);
    // Each slice lists at least some rows, regardless of the number of handlers and steps.
    const auto some = static_cast<std::ptrdiff_t>(std::min(behind.size(), rows_at_once));
    std::ranges::partial_sort(behind, behind.begin() + some, {}, &Handler::ordinal);
    steps.spend(5 + all.size() / 8);
    auto next = behind.begin();
    for (; next != behind.begin() + some && !is_full(); ++next) {
      steps.spend(2 + (*next)->terms.size());
      add(**next);
    }
    if (next != behind.end() && !is_full()) return Progress::again;
    if (!asked_.has_room(bytes_)) return Progress::room;
    page_.sequence = asked_.registry.sequence();
    page_.total = static_cast<std::uint32_t>(all.size());
    page_.more = next != behind.end();
    steps.spend_bytes(bytes_);
    answer(asked_.to(), asked_.request, page_);
    return Progress::done;
  }

 private:
  bool is_full() const noexcept { return page_.handlers.size() >= rows_max_ || bytes_ >= asked_.limits.page_bytes_max; }

  void add(const Handler& handler) {
    const MessageRoute* route = asked_.registry.host().handlers().route(handler.message);
    const bool follows = route && route->change != ChangeKind::none;
    const std::string_view name = shown_name(handler.name, asked_.limits.path_bytes_max);
    const auto writes = components(handler, Access::write);
    const auto reads = components(handler, Access::read);
    page_.handlers.push_back(handler.ordinal);
    page_.names.emplace_back(name);
    page_.messages.push_back(follows ? route->component : handler.message);
    page_.changes.push_back(follows ? static_cast<std::uint8_t>(route->change) : 0);
    page_.enabled.push_back(handler.enabled ? 1 : 0);
    page_.write_counts.push_back(static_cast<std::uint32_t>(writes.size()));
    page_.writes.insert(page_.writes.end(), writes.begin(), writes.end());
    page_.read_counts.push_back(static_cast<std::uint32_t>(reads.size()));
    page_.reads.insert(page_.reads.end(), reads.begin(), reads.end());
    bytes_ += 40 + name.size() + 4 * (writes.size() + reads.size());
    last_ = handler.ordinal;
  }

  const Asked asked_;
  const std::uint32_t rows_max_;
  std::uint64_t last_;  // number of the most recently listed handler
  std::size_t bytes_ = 256;
  session::HandlerList page_;
};

/// Returns the message types of the handlers with this name, without duplicates and in order of
/// type id.
std::vector<TypeId> messages_of(const EntityRegistry& registry, std::string_view name) {
  std::vector<TypeId> messages;
  for (const auto& handler : registry.host().handlers().handlers())
    if (handler->name == name) messages.push_back(handler->message);
  std::ranges::sort(messages);
  messages.erase(std::ranges::unique(messages).begin(), messages.end());
  return messages;
}

void explain(const Asked& asked, const session::WhyApart& what) {
  const EntityRegistry& registry = asked.registry;
  const auto first = messages_of(registry, what.first), second = messages_of(registry, what.second);
  const auto refuse = [&](const char* field, std::string text) {
    session::Fault fault = fault_of(session::FaultCode::not_found, "unknown_handler", std::move(text));
    fault.field = field;
    asked.fault(fault);
  };
  for (const auto& [field, name, messages] :
       {std::tuple("first", &what.first, &first), std::tuple("second", &what.second, &second)})
    if (messages->empty()) return refuse(field, "no handler is named \"" + *name + "\"");
  session::Explanation answer{.sequence = registry.sequence()};
  for (const TypeId message : first)
    if (std::ranges::binary_search(second, message))
      answer.text += why_apart(registry, message, what.first, what.second);
  if (answer.text.empty())
    return refuse("second", "\"" + what.first + "\" and \"" + what.second +
                                "\" have no message in common, and handlers of different messages never overlap");
  asked.answer(answer);
}

}  // namespace

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::ListHandlers& what) {
  return std::make_unique<HandlerListing>(asked, what);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::WhyApart& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] { explain(asked, what); });
}

}  // namespace muster
