// A program comes to the same with components that are enableable as with ones that are not, but for where rows stand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/enableable.h"
#include "tests/support/random.h"

using namespace muster;
using namespace ward;
using muster::test::Random;

namespace {

struct Lasting {
  using Shield = PlainShield;
  using Stunned = PlainStunned;
  using Aura = PlainAura;
};
struct Fleeting {
  using Shield = ward::Shield;
  using Stunned = ward::Stunned;
  using Aura = ward::Aura;
};

template <class Kind>
class Side {
 public:
  using Shield = typename Kind::Shield;
  using Stunned = typename Kind::Stunned;
  using Aura = typename Kind::Aura;

  explicit Side(bool shortcuts, bool follows) : follows_(follows), options_{.shortcuts = shortcuts} { begin(); }

  std::string run(std::uint64_t seed) {
    Random random(seed);
    all_ = {r().create("top", Life{})};
    TemplateTree tree("guard");
    tree.set("", Life{}).set("", Shield{.strength = 4}).set("arm", Aura{}).set("arm/hand", Stunned{});
    r().define_template(tree);
    for (int i = 0; i < 150; ++i) step(random);
    for (const Entity e : all_) look(e);
    return told_;
  }

 private:
  EntityRegistry& r() { return *registry_; }
  void begin() {
    handlers_.clear();
    registry_ = std::make_unique<EntityRegistry>(options_);
    r().template add_type<Shield>();
    r().template add_type<Set>();
    subscribe();
  }
  void tell(const std::string& what, Entity e, const std::string& value = {}) {
    told_ += what + " " + std::to_string(e.index) + ":" + std::to_string(e.generation) + " " + value + "\n";
  }
  static std::string text(const Shield* shield) {
    return shield ? std::to_string(shield->strength) + "/" + std::to_string(shield->by.index) : "none";
  }
  static std::string text(const Aura* aura) { return aura ? std::to_string(aura->range) : "none"; }

  void subscribe() {
    const auto add = [&](Subscription made) { handlers_.push_back(std::move(made)); };
    add(r().subscribe("hit", [this](const Hit& hit, Shield& shield, Entity e, Outbox& out) {
      shield.strength -= hit.amount;
      tell("hit", e, text(&shield));
      if (shield.strength < 0) out.remove<Shield>(e);
      if (shield.strength % 3 == 0) out.set(e, Stunned{});
    }));
    add(r().subscribe("bare", [this](const Hit& hit, Without<Shield>, With<Stunned>, Entity e, Outbox& out) {
      tell("bare", e);
      out.remove<Stunned>(e);
      if (hit.amount > 2) out.set(e, Shield{.strength = hit.amount, .left = 0, .by = e}, Aura{});
    }));
    add(r().subscribe("maybe", [this](const Hit&, const Shield* shield, Aura* aura, Without<Stunned>, Entity e) {
      tell("maybe", e, text(shield) + text(aura));
      if (aura) aura->range += 1;
    }));
    add(r().subscribe("above", [this](const Hit&, Parent<const Shield*> shield, SelfOrParent<const Aura*> aura,
                                      ParentWith<const Aura*, Stunned> with, UpTo<const Shield*, Aura> to,
                                      WithoutSelfOrParent<Stunned>, Entity e) {
      tell("above", e, text(shield.get()) + text(aura.get()) + text(with.get()) + text(to.get()));
    }));
    add(r().subscribe("ask", [this](const Ask& ask, Other<const Shield*> shield, Lookup<const Aura> auras,
                                    Lookup<const Stunned> stunned, Entity e) {
      tell("ask", e, text(shield.get()) + text(auras.find(ask.other)) + (stunned.has(ask.other) ? "!" : "."));
    }));
    // Passes go in another order: what they find is told sorted.
    add(r().subscribe("beat", [this](const Beat&, const Shield& shield, Without<Stunned>, Entity e) {
      pass_.push_back("shield " + std::to_string(e.index) + text(&shield));
    }));
    add(r().subscribe("beat.bare", [this](const Beat&, Without<Shield>, const Aura* aura, Entity e) {
      pass_.push_back("bare " + std::to_string(e.index) + text(aura));
    }));
    add(r().subscribe("beat.write", [](const Beat&, Aura& aura, With<Stunned>) { aura.range *= 2; }));
    if (!follows_) return;
    add(r().subscribe("added", [this](const Added<Shield>&, const Shield& shield, Entity e, Outbox& out) {
      tell("added", e, text(&shield));
      if (shield.strength % 5 == 0) out.post(e, Hit{.amount = 1});
    }));
    add(r().subscribe("removed", [this](const Removed<Shield>&, const Shield& shield, Entity e, Outbox& out) {
      tell("removed", e, text(&shield));
      if (shield.strength % 7 == 3) out.set(e, Aura{.range = 9});
    }));
    add(r().subscribe("changed", [this](const Changed<Shield>&, const Shield& shield, Entity e) {
      tell("changed", e, text(&shield));
    }));
    add(r().subscribe("stunned", [this](const Added<Stunned>&, Entity e) { tell("stunned", e); }));
    add(r().subscribe("awake", [this](const Removed<Stunned>&, With<Stunned>, Entity e) { tell("awake", e); }));
  }

