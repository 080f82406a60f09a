#include "tests/model/participant.h"

#include "registry/delivery/executor.h"

#include <thread>

#include "messages/judge/verifier.h"
#include "registry/host.h"
#include "tests/model/trial_types.h"
#include "tests/support/id_or_nil.h"

namespace naive {

using namespace trial;
using muster::Has;

namespace {

/// The sets of components that the typed functions are called with.
template <class F, class... Cs>
bool try_rows(const RowValues& rows, F& f) {
  if (rows.size() != sizeof...(Cs) || !(rows.contains(id_of<Cs>) && ...)) return false;
  f(as<Cs>(rows.at(id_of<Cs>))...);
  return true;
}
template <class F>
void with_rows(const RowValues& rows, F&& f) {
  const bool found = try_rows<F>(rows, f) || try_rows<F, Life>(rows, f) || try_rows<F, Life, Armor>(rows, f) ||
                     try_rows<F, Place>(rows, f) || try_rows<F, Link, Tally>(rows, f) ||
                     try_rows<F, Flags, Life>(rows, f) || try_rows<F, Wide>(rows, f) || try_rows<F, Tally>(rows, f) ||
                     try_rows<F, Life, Tally, Link>(rows, f) || try_rows<F, Frozen>(rows, f) ||
                     try_rows<F, Frozen, Life, Marked>(rows, f) || try_rows<F, Place, Big, Marked>(rows, f) ||
                     try_rows<F, Armor, Flags, Wide, Tally>(rows, f) || try_rows<F, Place, Life, Tally>(rows, f) ||
                     try_rows<F, Has<Voice>>(rows, f) || try_rows<F, Has<Voice>, Life, Tally>(rows, f) ||
                     try_rows<F, Has<Spark>, Has<Voice>, Wide>(rows, f) || try_rows<F, Shield>(rows, f) ||
                     try_rows<F, Stunned>(rows, f) || try_rows<F, Shield, Stunned>(rows, f) ||
                     try_rows<F, Shield, Life>(rows, f) || try_rows<F, Stunned, Tally, Life>(rows, f) ||
                     try_rows<F, Shield, Has<Voice>>(rows, f);
  muster::require(found, "a set of components that the test does not know");
}

}  // namespace

class Participant::Sink final : public muster::InputSink {
 public:
  struct Refused {};
  explicit Sink(Participant& owner) : owner_(owner) {}
  void on_input(const muster::Envelope& envelope, std::span<const std::byte> batch) override {
    if (refuses) throw Refused{};
    owner_.inputs.push_back({envelope, {}, {batch.begin(), batch.end()}});
    if (batch.empty()) return;
    if (const auto good = muster::verify_batch(batch, owner_.registry.types()); !good)
      owner_.trouble = "input " + std::to_string(envelope.sequence) + " is no good batch: " + good.error().text;
  }
  void on_receipt(const muster::Envelope& envelope, const Receipt& receipt) noexcept override {
    if (owner_.inputs.empty() || owner_.inputs.back().envelope.sequence != envelope.sequence)
      owner_.trouble = "a receipt for another input than the last";
    else
      owner_.inputs.back().receipt = receipt;
  }

  bool refuses = false;  ///< takes no input

