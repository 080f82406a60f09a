#include "registry/handlers/handler_order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "schema/hash.h"

namespace muster {

const HandlerOrder::Named* HandlerOrder::find(std::string_view name) const {
  const auto at = names_.find(name);
  return at == names_.end() ? nullptr : &at->second;
}

bool HandlerOrder::has(std::string_view name) const {
  const Named* known = find(name);
  return known && known->there > 0;
}

void HandlerOrder::note(const Handler& handler) {
  ++names_[handler.name].there;
  for (const std::string& name : handler.options.before) ++names_[name].run_before_it;
  for (const std::string& name : handler.options.after) ++names_[name].run_after_it;
}

void HandlerOrder::forget(const Handler& handler) {
  const auto less = [&](const std::string& name, std::uint32_t Named::* count) {
    const auto at = names_.find(name);
    --(at->second.*count);
    if (at->second.unused()) names_.erase(at);
  };
  less(handler.name, &Named::there);
  for (const std::string& name : handler.options.before) less(name, &Named::run_before_it);
  for (const std::string& name : handler.options.after) less(name, &Named::run_after_it);
}

std::uint64_t HandlerOrder::drawn(const Handler& handler) const noexcept {
  // Ordinals depend on the other handlers of the process, and so are used only without a name.
  std::uint64_t number = seed_ ^ (handler.name.empty() ? handler.ordinal : hash64(handler.name));
  number = (number ^ handler.message) * 0x9e3779b97f4a7c15u;
  return (number ^ (number >> 32)) * 0xd6e8feb86659fd93u;
}

bool HandlerOrder::comes_first(const Handler& a, const Handler& b) noexcept {
  ++steps_;
  if (a.options.priority != b.options.priority) return a.options.priority < b.options.priority;
  if (seed_ != 0) [[unlikely]]
    if (const std::uint64_t first = drawn(a), second = drawn(b); first != second) return first < second;
  if (const int names = a.name.compare(b.name); names != 0) return names < 0;
  if (a.part != b.part) return a.part < b.part;
  return a.ordinal < b.ordinal;
}

bool HandlerOrder::is_waited_for(const Handler& handler) const {
  if (const Named* own = find(handler.name); own && own->run_after_it > 0) return true;
  const auto waits = [&](const std::string& name) { return name == handler.name || has(name); };
  return std::ranges::any_of(handler.options.before, waits) ||
         std::ranges::find(handler.options.after, handler.name) != handler.options.after.end();
}

std::size_t HandlerOrder::first_place(const Handler& handler) {
  const Named* own = find(handler.name);
  const bool named = own && own->run_before_it > 0;
  std::vector<std::string_view> after;
  for (const std::string& name : handler.options.after)
    if (has(name)) after.emplace_back(name);
  if (!named && after.empty()) return 0;
  std::ranges::sort(after);
  for (std::size_t place = order_.size(); place > 0; --place) {
    ++steps_;
    const Handler& other = *order_[place - 1];
    if (std::ranges::binary_search(after, std::string_view(other.name))) return place;
    if (named && std::ranges::find(other.options.before, handler.name) != other.options.before.end()) return place;
  }
  return 0;
}

std::optional<std::size_t> HandlerOrder::add(Handler& handler) {
  const auto comes_later = [&](Handler* other) { return comes_first(handler, *other); };
  const auto sorted_place = std::ranges::partition_point(sorted_, [&](Handler* other) { return !comes_later(other); });
  const auto place = sorted_place - sorted_.begin();
  if (is_waited_for(handler)) {
    std::vector<Handler*> all = sorted_;
    all.insert(all.begin() + place, &handler);
    order_ = ordered(all);  // throws an exception if the order is cyclic
    sorted_ = std::move(all);
    is_sorted_ = order_ == sorted_;
    note(handler);
    return std::nullopt;
  }
  // Put the handler at the earliest possible place: after all handlers for which it must wait, and
  // before all other handlers that could also take the place.
  const std::size_t first = first_place(handler);
  std::size_t at = static_cast<std::size_t>(place);
  if (!is_sorted_ || at < first) {
    at = first;
    while (at < order_.size() && !comes_later(order_[at])) ++at;
    is_sorted_ = is_sorted_ && at == static_cast<std::size_t>(place);
  }
  sorted_.insert(sorted_.begin() + place, &handler);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), &handler);
  note(handler);
  return at;
}

std::optional<std::size_t> HandlerOrder::remove(Handler& handler) {
  forget(handler);
  const auto in_sorted =
      std::ranges::partition_point(sorted_, [&](const Handler* other) { return comes_first(*other, handler); });
  const auto sorted_place = in_sorted - sorted_.begin();
  sorted_.erase(in_sorted);
  // Handlers that the removed handler kept apart may change places, because the order depends only
  // on the handlers that are present.
  if (is_waited_for(handler)) {
    order_ = ordered(sorted_);
    is_sorted_ = order_ == sorted_;
    return std::nullopt;
  }
  const auto at = is_sorted_ ? order_.begin() + sorted_place : std::ranges::find(order_, &handler);
  const auto place = static_cast<std::size_t>(at - order_.begin());
  order_.erase(at);
  is_sorted_ = is_sorted_ || order_ == sorted_;
  return place;
}

std::vector<Handler*> HandlerOrder::ordered(const std::vector<Handler*>& sorted) {
  const std::size_t count = sorted.size();
  std::unordered_multimap<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.emplace(sorted[i]->name, i);
  std::vector<std::vector<std::size_t>> later(count);  // handler i runs before each handler in
                                                       // later[i]
  std::vector<std::size_t> waits(count, 0);
  const auto edge = [&](std::size_t first, std::size_t second) {
    later[first].push_back(second);
    ++waits[second];
    ++steps_;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto each = [&](const std::vector<std::string>& names, auto f) {
      for (const std::string& name : names) {
        const auto [begin, end] = numbers.equal_range(name);
        for (auto at = begin; at != end; ++at) f(at->second);
      }
    };
    each(sorted[i]->options.before, [&](std::size_t other) { edge(i, other); });
    each(sorted[i]->options.after, [&](std::size_t other) { edge(other, i); });
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<Handler*> result;
  result.reserve(count);
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    ++steps_;
    result.push_back(sorted[next]);
    for (const std::size_t other : later[next])
      if (--waits[other] == 0) ready.push(other);
  }
  if (result.size() == count) return result;
  std::string names;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] != 0) names += (names.empty() ? "" : ", ") + sorted[i]->name;
  throw SetupError("the order of these handlers is circular: " + names);
}

}  // namespace muster
