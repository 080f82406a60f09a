// A registry that takes part in a random program: does what an Action says and tells what came of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/model/state_rows.h"
#include "tests/model/steps/actions.h"
#include "tests/support/change_marks.h"
#include "tests/support/random.h"

namespace naive {

/// What an Action gave.
struct Outcome {
  Receipt receipt;
  std::vector<Entity> made;
  std::uint64_t number = 0;
  std::string error;
};

class Participant {
 public:
  /// With an executor of several workers its handlers name an external resource that they read, so that they are split and
  /// overlap although they have state; and they keep no log.
  explicit Participant(muster::RegistryOptions options);
  ~Participant();
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  /// A push to as many entities that are not alive, which the sink refuses: memory is used, and nothing has happened.
  void push_in_vain(std::size_t targets);
  /// Exchanges the registry's state for another one, in which something happens, and back. What is wrong, or nothing.
  std::string go_elsewhere(Random& random);
  /// Gets that other state's contents, and some messages there, before saved state is loaded.
  void live_elsewhere(Random& random);
  /// How many runtime values wait elsewhere.
  std::uint64_t values_elsewhere() const { return values_elsewhere_; }
  Outcome perform(const Action& action, std::uint64_t slot);
  /// Does what another participant's sink saw.
  void replay(const std::vector<Input>& recorded);
  void subscribe(const Subscribed& what);
  StateRows save() const;

  muster::EntityRegistry registry;
  Recorder recorder;
  std::vector<Input> inputs;  ///< seen by the sink since the last look
  std::string trouble;        ///< of the bytes that reached the sink
  muster::test::ChangeMarks marks{registry};

 private:
  class Sink;
  void know_voices();
  void know_sparks();
  void add_managers();
  void hand_over();
  void define(const Action& action);
  std::vector<std::byte> span_of(const std::vector<Messages>& batches, std::string& error);
  Receipt push(const Message& message);
  void post(const Message& message);

  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Watcher> watcher_;
  std::vector<std::shared_ptr<muster::InboxLane>> lanes_;
  std::map<std::uint64_t, muster::Subscription> subscriptions_;
  std::optional<muster::RegistryState> elsewhere_;
  std::uint64_t hash_elsewhere_ = 0, values_elsewhere_ = 0;
};

/// Whether it happens to a registry by inputs alone, or not at all: what a replay does without being told.
bool is_input(Do what);

/// The model's side of an Action; but subscribe, unsubscribe and reload.
Outcome perform(Model& model, const Action& action);

/// The first difference between model and registry, in words; empty where there is none.
/// `loaded`: it began with saved state, and has other values of runtime components.
std::string compare(const Model& model, const Participant& participant, bool loaded);
std::string compare(const Outcome& expected, const Outcome& found);
std::string compare(const Recorder& expected, const Recorder& found, bool loaded);
std::string compare(const std::vector<Input>& expected, const std::vector<Input>& found);

}  // namespace naive
