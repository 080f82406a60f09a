// What a handler that comes or goes costs must grow with what it asks for, not with how many others there are; counted in
// steps, not timed. And the quick ways give what the plain ones give.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <random>

#include "registry/handlers/handler_order.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/run_rules.h"

namespace growth_test {

using namespace muster;

namespace {

/// The order as its description says it: again and again the first of those that nobody has to precede.
std::vector<Handler*> plain_order(std::vector<Handler*> handlers) {
  std::ranges::sort(handlers, [](const Handler* a, const Handler* b) {
    return std::tie(a->options.priority, a->name, a->part, a->ordinal) <
           std::tie(b->options.priority, b->name, b->part, b->ordinal);
  });
  const auto names = [](const std::vector<std::string>& list, const Handler& h) {
    return std::ranges::find(list, h.name) != list.end();
  };
  std::vector<Handler*> result;
  while (!handlers.empty()) {
    const auto next = std::ranges::find_if(handlers, [&](const Handler* h) {
      return std::ranges::none_of(handlers, [&](const Handler* other) {
        return names(other->options.before, *h) || names(h->options.after, *other);
      });
    });
    if (next == handlers.end()) throw SetupError("circle");
    result.push_back(*next);
    handlers.erase(next);
  }
  return result;
}

std::string name_of(std::mt19937& random, unsigned names) {
  const auto number = random() % names;
  return number == 0 ? std::string() : "h" + std::to_string(number);
}

const TypeDescriptor& some_type() {
  static const TypeDescriptor type = [] {
    TypeDescriptor made;
    made.id = 77;
    made.name = "test.Message";
    return made;
  }();
  return type;
}

std::unique_ptr<Handler> handler(std::string name) {
  auto made = std::make_unique<Handler>();
  made->name = std::move(name);
  made->message = some_type().id;
  made->options.priority = static_cast<int>(made->name.size() % 3);
  return made;
}

/// The most steps that adding, and then ending, this many handlers may take: so many per handler and doubling.
std::uint64_t allowed(std::uint32_t count, std::uint64_t each) {
  return static_cast<std::uint64_t>(std::ceil(std::log2(count))) * count * each;
}

}  // namespace

TEST_CASE("handlers that come and go are in the order that their description gives, whatever they say of each other") {
  std::mt19937 random(11);
  int circles = 0, whole = 0, placed = 0;
  for (int program = 0; program < 300; ++program) {
    HandlerOrder order;
    std::vector<std::unique_ptr<Handler>> handlers;
    const auto names = static_cast<unsigned>(3 + random() % 12);
    for (std::uint64_t step = 1; step < 60; ++step) {
      if (!handlers.empty() && random() % 3 == 0) {
        const auto at = handlers.begin() + static_cast<std::ptrdiff_t>(random() % handlers.size());
        const std::vector<Handler*> before(order.begin(), order.end());
        const auto place = order.remove(**at);
        if (place) {
          REQUIRE(before[*place] == at->get());
          auto without = before;
          without.erase(without.begin() + static_cast<std::ptrdiff_t>(*place));
          REQUIRE(std::ranges::equal(order, without));
        }
        handlers.erase(at);
      } else {
        auto made = std::make_unique<Handler>();
        made->name = name_of(random, names);
        made->ordinal = step;
        made->part = random() % 2;
        made->options.priority = static_cast<int>(random() % 3);
        while (random() % 4 == 0) made->options.before.push_back(name_of(random, names));
        while (random() % 4 == 0) made->options.after.push_back(name_of(random, names));
        std::vector<Handler*> all(order.begin(), order.end());
        all.push_back(made.get());
        bool circle = false;
        try {
          plain_order(all);
        } catch (const SetupError&) {
          circle = true;
        }
        if (circle) {
          const std::vector<Handler*> before(order.begin(), order.end());
          REQUIRE_THROWS_AS(order.add(*made), SetupError);
          REQUIRE(std::ranges::equal(order, before));
          ++circles;
          continue;
        }
        const auto place = order.add(*made);
        if (place) REQUIRE(order[*place] == made.get());
        place ? ++placed : ++whole;
        handlers.push_back(std::move(made));
      }
      std::vector<Handler*> all;
      for (const auto& h : handlers) all.push_back(h.get());
      REQUIRE(std::ranges::equal(order, plain_order(all)));
    }
  }
  CHECK(circles > 100);
  CHECK(whole > 500);
  CHECK(placed > 500);
}

TEST_CASE("whether whole runs go through one handler after another is what comparing all pairs would say") {
  std::mt19937 random(12);
  int yes = 0, no = 0;
  for (int program = 0; program < 400; ++program) {
    RunRules rules;
    std::vector<std::unique_ptr<Handler>> handlers;
    const auto types = static_cast<unsigned>(8 + random() % 40);
    for (int step = 0; step < 20; ++step) {
      if (!handlers.empty() && random() % 3 == 0) {
        const auto at = handlers.begin() + static_cast<std::ptrdiff_t>(random() % handlers.size());
        rules.remove(**at);
        handlers.erase(at);
      } else {
        Handler& made = *handlers.emplace_back(std::make_unique<Handler>());
        for (unsigned terms = random() % 4; terms > 0; --terms)
          made.terms.push_back({.type = static_cast<TypeId>(1 + random() % types),
                                .access = random() % 3 ? Access::read : Access::write,
                                .source = random() % 4 ? Source::self : Source::parent,
                                .value = random() % 5 != 0});
        const auto resource = [&] { return "r" + std::to_string(random() % types); };
        if (random() % 6 == 0) made.options.external_reads = {resource(), resource()};
        if (random() % 6 == 0) made.options.external_writes = {resource()};
        made.has_state = random() % 6 == 0;
        made.pushes = random() % 6 == 0;
        made.consumes = random() % 20 == 0;
        made.writes_message = made.consumes || random() % 20 == 0;
        if (random() % 20 == 0) made.followed.push_back({0, 1});
        rules.add(made);
      }
      bool expected = true, writes = false;
      int pushing = 0;
      for (const auto& a : handlers) {
        if (a->consumes || !a->followed.empty()) expected = false;
        writes = writes || a->writes_message;
        pushing += a->pushes;
        for (const auto& b : handlers)
          if (a != b && conflict(*a, *b)) expected = false;
      }
      expected = expected && pushing <= 1;
      REQUIRE(rules.whole_runs() == expected);
      REQUIRE(rules.writes_message() == writes);
      expected ? ++yes : ++no;
    }
  }
  CHECK(yes > 500);
  CHECK(no > 500);
}

TEST_CASE("adding and ending handlers of one message takes about as many steps per handler however many there are") {
  HandlerStates states;
  HandlerTable table(states);
  table.add_message(some_type());
  constexpr std::uint32_t count = 3000;
  std::vector<std::uint64_t> ordinals;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto made = handler("handler " + std::to_string(i * 7919 % count));
    made->terms.push_back({.type = 5, .access = i % 100 ? Access::read : Access::write, .source = Source::self});
    ordinals.push_back(table.add(std::move(made), {}).ordinal);
  }
  const std::uint64_t added = table.steps();
  CHECK(added < allowed(count, 3));
  REQUIRE(table.route(some_type().id)->active.size() == count);
  for (const std::uint64_t ordinal : ordinals) table.remove(ordinal);
  CHECK(table.steps() - added < allowed(count, 3));
  CHECK(table.route(some_type().id)->active.empty());
  CHECK(table.handlers().empty());
}

