// A log for tests of Steps: it remembers the whole world when a Step begins.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "registry/apply/edit_log.h"
#include "registry/host.h"

namespace test {

/// The visible contents of a world: entities with their places, names and values, and templates.
/// Contains neither the order of rows nor archetypes.
struct Contents {
  struct Thing {
    muster::Entity parent;
    muster::Text name;
    std::map<muster::TypeId, std::vector<std::byte>> values;
    std::vector<muster::Entity> children;
    bool operator==(const Thing&) const = default;
  };
  std::map<muster::Entity, Thing> things;
  std::map<std::string, std::vector<std::byte>, std::less<>> templates;
  bool operator==(const Contents&) const = default;
};

Contents contents_of(const muster::EntityRegistry& registry);

/// Returns the states of all ids, and the queue of free ones. If an id has a row, its place is left
/// out.
std::vector<std::uint64_t> ids_of(const muster::EntityRegistry& registry);

/// While it exists, it is the registry's log.
class SnapshotLog : public muster::EditLog {
 public:
  explicit SnapshotLog(muster::EntityRegistry& registry) : registry_(registry) { registry.host().set_edit_log(this); }
  ~SnapshotLog() override { registry_.host().set_edit_log(nullptr); }
  SnapshotLog(const SnapshotLog&) = delete;
  SnapshotLog& operator=(const SnapshotLog&) = delete;

  /// Lists the calls, such as "begin 1 edit edit refused back end 0 ".
  std::string text;

  void before(const muster::Edit&) override {}
  void after(const muster::Edit&, const muster::Refusal& refusal) override {
    text += refusal.code == muster::RefusalCode::none ? "edit " : "refused ";
  }
  void step_begins(const muster::Sender& by, const muster::StepView& step) override {
    CHECK(by.sequence == registry_.sequence());
    text += "begin " + std::string(step.label()) + " ";
    then_ = contents_of(registry_);
  }
  std::span<const std::byte> take_back() override {
    text += "back ";
    write();
    return out_.bytes();
  }
  void step_ends(bool applied) override { text += applied ? "end 1 " : "end 0 "; }

 private:
  void write();
  void set(muster::Entity e, const Contents::Thing& thing);

  muster::EntityRegistry& registry_;
  Contents then_;
  muster::BatchBuilder out_;
};

/// A Step with these batches.
inline muster::Step step_of(muster::BatchBuilder& batches, std::string label = {},
                            muster::StepAct act = muster::StepAct::edit) {
  return {.batches = muster::step_bytes(batches.bytes()), .label = std::move(label), .act = act};
}
/// Pushes a Step as the session 1 of user 10 does.
inline muster::Receipt push_step(muster::EntityRegistry& registry, const muster::Step& step) {
  registry.add_type<muster::Step>();
  muster::BatchBuilder batch;
  batch.append_table(muster::TypeTraits<muster::Step>::id, {}, encode(step));
  return registry.host().push_batch(batch.bytes(), {.session = 1, .user = 10, .request = 1});
}

}  // namespace test
