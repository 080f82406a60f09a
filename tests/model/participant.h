// A registry that takes part in a random program. It performs Actions and reports their outcomes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/host.h"
#include "tests/model/state_rows.h"
#include "tests/model/steps/actions.h"
#include "tests/support/change_marks.h"
#include "tests/support/random.h"

namespace naive {

/// The result of an Action.
struct Outcome {
  Receipt receipt;
  std::vector<Entity> made;
  std::uint64_t number = 0;
  std::string error;
};

class Participant {
 public:
  /// With an executor of several workers, the handlers name an external resource that they read.
  /// They are then split and overlap even though they have state, and they keep no log.
  explicit Participant(muster::RegistryOptions options);
  ~Participant();
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  /// Pushes a message to `targets` entities that are not alive. The sink refuses it, so memory is
  /// used but nothing happens.
  void push_in_vain(std::size_t targets);
  /// Replaces the registry's state with another one, in which something happens, and restores it.
  /// Returns an error, or an empty text.
  std::string go_elsewhere(Random& random);
  /// Fills the registry with that other state's contents and some messages before saved state is
  /// loaded.
  void live_elsewhere(Random& random);
  /// Returns the number of runtime values in the other state.
  std::uint64_t values_elsewhere() const { return values_elsewhere_; }
  Outcome perform(const Action& action, std::uint64_t slot);
  /// Repeats what another participant's sink received.
  void replay(const std::vector<Input>& recorded);
  void subscribe(const Subscribed& what);
  StateRows save() const;

  muster::EntityRegistry registry;
  Recorder recorder;
  std::vector<Input> inputs;  ///< seen by the sink since the last check
  std::string trouble;        ///< an error in the bytes that reached the sink
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

/// Returns true if a registry does this only through inputs, or not at all, so that a replay
/// repeats it by itself.
bool is_input(Do what);

/// Performs an Action on the model, except subscribe, unsubscribe and reload.
Outcome perform(Model& model, const Action& action);

/// Describes the first difference between model and registry; empty if there is none. `loaded`: the
/// registry began with saved state, and has other values of runtime components.
std::string compare(const Model& model, const Participant& participant, bool loaded);
std::string compare(const Outcome& expected, const Outcome& found);
std::string compare(const Recorder& expected, const Recorder& found, bool loaded);
std::string compare(const std::vector<Input>& expected, const std::vector<Input>& found);

}  // namespace naive