TEST_CASE("a handler with a place in a long line is put there in steps that grow with the line, not with its square") {
  const auto steps_for = [](std::uint32_t count) {
    HandlerStates states;
    HandlerTable table(states);
    table.add_message(some_type());
    for (std::uint32_t i = 0; i < count; ++i) {
      auto made = handler("h" + std::to_string(i));
      made->options.priority = 0;
      if (i > 0) made->options.after = {"h" + std::to_string(i - 1)};
      table.add(std::move(made), {});
    }
    const std::uint64_t before = table.steps();
    auto last = handler("last");
    last->options.before = {"h0"};
    table.add(std::move(last), {});
    REQUIRE(table.route(some_type().id)->active.front()->name == "last");
    REQUIRE(table.route(some_type().id)->active.back()->name == "h" + std::to_string(count - 1));
    return table.steps() - before;
  };
  CHECK(steps_for(200) < 200 * 8);
  CHECK(steps_for(2000) < 2000 * 8);
}

TEST_CASE("a follower of a component makes each handler that writes it be looked at once") {
  HandlerStates states;
  HandlerTable table(states);
  table.add_message(some_type());
  constexpr TypeId component = 9;
  TypeDescriptor change_type;
  change_type.id = change_id(ChangeKind::changed, component);
  MessageRoute& followers = table.add_message(change_type);
  followers.change = ChangeKind::changed;
  followers.component = component;
  constexpr std::uint32_t count = 2000;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto made = handler("h" + std::to_string(i));
    made->terms.push_back({.type = component, .access = Access::write, .source = Source::self});
    table.add(std::move(made), {});
  }
  MessageRoute& route = *table.route(some_type().id);
  CHECK_FALSE(table.follows());
  const std::uint64_t before = table.steps();
  auto follower = handler("follower");
  follower->message = change_type.id;
  const std::uint64_t ordinal = table.add(std::move(follower), {}).ordinal;
  CHECK(table.follows());
  CHECK(table.steps() - before < count * 8);
  CHECK(std::ranges::all_of(route.active, [](const Handler* h) { return h->followed.size() == 1; }));
  CHECK_FALSE(route.whole_runs);
  table.remove(ordinal);
  CHECK_FALSE(table.follows());
  CHECK(std::ranges::all_of(route.active, [](const Handler* h) { return h->followed.empty(); }));
  CHECK(table.steps() - before < count * 16);
}

}  // namespace growth_test