  void look(Entity e) {
    tell("is", e,
         text(r().template find<Shield>(e)) + text(r().template find<Aura>(e)) +
             (r().template has<Stunned>(e) ? "stunned" : "") + (r().template has<Life>(e) ? "life" : "") +
             std::to_string(r().host().components(e).size()));
  }
  /// What no layout of rows decides.
  void note(const Receipt& receipt) {
    told_ += std::to_string(static_cast<int>(receipt.refusal.code)) + " " + std::to_string(receipt.refused) + " " +
             std::to_string(receipt.dead) + "\n";
  }

  void step(Random& random) {
    const Entity e = all_[random.below(all_.size())], other = all_[random.below(all_.size())];
    const auto number = static_cast<int>(random.below(12));
    switch (random.below(20)) {
      case 0: all_.push_back(r().create_under(e, "", Life{}, Shield{.strength = number})); break;
      case 1: all_.push_back(r().create(Stunned{}, Aura{})); break;
      case 2: {
        const auto many =
            r().create_many(static_cast<std::uint32_t>(1 + random.below(20)), Shield{.strength = number}, Aura{});
        all_.insert(all_.end(), many.begin(), many.end());
        break;
      }
      case 3: note(r().set(e, Shield{.strength = number, .left = 0, .by = other})); break;
      case 4: note(r().set(e, Stunned{}, Aura{})); break;
      case 5: note(r().template remove<Shield>(e)); break;
      case 6: note(r().template remove<Stunned>(e)); break;
      case 7: note(r().template remove<Aura>(e)); break;
      case 8: {
        BatchBuilder builder;
        const SetMode mode = number % 2 ? SetMode::add : SetMode::replace;
        if (number % 3)
          builder.append_rows(e, Set{.mode = mode}, Shield{.strength = number});
        else
          builder.append_rows(e, Set{.mode = mode}, Stunned{}, Aura{});
        note(r().host().push_batch(builder.bytes()));
        break;
      }
      case 9: {
        SetField field{.component = TypeTraits<Shield>::id, .field = hash32("strength"), .bytes = 4};
        std::memcpy(field.value.data(), &number, 4);
        note(r().push(e, field));
        break;
      }
      case 10: {
        SetFieldIf field{.set = {.component = TypeTraits<Shield>::id, .field = hash32("strength"), .bytes = 4}};
        std::memcpy(field.set.value.data(), &number, 4);
        const int expected = 4;
        std::memcpy(field.expected.data(), &expected, 4);
        note(r().push(e, field));
        break;
      }
      case 11: note(r().push(e, Hit{.amount = number % 6})); break;
      case 12: {
        const Entity some[] = {e, other};
        note(r().push(std::span<const Entity>(some), Hit{.amount = number % 4}));
        break;
      }
      case 13: note(r().push_subtree(e, 1 + random.below(7), Hit{.amount = 1})); break;
      case 14: note(r().push(e, Ask{.other = other})); break;
      case 15:
        note(r().push(Beat{}));
        std::ranges::sort(pass_);
        for (const std::string& one : pass_) told_ += one + "\n";
        pass_.clear();
        break;
      case 16: note(r().reparent(e, other)); break;
      case 17:
        if (all_.size() > 12 && e != all_[0]) {
          note(r().destroy(e));
          std::erase_if(all_, [&](Entity each) { return !r().alive(each); });
        }
        break;
      case 18:
        if (number % 2)
          note(r().apply_template(e, "guard"));
        else
          all_.push_back(r().spawn("guard", {.parent = e}));
        break;
      default: {
        if (number > 2) break;
        const naive::StateRows rows = naive::saved_rows(r());
        const std::uint64_t hash = r().hash();
        begin();
        naive::RowsSource source(rows);
        const auto loaded = r().load(source);
        REQUIRE(loaded);
        REQUIRE(loaded->mended == 0);
        REQUIRE(r().hash() == hash);
      }
    }
    look(e);
  }

  const bool follows_;
  const RegistryOptions options_;
  std::vector<Subscription> handlers_;
  std::unique_ptr<EntityRegistry> registry_;
  std::vector<Entity> all_;
  std::vector<std::string> pass_;
  std::string told_;
};

}  // namespace

TEST_CASE("a program comes to the same with enableable components as with others") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    const bool follows = seed % 2 == 0;
    const std::string lasting = Side<Lasting>(true, follows).run(seed);
    REQUIRE(lasting.size() > 1000);
    for (const bool shortcuts : {true, false}) {
      const std::string fleeting = Side<Fleeting>(shortcuts, follows).run(seed);
      if (fleeting == lasting) continue;
      const auto at = std::ranges::mismatch(fleeting, lasting).in1 - fleeting.begin();
      const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at - 300));
      FAIL("at " << at << " with enableable ones:\n"
                 << fleeting.substr(from, 400) << "\nwith others:\n"
                 << lasting.substr(from, 400));
    }
  }
}