 private:
  Participant& owner_;
};

Participant::Participant(muster::RegistryOptions options) : registry(options), sink_(std::make_unique<Sink>(*this)) {
  recorder.quiet = options.executor && options.executor->workers() > 1;
  registry.add_type<Life>();
  know_voices();
  know_sparks();
  add_managers();
  const auto added = registry.types().add_schema(
      std::as_bytes(muster::TypeTraits<foreign::Mana>::schema));  // by id only; no code here names its types
  muster::require(added.has_value(), "foreign.fbs cannot be added");
  registry.host().add_sink(*sink_);
  for (std::size_t lane = 0; lane < lane_count; ++lane)
    lanes_.push_back(registry.host().inbox().open_lane(lane_session(lane), 64u << 20, user_of(lane_session(lane))));
}

Participant::~Participant() {
  registry.host().remove_sink(*sink_);
  for (muster::Manager* manager : std::initializer_list<muster::Manager*>{ledger_.get(), watcher_.get()})
    registry.remove_manager(*manager);
}

void Participant::know_voices() {
  registry.add_runtime_type<Voice>([this](Voice& voice, Entity e) {
    voice.restore(restored(e));
    recorder.restored.push_back(e);
  });
}

void Participant::know_sparks() {
  registry.add_runtime_type<Spark>([](Spark& spark, Entity e) { spark.restore(restored(e)); });
}

void Participant::add_managers() {
  ledger_ = std::make_unique<Ledger>(registry);
  watcher_ = std::make_unique<Watcher>();
  registry.add_manager("ledger", *ledger_);
  registry.add_manager("watcher", *watcher_);
  recorder.ledger = ledger_.get();
  recorder.watcher = watcher_.get();
}

/// As a plugin's reload does it: what the old one would save is given to the new one.
void Participant::hand_over() {
  registry.remove_manager(*ledger_);
  registry.remove_manager(*watcher_);
  std::vector<Entity> told = std::move(ledger_->told);
  add_managers();
  ledger_->told = std::move(told);
}

void Participant::define(const Action& a) {
  const muster::TypeTable& types = registry.types();
  if (a.how == DefineFrom::scratch) {
    registry.define_template(as_tree(*a.spec, types));
  } else if (a.how == DefineFrom::entity) {
    registry.define_template(muster::TemplateTree::of(registry, a.target, a.spec->name));
  } else {
    muster::TemplateTree tree(a.spec->name);
    tree.merge(tree.root(), muster::TemplateTree::read(*registry.host().template_definition(a.text)));
    tree.merge(tree.root(), as_tree(*a.over, types));
    tree.remove(tree.root(), a.component);
    registry.define_template(tree);
  }
}

void Participant::push_in_vain(std::size_t targets) {
  const std::vector<Entity> nobody(targets, Entity{0xfffffff0u, 1});
  sink_->refuses = true;
  try {
    registry.push(std::span<const Entity>(nobody), Poke{});
    trouble = "a push that the sink refused has happened";
  } catch (const Sink::Refused&) {
  }
  sink_->refuses = false;
}

void Participant::live_elsewhere(Random& random) {
  active_recorder = &recorder;
  std::vector<Entity> there;
  registry.each<>([&](Entity e) { there.push_back(e); });
  const auto one = [&] { return there.empty() ? Entity{} : there[random.below(there.size())]; };
  for (std::uint64_t left = 2 + random.below(12); left > 0; --left) {
    switch (random.below(there.size() > 80 ? 6 : 9)) {
      case 0: registry.push(one(), Hit{.amount = 1}); break;
      case 1: registry.push(one(), Poke{.value = 1}); break;
      case 2: registry.push(Beat{.step = 1}); break;
      case 3: registry.destroy(one()); break;
      case 4: registry.set(one(), Armor{.factor = 3}); break;
      case 5: registry.remove<Tally>(one()); break;
      case 6: there.push_back(muster::test::id_or_nil(registry.create_under(one(), "", Life{}, Tally{}))); break;
      case 7: there.push_back(registry.create(Has<Spark>{}, Has<Voice>{}, Wide{})); break;
      default:
        for (const Entity e : registry.create_many(3, Life{}, Tally{}, Link{.to = one(), .weight = 1}))
          there.push_back(e);
        break;
    }
  }
}

std::string Participant::go_elsewhere(Random& random) {
  if (!elsewhere_) elsewhere_.emplace(registry.host().make_state());
  const std::uint64_t hash = registry.hash();
  const auto begins = recorder.begins;
  const auto swap = [&]() -> std::string {
    const auto done = registry.host().swap_state(*elsewhere_);
    return done ? std::string() : done.error().text();
  };
  if (std::string wrong = swap(); !wrong.empty()) return wrong;
  if (hash_elsewhere_ != 0 && registry.hash() != hash_elsewhere_) return "another state is not what it was";
  live_elsewhere(random);
  hash_elsewhere_ = registry.hash();
  values_elsewhere_ = 0;
  registry.each<const Voice>([&](Entity, const Voice&) { ++values_elsewhere_; });
  registry.each<const Spark>([&](Entity, const Spark&) { ++values_elsewhere_; });
  if (std::string wrong = swap(); !wrong.empty()) return wrong;
  if (registry.hash() != hash) return "a state that was taken out and put back is another one";
  recorder.begins = begins;
  recorder.log.clear();
  recorder.ledger->told.clear();
  inputs.clear();
  marks.begin();
  return {};
}

/// A span of batches, one behind the other, each verified.
std::vector<std::byte> Participant::span_of(const std::vector<Messages>& batches, std::string& error) {
  std::vector<std::byte> bytes;  // operator new gives 16-byte alignment
  for (const Messages& batch : batches) {
    muster::BatchBuilder builder;
    build(builder, batch, registry.types());
    if (builder.batches() != 1) error = "not one batch";
    const auto one = builder.bytes();
    if (const auto good = muster::verify_batch(one, registry.types()); !good)
      error = "the verifier refused it: " + good.error().text;
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

Receipt Participant::push(const Message& message) {
  Receipt receipt;
  with_message(message.type, message.payload, [&](const auto& m) {
    switch (message.to) {
      case Message::To::one: receipt = registry.push(message.targets[0], m); break;
      case Message::To::span: receipt = registry.push(std::span<const Entity>(message.targets), m); break;
      case Message::To::world: receipt = registry.push(m); break;
      case Message::To::line: receipt = registry.push_subtree(message.targets[0], message.parts, m); break;
      case Message::To::later: break;
    }
  });
  return receipt;
}

void Participant::post(const Message& message) {
  with_message(message.type, message.payload, [&](const auto& m) {
    switch (message.to) {
      case Message::To::one: registry.post(message.targets[0], m); break;
      case Message::To::span: registry.post(std::span<const Entity>(message.targets), m); break;
      case Message::To::world: registry.post(m); break;
      case Message::To::line: {
        registry.add_type<std::remove_cvref_t<decltype(m)>>();
        muster::BatchBuilder line;
        line.append_subtree(message.targets[0], message.parts, m);
        registry.host().post_batch(line.front().bytes());
        break;
      }
      case Message::To::later: break;
    }
  });
}

bool is_input(Do what) {
  switch (what) {
    case Do::subscribe:
    case Do::unsubscribe:
    case Do::dismiss:
    case Do::sweep:
    case Do::hand_over:
    case Do::forget:
    case Do::reload: return false;
    default: return true;
  }
}

void Participant::replay(const std::vector<Input>& recorded) {
  active_recorder = &recorder;
  for (const Input& input : recorded) registry.host().replay(input.envelope, input.bytes);
}

Outcome Participant::perform(const Action& a, std::uint64_t slot) {
  active_recorder = &recorder;
  Outcome made;
  const auto bytes_of_batch = [&](muster::BatchBuilder& builder) {
    build(builder, a.batch, registry.types());
    if (builder.batches() != 1) made.error = "not one batch";
    const auto good = muster::verify_batch(builder.front().bytes(), registry.types());
    if (!good) made.error = "the verifier refused it: " + good.error().text;
    return builder.front().bytes();
  };
  switch (a.what) {
    case Do::push: made.receipt = push(a.message); break;
    case Do::post: post(a.message); break;
    case Do::post_later:
      with_message(a.message.type, a.message.payload, [&](const auto& m) {
        made.number = a.message.to == Message::To::world ? registry.post_at(a.number, m)
                                                         : registry.post_at(a.number, a.message.targets[0], m);
      });
      break;
    case Do::push_batch: {
      muster::BatchBuilder builder;
      made.receipt = registry.host().push_batch(
          bytes_of_batch(builder), {.session = a.session, .user = user_of(a.session), .request = a.request});
      break;
    }
    case Do::post_batch: {
      muster::BatchBuilder builder;
      registry.host().post_batch(bytes_of_batch(builder));
      break;
    }
    case Do::put: {
      muster::BatchBuilder builder;
      const auto bytes = bytes_of_batch(builder);
      bool taken = false;
      std::thread([&] { taken = static_cast<bool>(lanes_[a.lane]->put(bytes, a.request)); }).join();
      if (!taken) made.error = "the lane is full";
      break;
    }
    case Do::push_several:
      made.receipt = registry.host().push_batch(
          span_of(a.batches, made.error), {.session = a.session, .user = user_of(a.session), .request = a.request});
      break;
    case Do::post_several: registry.host().post_batch(span_of(a.batches, made.error)); break;
    case Do::put_several: {
      const std::vector<std::byte> bytes = span_of(a.batches, made.error);
      bool taken = false;
      std::thread([&] {
        muster::InboxLane& lane = *lanes_[a.lane];
        taken = lane.put({}, 1) && lane.put(bytes, a.request) && lane.put({}, 2);
      }).join();
      if (!taken) made.error = "the lane is full";
      break;
    }
    case Do::flood:
      for (std::uint64_t i = 0; i < a.number; ++i) post(a.message);
      break;
    case Do::flush: made.receipt = registry.flush(); break;
    case Do::advance: made.receipt = registry.advance(a.number); break;
    case Do::cancel: made.receipt = registry.cancel(a.number); break;
    case Do::create:
      with_rows(a.rows, [&](const auto&... cs) {
        made.made.push_back(muster::test::id_or_nil(registry.create_under(a.parent, a.text, cs...)));
      });
      break;
    case Do::create_many:
      with_rows(a.rows, [&](const auto&... cs) {
        made.made = registry.create_many(static_cast<std::uint32_t>(a.number), cs...);
      });
      break;
    case Do::destroy: made.receipt = registry.destroy(a.target); break;
    case Do::set: with_rows(a.rows, [&](const auto&... cs) { made.receipt = registry.set(a.target, cs...); }); break;
    case Do::remove: {
      bool known = false;
      const auto remove = [&]<class T>() {
        if (id_of<T> != a.component) return;
        made.receipt = registry.remove<T>(a.target);
        known = true;
      };
      each_component(remove);
      each_enableable(remove);
      if (!known) made.receipt = registry.push(a.target, muster::Remove{.component = a.component});
      break;
    }
    case Do::reparent: made.receipt = registry.reparent(a.target, a.parent, a.before); break;
    case Do::rename: made.receipt = registry.rename(a.target, a.text); break;
    case Do::intern: made.number = registry.intern(a.text).hash; break;
    case Do::grant: made.made.push_back(registry.host().grant(static_cast<std::uint32_t>(a.number), a.session)); break;
    case Do::return_grant: registry.host().return_grant(a.target, static_cast<std::uint32_t>(a.number)); break;
    case Do::subscribe:
      try {
        subscriptions_[slot] = handler_kinds()[a.kind].install(registry, recorder, a.text, a.options);
        made.number = 1;
      } catch (const muster::SetupError&) {
        subscriptions_.erase(slot);
      }
      break;
    case Do::unsubscribe: subscriptions_.erase(a.number); break;
    case Do::spawn:
      with_rows(a.rows, [&](const auto&... cs) {
        const muster::SpawnOptions how{.parent = a.parent,
                                       .before = a.before,
                                       .name = a.name,
                                       .clash = a.clash,
                                       .count = static_cast<std::uint32_t>(a.number),
                                       .ids = &made.made};
        made.number = muster::test::id_or_nil(registry.spawn(a.text, how, cs...)).bits();
      });
      break;
    case Do::merge: made.receipt = registry.apply_template(a.target, a.text, &made.made); break;
    case Do::define: define(a); break;
    case Do::enable: made.receipt = registry.set_handler_enabled(a.text, a.number != 0); break;
    case Do::dismiss: recorder.late.erase(static_cast<std::uint32_t>(a.number)); break;
    case Do::sweep:
      made.number = sweep(watcher_->watched, a.number, [&](Entity e) { return registry.alive(e); });
      break;
    case Do::hand_over: hand_over(); break;
    case Do::forget:
      registry.host().remove_runtime_type<Spark>();
      know_sparks();
      break;
    case Do::reload: break;
  }
  return made;
}

void Participant::subscribe(const Subscribed& what) {
  const HandlerKind& kind = handler_kinds()[what.kind];
  muster::HandlerOptions options = what.options;
  // Who begins and ends handlers keeps them, and is not split.
  if (recorder.quiet && kind.message != id_of<Enlist>) options.external_reads.push_back("the program");
  subscriptions_[what.slot] = kind.install(registry, recorder, what.name, std::move(options));
}

StateRows Participant::save() const {
  StateRows rows;
  RowsSink sink(rows);
  registry.save(sink);
  muster::require(!sink.twice(), "a row was saved twice");
  return rows;
}

Outcome perform(Model& model, const Action& a) {
  Outcome made;
  switch (a.what) {
    case Do::push: made.receipt = model.push(a.message); break;
    case Do::post: model.post(a.message); break;
    case Do::post_later: made.number = model.post_later(a.number, a.message); break;
    case Do::push_batch: made.receipt = model.push_foreign(a.batch, a.session, a.request); break;
    case Do::post_batch: model.post_foreign(a.batch); break;
    case Do::put: model.put(a.lane, a.batch, a.request); break;
    case Do::push_several: made.receipt = model.push_several(a.batches, a.session, a.request); break;
    case Do::post_several: model.post_several(a.batches); break;
    case Do::put_several: model.put_several(a.lane, a.batches, a.request); break;
    case Do::flood:
      for (std::uint64_t i = 0; i < a.number; ++i) model.post(a.message);
      break;
    case Do::flush: made.receipt = model.flush(); break;
    case Do::advance: made.receipt = model.advance(a.number); break;
    case Do::cancel: made.receipt = model.push(world(muster::CancelTimer{.timer = a.number})); break;
    case Do::create: made.made.push_back(model.create(a.parent, a.text, a.rows)); break;
    case Do::create_many: made.made = model.create_many(static_cast<std::uint32_t>(a.number), a.rows); break;
    case Do::destroy: made.receipt = model.push(one(a.target, muster::Destroy{})); break;
    case Do::set: {
      Message message = one(a.target, muster::Set{});
      message.has_rows = true;
      message.rows = a.rows;
      made.receipt = model.push(std::move(message));
      break;
    }
    case Do::remove: made.receipt = model.push(one(a.target, muster::Remove{.component = a.component})); break;
    case Do::reparent:
      made.receipt = model.push(one(a.target, muster::Reparent{.parent = a.parent, .before = a.before}));
      break;
    case Do::rename: {
      const Text name = model.intern(a.text);
      made.receipt = model.push(one(a.target, muster::Rename{.name = name}));
      break;
    }
    case Do::intern: made.number = model.intern(a.text).hash; break;
    case Do::grant: made.made.push_back(model.grant(static_cast<std::uint32_t>(a.number), a.session)); break;
    case Do::return_grant: model.return_grant(a.target, static_cast<std::uint32_t>(a.number)); break;
    case Do::spawn: {
      const muster::SpawnOptions how{.parent = a.parent,
                                     .before = a.before,
                                     .name = a.name,
                                     .clash = a.clash,
                                     .count = static_cast<std::uint32_t>(a.number),
                                     .ids = &made.made};
      made.number = model.spawn(a.text, how, a.rows).bits();
      break;
    }
    case Do::merge: made.receipt = model.merge(a.target, a.text, &made.made); break;
    case Do::define: model.define(a.spec); break;
    case Do::enable: made.receipt = model.enable(a.text, a.number != 0); break;
    case Do::sweep:
      made.number = sweep(model.watched, a.number, [&](Entity e) { return model.alive(e); });
      if (made.number) ++model.covered["manager: swept the dead"];
      break;
    case Do::forget: model.renew(id_of<Spark>, true, restored); break;
    case Do::hand_over:
    case Do::subscribe:
    case Do::unsubscribe:
    case Do::dismiss:
    case Do::reload: break;
  }
  return made;
}

}  // namespace naive
